"""How an image changes: `apply(image, records)` gives the next image and what is different in it.

This is the only code that changes metadata; loading after a restart and running use it alike. A
change copies the dicts it touches, once per call (10,000 topics: about 0.1 ms), and shares the
rest with the image before it, which stays valid for whoever still reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never
from uuid import UUID

from odradek.metadata.image import (
    BrokerRegistration,
    ConfigResource,
    MetadataImage,
    PartitionImage,
    ResourceType,
    TopicImage,
    broker_of,
)
from odradek.metadata.records import (
    BrokerRegistered,
    BrokerUnregistered,
    ClusterNamed,
    ConfigChanged,
    ControllerElected,
    FeatureSet,
    MetadataRecord,
    PartitionChanged,
    PartitionsAdded,
    ProducerIdsAllocated,
    TopicCreated,
    TopicRemoved,
)


@dataclass(frozen=True, slots=True)
class Delta:
    """What a step changed, so that a subscriber looks only at that.

    A topic that was removed and created again within one step is in both `removed` and `created`;
    handle `removed` first. `changed_partitions` holds partitions of topics that existed before, the
    added ones included.
    """

    created: tuple[TopicImage, ...] = ()
    removed: tuple[TopicImage, ...] = ()
    changed_partitions: Mapping[str, frozenset[int]] = field(default_factory=dict)
    changed_configs: frozenset[ConfigResource] = frozenset()
    changed_brokers: frozenset[int] = frozenset()
    features_changed: bool = False


def apply(image: MetadataImage, records: Iterable[MetadataRecord]) -> tuple[MetadataImage, Delta]:
    """The image after `records`, and what they changed. `image` itself stays as it is."""
    step = _Step(image)
    for record in records:
        step.replay(record)
    return step.finish()


class _Step:
    """An image under construction; dicts are copied when first touched."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._fields: dict[str, Any] = {}
        self._created: dict[str, None] = {}
        self._removed: list[TopicImage] = []
        self._partitions: dict[str, list[PartitionImage]] = {}
        self._changed_partitions: dict[str, set[int]] = {}
        self._changed_configs: set[ConfigResource] = set()
        self._changed_brokers: set[int] = set()

    def replay(self, record: MetadataRecord) -> None:
        match record:
            case TopicCreated():
                self._create_topic(record)
            case TopicRemoved():
                self._remove_topic(record)
            case PartitionsAdded():
                self._add_partitions(record)
            case PartitionChanged():
                self._change_partition(record)
            case ConfigChanged():
                self._change_config(record)
            case BrokerRegistered(broker):
                self._brokers()[broker.id] = broker
                self._changed_brokers.add(broker.id)
            case BrokerUnregistered(broker_id):
                self._brokers().pop(broker_id, None)
                self._changed_brokers.add(broker_id)
            case FeatureSet(name, level):
                self._set_feature(name, level)
            case ProducerIdsAllocated(_, first, count):
                self._fields["next_producer_id"] = first + count
            case ClusterNamed(cluster_id):
                self._fields["cluster_id"] = cluster_id
            case ControllerElected(broker_id, controller_epoch):
                self._fields["controller_id"] = broker_id
                self._fields["controller_epoch"] = controller_epoch
            case _:
                assert_never(record)

    def finish(self) -> tuple[MetadataImage, Delta]:
        """Freeze the step: partitions back into tuples, the version one higher."""
        for name, partitions in self._partitions.items():
            self._put_topic(replace(self._topics()[name], partitions=tuple(partitions)))
        topics: Mapping[str, TopicImage] = self._fields.get("topics", self._image.topics)
        delta = Delta(
            created=tuple(topics[name] for name in self._created),
            removed=tuple(self._removed),
            changed_partitions={t: frozenset(p) for t, p in self._changed_partitions.items()},
            changed_configs=frozenset(self._changed_configs),
            changed_brokers=frozenset(self._changed_brokers),
            features_changed="features" in self._fields,
        )
        return replace(self._image, version=self._image.version + 1, **self._fields), delta

    def _create_topic(self, record: TopicCreated) -> None:
        assert record.name not in self._topics(), record.name
        assert record.id not in self._topics_by_id(), record.id
        self._put_topic(TopicImage(record.name, record.id, record.partitions, record.overrides))
        self._created[record.name] = None

    def _remove_topic(self, record: TopicRemoved) -> None:
        topic = self._topics().pop(record.name)
        del self._topics_by_id()[topic.id]
        self._partitions.pop(record.name, None)
        self._changed_partitions.pop(record.name, None)
        self._changed_configs.discard(ConfigResource(ResourceType.TOPIC, record.name))
        if record.name in self._created:
            del self._created[record.name]  # came and went within the step: nobody needs to know
        else:
            self._removed.append(topic)

    def _add_partitions(self, record: PartitionsAdded) -> None:
        partitions = self._partitions_of(record.topic)
        first = len(partitions)
        partitions.extend(record.partitions)
        self._note_partitions(record.topic, range(first, len(partitions)))

    def _change_partition(self, record: PartitionChanged) -> None:
        partitions = self._partitions_of(record.topic)
        before = partitions[record.partition]
        assert record.state.partition_epoch > before.partition_epoch, record
        assert record.state.leader_epoch >= before.leader_epoch, record
        partitions[record.partition] = record.state
        self._note_partitions(record.topic, (record.partition,))

    def _change_config(self, record: ConfigChanged) -> None:
        resource = record.resource
        if resource.type is ResourceType.TOPIC:
            topic = self._topics()[resource.name]
            self._put_topic(replace(topic, overrides=record.overrides))
        elif resource.type is ResourceType.BROKER:
            broker_overrides = self._own("broker_overrides", self._image.broker_overrides)
            _put_or_drop(broker_overrides, broker_of(resource.name), record.overrides)
        else:
            overrides = self._own("resource_overrides", self._image.resource_overrides)
            _put_or_drop(overrides, resource, record.overrides)
        self._changed_configs.add(resource)

    def _set_feature(self, name: str, level: int) -> None:
        features = self._own("features", self._image.features)
        features[name] = level  # 0 is kept: it says that somebody does not want the feature
        self._fields["features_epoch"] = self._image.features_epoch + 1

    def _put_topic(self, topic: TopicImage) -> None:
        self._topics()[topic.name] = topic
        self._topics_by_id()[topic.id] = topic

    def _partitions_of(self, topic: str) -> list[PartitionImage]:
        partitions = self._partitions.get(topic)
        if partitions is None:
            partitions = self._partitions[topic] = list(self._topics()[topic].partitions)
        return partitions

    def _note_partitions(self, topic: str, partitions: Iterable[int]) -> None:
        if topic not in self._created:
            self._changed_partitions.setdefault(topic, set()).update(partitions)

    def _topics(self) -> dict[str, TopicImage]:
        return self._own("topics", self._image.topics)

    def _topics_by_id(self) -> dict[UUID, TopicImage]:
        return self._own("topics_by_id", self._image.topics_by_id)

    def _brokers(self) -> dict[int, BrokerRegistration]:
        return self._own("brokers", self._image.brokers)

    def _own(self, name: str, shared: Mapping[Any, Any]) -> dict[Any, Any]:
        """This step's own copy of the image's dict `name`."""
        own: dict[Any, Any] | None = self._fields.get(name)
        if own is None:
            own = self._fields[name] = dict(shared)
        return own


def _put_or_drop(
    overrides: dict[Any, Mapping[str, str]], key: object, value: Mapping[str, str]
) -> None:
    if value:
        overrides[key] = value
    else:
        overrides.pop(key, None)
