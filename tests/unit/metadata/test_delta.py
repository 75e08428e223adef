"""A reader may conclude: an image never changes, and a delta names exactly what a step changed."""

from __future__ import annotations

import time
from uuid import UUID

import pytest

from odradek.metadata import (
    BrokerRegistration,
    ConfigResource,
    Endpoint,
    MetadataImage,
    PartitionImage,
    ResourceType,
    apply,
)
from odradek.metadata.records import (
    BrokerRegistered,
    BrokerUnregistered,
    ClusterNamed,
    ConfigChanged,
    ControllerElected,
    FeatureSet,
    PartitionChanged,
    PartitionsAdded,
    ProducerIdsAllocated,
    TopicCreated,
    TopicRemoved,
)
from odradek.types import TopicPartition

ONE = PartitionImage((1,), (1,), 1)
TOPIC = ConfigResource(ResourceType.TOPIC, "t")


def created(name: str = "t", partitions: int = 1, number: int = 7) -> TopicCreated:
    return TopicCreated(name, UUID(int=number), (ONE,) * partitions, {})


def with_topic(partitions: int = 1) -> MetadataImage:
    return apply(MetadataImage(), [created(partitions=partitions)])[0]


def test_creating_a_topic_leaves_the_image_before_it_alone() -> None:
    before = MetadataImage()
    after, delta = apply(before, [created()])
    assert not before.topics
    assert after.topics["t"] is after.topics_by_id[UUID(int=7)]
    assert after.version == before.version + 1
    assert delta.created == (after.topics["t"],)
    assert not delta.changed_partitions


def test_removing_a_topic_forgets_its_id_and_says_what_it_was() -> None:
    before = with_topic()
    after, delta = apply(before, [TopicRemoved("t")])
    assert not after.topics
    assert not after.topics_by_id
    assert delta.removed == (before.topics["t"],)


def test_a_topic_replaced_within_a_step_is_both_removed_and_created() -> None:
    after, delta = apply(with_topic(), [TopicRemoved("t"), created(number=8)])
    assert [topic.id for topic in delta.removed] == [UUID(int=7)]
    assert [topic.id for topic in delta.created] == [UUID(int=8)]
    assert after.topics["t"].id == UUID(int=8)


def test_a_topic_that_comes_and_goes_within_a_step_is_not_mentioned() -> None:
    _, delta = apply(MetadataImage(), [created(), TopicRemoved("t")])
    assert not delta.created
    assert not delta.removed


def test_added_and_changed_partitions_are_named_by_index() -> None:
    moved = PartitionImage((1,), (1,), 1, leader_epoch=1, partition_epoch=1)
    after, delta = apply(
        with_topic(2), [PartitionsAdded("t", (ONE, ONE)), PartitionChanged("t", 0, moved)]
    )
    assert delta.changed_partitions == {"t": {0, 2, 3}}
    assert len(after.topics["t"].partitions) == 4
    assert after.partition(TopicPartition("t", 0)) == moved
    assert after.partition(TopicPartition("t", 4)) is None
    assert after.partition(TopicPartition("t", -1)) is None
    assert after.partition(TopicPartition("u", 0)) is None


def test_a_partition_never_goes_back_to_an_older_epoch() -> None:
    with pytest.raises(AssertionError):
        apply(with_topic(), [PartitionChanged("t", 0, ONE)])


def test_settings_are_kept_per_resource_and_dropped_when_empty() -> None:
    default = ConfigResource(ResourceType.BROKER, "")
    group = ConfigResource(ResourceType.GROUP, "g")
    image, delta = apply(
        with_topic(),
        [
            ConfigChanged(TOPIC, {"retention.ms": "1"}),
            ConfigChanged(default, {"log.retention.ms": "2"}),
            ConfigChanged(group, {"consumer.session.timeout.ms": "3"}),
        ],
    )
    assert image.overrides(TOPIC) == {"retention.ms": "1"}
    assert image.broker_overrides == {None: {"log.retention.ms": "2"}}
    assert image.overrides(default) == {"log.retention.ms": "2"}
    assert image.overrides(group) == {"consumer.session.timeout.ms": "3"}
    assert delta.changed_configs == {TOPIC, default, group}
    image, _ = apply(image, [ConfigChanged(resource, {}) for resource in (TOPIC, default, group)])
    assert not image.broker_overrides
    assert not image.resource_overrides
    assert image.topics["t"].overrides == {}


def test_cluster_facts_brokers_features_and_producer_ids() -> None:
    broker = BrokerRegistration(1, {"PLAINTEXT": Endpoint("localhost", 9092)}, epoch=5)
    image, delta = apply(
        MetadataImage(),
        [
            ClusterNamed("c"),
            ControllerElected(1, 3),
            BrokerRegistered(broker),
            FeatureSet("a", 2),
            FeatureSet("b", 1),
            FeatureSet("b", 0),
            ProducerIdsAllocated(1, 1000, 1000),
        ],
    )
    assert (image.cluster_id, image.controller_id, image.controller_epoch) == ("c", 1, 3)
    assert image.brokers == {1: broker}
    assert delta.changed_brokers == {1}
    assert image.features == {"a": 2, "b": 0}
    assert (image.features_epoch, delta.features_changed) == (1, True)
    assert image.next_producer_id == 2000
    image, _ = apply(image, [BrokerUnregistered(1)])
    assert not image.brokers


def test_a_thousand_topics_one_after_another_stay_cheap() -> None:
    image = MetadataImage()
    start = time.perf_counter()
    for number in range(1000):
        image, _ = apply(image, [created(f"t{number}", number=number + 1)])
    image, _ = apply(image, [created("big", 1000, number=5000)])
    assert time.perf_counter() - start < 2.0  # measured: 30 ms
    assert len(image.topics) == 1001
