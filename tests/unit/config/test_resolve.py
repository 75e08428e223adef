"""Precedence of configuration: overrides before the broker's keys, milliseconds before hours."""

from __future__ import annotations

import pytest

from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError
from odradek.config.resolve import (
    broker_config,
    group_config,
    topic_config,
    validate_broker_dynamic,
    validate_group_overrides,
    validate_topic_overrides,
)
from odradek.config.topic import TopicConfig

HOUR_MS = 3_600_000


def broker(**texts: str) -> BrokerConfig:
    return BrokerConfig.from_strings({k.replace("_", "."): v for k, v in texts.items()})[0]


def test_a_plain_broker_gives_every_topic_key_its_default() -> None:
    assert topic_config(BrokerConfig(), {}) == TopicConfig()


def test_retention_ms_goes_before_minutes_and_minutes_before_hours() -> None:
    """S-8.0: the finest unit that is set wins, whatever the others say."""
    all_three = broker(log_retention_ms="5", log_retention_minutes="7", log_retention_hours="9")
    assert topic_config(all_three, {}).retention_ms == 5
    two = broker(log_retention_minutes="7", log_retention_hours="9")
    assert topic_config(two, {}).retention_ms == 7 * 60_000
    assert topic_config(broker(log_retention_hours="9"), {}).retention_ms == 9 * HOUR_MS
    assert topic_config(all_three, {"retention.ms": "11"}).retention_ms == 11


@pytest.mark.parametrize("unit", ["ms", "minutes", "hours"])
def test_minus_one_keeps_forever_in_any_unit(unit: str) -> None:
    """S-8.0: -1 means no limit, also where the unit is minutes or hours."""
    config, _ = BrokerConfig.from_strings({f"log.retention.{unit}": "-1"})
    assert topic_config(config, {}).retention_ms == -1


def test_rolling_and_flushing_have_two_broker_keys_each() -> None:
    assert topic_config(broker(log_roll_hours="2"), {}).segment_ms == 2 * HOUR_MS
    assert topic_config(broker(log_roll_hours="2", log_roll_ms="3"), {}).segment_ms == 3
    assert topic_config(broker(log_roll_jitter_hours="1"), {}).segment_jitter_ms == HOUR_MS
    scheduler = broker(log_flush_scheduler_interval_ms="4")
    assert topic_config(scheduler, {}).flush_ms == 4
    both = broker(log_flush_scheduler_interval_ms="4", log_flush_interval_ms="3")
    assert topic_config(both, {}).flush_ms == 3


def test_an_override_goes_before_the_brokers_key() -> None:
    config = topic_config(
        broker(log_segment_bytes="1000", log_cleanup_policy="compact"),
        {"segment.bytes": "2000"},
    )
    assert config.segment_bytes == 2000
    assert config.cleanup_policy == {"compact"}
    assert config.given == {"segment.bytes": "2000"}


def test_empty_cleanup_policy_keeps_everything() -> None:
    assert topic_config(BrokerConfig(), {"cleanup.policy": ""}).cleanup_policy == frozenset()


def test_dynamic_broker_keys_go_before_cluster_ones_and_both_before_the_file() -> None:
    static = broker(log_segment_bytes="1000", message_max_bytes="500")
    changed = broker_config(
        static,
        cluster={"log.segment.bytes": "2000", "log.cleaner.threads": "2"},
        broker={"log.segment.bytes": "3000"},
    )
    assert changed.log_segment_bytes == 3000
    assert changed.log_cleaner_threads == 2
    assert changed.message_max_bytes == 500
    assert topic_config(changed, {}).segment_bytes == 3000
    assert broker_config(static, cluster={}, broker={}) is static


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"retetnion.ms": "1"}, "unknown key retetnion.ms, did you mean retention.ms?"),
        ({"retention.ms": "x"}, "retention.ms=x: expected a whole number"),
        ({"retention.ms": "-2"}, "retention.ms=-2: expected at least -1"),
        ({"compression.type": "none"}, "expected one of uncompressed, zstd"),
        ({"message.format.version": "0.10.0"}, "no longer a topic key"),
        ({"remote.storage.enable": "true"}, "there is no tiered storage"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "min.compaction.lag.ms=10 is more than max.compaction.lag.ms=5",
        ),
        ({"leader.replication.throttled.replicas": "x"}, "expected * or a list partition:broker"),
        ({"compression.gzip.level": "0"}, "expected between 1 and 9, or -1"),
    ],
)
def test_bad_topic_overrides_are_refused(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_topic_overrides(overrides)
    assert message in str(caught.value)


def test_good_topic_overrides_pass() -> None:
    validate_topic_overrides(
        {
            "leader.replication.throttled.replicas": "0:1,1:2",
            "follower.replication.throttled.replicas": "*",
            "cleanup.policy": "compact,delete",
            "compression.gzip.level": "-1",
        },
        BrokerConfig(),
    )


def test_only_dynamic_broker_keys_change_while_a_broker_runs() -> None:
    validate_broker_dynamic({"log.segment.bytes": "2000"}, per_broker=False)
    validate_broker_dynamic({"listeners": "PLAINTEXT://:1"}, per_broker=True)
    with pytest.raises(ConfigError, match="name the broker"):
        validate_broker_dynamic({"listeners": "PLAINTEXT://:1"}, per_broker=False)
    with pytest.raises(ConfigError, match="cannot change while a broker runs"):
        validate_broker_dynamic({"num.partitions": "2"}, per_broker=True)
    with pytest.raises(ConfigError, match="did you mean"):
        validate_broker_dynamic({"log.segment.byte": "2"}, per_broker=True)
    with pytest.raises(ConfigError, match="at least 14"):
        validate_broker_dynamic({"log.segment.bytes": "2"}, per_broker=True)


def test_groups_inherit_from_the_broker_too() -> None:
    config = broker(group_consumer_session_timeout_ms="50000")
    assert group_config(config, {}).consumer_session_timeout_ms == 50_000
    overrides = {"consumer.session.timeout.ms": "46000", "share.auto.offset.reset": "earliest"}
    assert group_config(config, overrides).consumer_session_timeout_ms == 46_000
    validate_group_overrides({"share.auto.offset.reset": "by_duration:P1DT2H"})
    with pytest.raises(ConfigError, match="by_duration"):
        validate_group_overrides({"share.auto.offset.reset": "yesterday"})
    with pytest.raises(ConfigError, match="did you mean"):
        validate_group_overrides({"consumer.session.timeout": "1"})
