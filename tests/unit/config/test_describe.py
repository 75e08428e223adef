"""DescribeConfigs: value, source and synonyms of each key, most important place first."""

from __future__ import annotations

from odradek.config.broker import BrokerConfig
from odradek.config.describe import (
    BrokerLayers,
    ConfigEntry,
    ConfigSource,
    ConfigSynonym,
    describe_broker,
    describe_cluster,
    describe_group,
    describe_topic,
)
from odradek.config.kinds import Type


def one(entries: list[ConfigEntry]) -> ConfigEntry:
    assert len(entries) == 1
    return entries[0]


def layers(static: dict[str, str], **rest: dict[str, str]) -> BrokerLayers:
    return BrokerLayers(BrokerConfig.from_strings(static, {"HOME": "/h"})[0], **rest)


def test_a_broker_key_lists_every_place_that_sets_it() -> None:
    entry = one(
        describe_broker(
            layers(
                {"log.segment.bytes": "1000"},
                cluster={"log.segment.bytes": "2000"},
                broker={"log.segment.bytes": "3000"},
            ),
            ["log.segment.bytes"],
        )
    )
    assert (entry.value, entry.source) == ("3000", ConfigSource.DYNAMIC_BROKER)
    assert [(s.value, s.source) for s in entry.synonyms] == [
        ("3000", ConfigSource.DYNAMIC_BROKER),
        ("2000", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("1000", ConfigSource.STATIC_BROKER),
        ("1073741824", ConfigSource.DEFAULT),
    ]
    assert (entry.type, entry.read_only, entry.sensitive) == (Type.INT, False, False)
    assert not entry.is_default
    assert entry.documentation


def test_defaults_are_shown_as_kafka_prints_them() -> None:
    entries = {e.name: e for e in describe_broker(layers({}))}
    assert all(e.source is ConfigSource.DEFAULT and e.is_default for e in entries.values())
    assert entries["log.cleaner.io.max.bytes.per.second"].value == "1.7976931348623157E308"
    assert entries["group.consumer.assignors"].value == "uniform,range"
    assert entries["auto.create.topics.enable"].value == "true"
    assert entries["log.retention.ms"].value is None
    assert entries["num.partitions"].read_only
    assert entries["log.dirs"].value == "/h/.local/share/odradek/data"
    assert "producer.id.expiration.check.interval.ms" not in entries  # internal


def test_a_secret_has_no_value() -> None:
    entry = one(describe_broker(layers({"ssl.key.password": "hush"}), ["ssl.key.password"]))
    assert entry.value is None
    assert entry.sensitive
    assert entry.source is ConfigSource.STATIC_BROKER
    assert "hush" not in repr(entry)


def test_a_topic_key_shows_the_broker_key_behind_it_in_the_topics_unit() -> None:
    entry = one(describe_topic(layers({"log.retention.hours": "2"}), {}, ["retention.ms"]))
    assert (entry.value, entry.source) == ("7200000", ConfigSource.STATIC_BROKER)
    assert entry.synonyms == (
        ConfigSynonym("log.retention.hours", "2", ConfigSource.STATIC_BROKER),
        ConfigSynonym("log.retention.hours", "168", ConfigSource.DEFAULT),
    )
    forever = one(describe_topic(layers({"log.retention.hours": "-1"}), {}, ["retention.ms"]))
    assert forever.value == "-1"


def test_a_topics_own_override_comes_first() -> None:
    entry = one(describe_topic(layers({}), {"segment.bytes": " 2000"}, ["segment.bytes"]))
    assert (entry.value, entry.source) == ("2000", ConfigSource.DYNAMIC_TOPIC)
    assert [s.name for s in entry.synonyms] == ["segment.bytes", "log.segment.bytes"]
    assert not entry.read_only


def test_a_list_keeps_the_order_it_was_given_in() -> None:
    overrides = {"cleanup.policy": "delete, compact"}
    assert one(describe_topic(layers({}), overrides, ["cleanup.policy"])).value == "delete,compact"


def test_every_visible_topic_key_is_described() -> None:
    entries = {e.name: e for e in describe_topic(layers({}), {})}
    assert len(entries) == 33
    assert entries["cleanup.policy"].value == "delete"
    assert entries["retention.ms"].value == "604800000"
    assert entries["flush.ms"].value == "9223372036854775807"


def test_the_cluster_shows_only_what_was_set_for_it() -> None:
    entry = one(describe_cluster({"log.cleaner.threads": "2"}))
    assert (entry.name, entry.value) == ("log.cleaner.threads", "2")
    assert entry.source is ConfigSource.DYNAMIC_DEFAULT_BROKER
    assert not entry.read_only


def test_a_group_has_its_own_source() -> None:
    name = "consumer.session.timeout.ms"
    assert one(describe_group(layers({}), {name: "46000"}, [name])).source is ConfigSource.GROUP
    assert one(describe_group(layers({}), {}, [name])).source is ConfigSource.DEFAULT
