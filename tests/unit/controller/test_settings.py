"""A reader may conclude: settings change per resource, all or none, and bad ones are refused."""

from __future__ import annotations

from uuid import UUID

import pytest

from odradek.config.alter import AlterOp, OpType
from odradek.config.broker import BrokerConfig
from odradek.controller.settings import alter_configs, incremental_alter_configs
from odradek.errors import Err
from odradek.metadata import (
    BrokerRegistration,
    ConfigResource,
    MetadataImage,
    PartitionImage,
    ResourceType,
    apply,
)
from odradek.metadata.records import BrokerRegistered, ConfigChanged, TopicCreated

CONFIG = BrokerConfig.from_strings({})[0]
TOPIC = ConfigResource(ResourceType.TOPIC, "t")
SET, DELETE, APPEND, SUBTRACT = OpType.SET, OpType.DELETE, OpType.APPEND, OpType.SUBTRACT


def cluster(**overrides: str) -> MetadataImage:
    texts = {key.replace("_", "."): value for key, value in overrides.items()}
    return apply(
        MetadataImage(),
        [
            BrokerRegistered(BrokerRegistration(1, {})),
            TopicCreated("t", UUID(int=1), (PartitionImage((1,), (1,), 1),), texts),
        ],
    )[0]


def change(
    image: MetadataImage, resource: ConfigResource, *ops: AlterOp, validate_only: bool = False
) -> tuple[MetadataImage, Err]:
    records, ((answered, verdict),) = incremental_alter_configs(
        image, CONFIG, [(resource, ops)], validate_only=validate_only
    )
    assert answered == resource
    assert (verdict.err is Err.NONE) or verdict.message
    return (apply(image, records)[0] if records else image), verdict.err


def test_single_settings_are_set_and_deleted() -> None:
    image, err = change(
        cluster(retention_ms="1"),
        TOPIC,
        AlterOp("segment.ms", SET, "2000"),
        AlterOp("retention.ms", DELETE),
    )
    assert err is Err.NONE
    assert image.overrides(TOPIC) == {"segment.ms": "2000"}


def test_lists_are_edited_from_what_takes_effect() -> None:
    image, _ = change(cluster(), TOPIC, AlterOp("cleanup.policy", APPEND, "compact"))
    assert set(image.overrides(TOPIC)["cleanup.policy"].split(",")) == {"compact", "delete"}
    image, _ = change(image, TOPIC, AlterOp("cleanup.policy", SUBTRACT, "delete"))
    assert image.overrides(TOPIC)["cleanup.policy"] == "compact"


@pytest.mark.parametrize(
    ("op", "err"),
    [
        (AlterOp("nope", SET, "1"), Err.INVALID_CONFIG),
        (AlterOp("retention.ms", SET, "soon"), Err.INVALID_CONFIG),
        (AlterOp("retention.ms", SET, "-5"), Err.INVALID_CONFIG),
        (AlterOp("retention.ms", SET, None), Err.INVALID_REQUEST),
        (AlterOp("retention.ms", APPEND, "1"), Err.INVALID_CONFIG),
    ],
)
def test_one_bad_change_undoes_the_resource(op: AlterOp, err: Err) -> None:
    before = cluster()
    after, verdict = change(before, TOPIC, AlterOp("segment.ms", SET, "2000"), op)
    assert verdict is err
    assert after is before


def test_a_change_that_changes_nothing_writes_nothing() -> None:
    before = cluster(retention_ms="1")
    after, err = change(before, TOPIC, AlterOp("retention.ms", SET, "1"))
    assert err is Err.NONE
    assert after is before


def test_validate_only() -> None:
    before = cluster()
    after, err = change(before, TOPIC, AlterOp("retention.ms", SET, "1"), validate_only=True)
    assert err is Err.NONE
    assert after is before


def test_brokers_by_number_and_their_default() -> None:
    one = ConfigResource(ResourceType.BROKER, "1")
    default = ConfigResource(ResourceType.BROKER, "")
    image, err = change(cluster(), default, AlterOp("log.retention.ms", SET, "5000"))
    assert err is Err.NONE
    assert image.broker_overrides == {None: {"log.retention.ms": "5000"}}
    image, err = change(image, one, AlterOp("log.retention.ms", SET, "6000"))
    assert err is Err.NONE
    assert image.broker_overrides[1] == {"log.retention.ms": "6000"}
    assert change(image, one, AlterOp("log.dirs", SET, "/x"))[1] is Err.INVALID_REQUEST
    assert change(image, default, AlterOp("log.retention.ms", SET, "x"))[1] is Err.INVALID_REQUEST
    nobody = ConfigResource(ResourceType.BROKER, "7")
    assert change(image, nobody)[1] is Err.BROKER_ID_NOT_REGISTERED
    assert change(image, ConfigResource(ResourceType.BROKER, "x"))[1] is Err.INVALID_REQUEST


def test_groups_and_metric_subscriptions() -> None:
    group = ConfigResource(ResourceType.GROUP, "g")
    image, err = change(cluster(), group, AlterOp("consumer.session.timeout.ms", SET, "50000"))
    assert err is Err.NONE
    assert image.overrides(group) == {"consumer.session.timeout.ms": "50000"}
    assert change(image, group, AlterOp("nope", SET, "1"))[1] is Err.INVALID_CONFIG
    metrics = ConfigResource(ResourceType.CLIENT_METRICS, "m")
    image, err = change(image, metrics, AlterOp("interval.ms", SET, "1000"))
    assert err is Err.NONE
    assert change(image, metrics, AlterOp("nope", SET, "1"))[1] is Err.INVALID_REQUEST
    assert change(image, metrics, AlterOp("interval.ms", SET, "1"))[1] is Err.INVALID_CONFIG


def test_unknown_topics_and_repeated_resources() -> None:
    unknown = ConfigResource(ResourceType.TOPIC, "u")
    assert change(cluster(), unknown)[1] is Err.UNKNOWN_TOPIC_OR_PARTITION
    _, reply = incremental_alter_configs(
        cluster(), CONFIG, [(TOPIC, [AlterOp("retention.ms", SET, "1")])] * 2
    )
    assert {verdict.err for _, verdict in reply} == {Err.INVALID_REQUEST}


def test_the_older_request_replaces_everything() -> None:
    """D0-05: altering a topic by the old request leaves only what it names."""
    image = cluster(retention_ms="1", segment_ms="2000")
    records, ((_, verdict),) = alter_configs(image, CONFIG, [(TOPIC, [("segment.ms", "3000")])])
    assert verdict.err is Err.NONE
    assert records == (ConfigChanged(TOPIC, {"segment.ms": "3000"}),)
    _, ((_, verdict),) = alter_configs(image, CONFIG, [(TOPIC, [("nope", "1")])])
    assert verdict.err is Err.INVALID_CONFIG
