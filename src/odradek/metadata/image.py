"""The metadata image: everything the cluster agrees on, at one version, as one immutable value.

A reader takes the image once and sees one consistent state for as long as it holds it; nobody
locks. Only `metadata.delta.apply` makes a new image, from an old one and records. The mappings
are plain dicts for speed; they are shared between images and **never mutated** after the image is
built.

After a crash the image is read back from the coordination store (`controller.layout`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple
from uuid import UUID

from odradek.types import TopicPartition

NO_LEADER: Final = -1
NO_CONTROLLER: Final = -1


class ResourceType(IntEnum):
    """What a configuration belongs to, with the wire's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """One holder of settings. A broker's name is its id; the empty name is all brokers' default."""

    type: ResourceType
    name: str


class Endpoint(NamedTuple):
    """Where clients of one listener reach a broker."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A living broker. `epoch` grows with each registration and fences the ones before."""

    id: int
    endpoints: Mapping[str, Endpoint]
    rack: str | None = None
    epoch: int = -1


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """Who holds a partition. `replicas[0]` is the preferred leader.

    `leader_epoch` grows with every election, `partition_epoch` with every change of this value.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic: its partitions by index, and the settings it overrides."""

    name: str
    id: UUID
    partitions: tuple[PartitionImage, ...]
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def replication_factor(self) -> int:
        """How many replicas the first partition has, as Kafka reports it."""
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(frozen=True, slots=True)
class MetadataImage:
    """The whole cluster at one `version`, which grows by one with each applied change."""

    cluster_id: str = ""
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    brokers: Mapping[int, BrokerRegistration] = field(default_factory=dict)
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    topics_by_id: Mapping[UUID, TopicImage] = field(default_factory=dict)
    broker_overrides: Mapping[int | None, Mapping[str, str]] = field(default_factory=dict)
    resource_overrides: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    features_epoch: int = 0
    next_producer_id: int = 0
    version: int = 0

    def partition(self, tp: TopicPartition) -> PartitionImage | None:
        """The partition, or None when the topic or the index is unknown."""
        topic = self.topics.get(tp.topic)
        if topic is None or not 0 <= tp.partition < len(topic.partitions):
            return None
        return topic.partitions[tp.partition]

    def overrides(self, resource: ConfigResource) -> Mapping[str, str]:
        """The settings this resource overrides itself; empty when it has none or is unknown."""
        if resource.type is ResourceType.TOPIC:
            topic = self.topics.get(resource.name)
            return topic.overrides if topic is not None else {}
        if resource.type is ResourceType.BROKER:
            return self.broker_overrides.get(broker_of(resource.name), {})
        return self.resource_overrides.get(resource, {})


def broker_of(name: str) -> int | None:
    """The broker id that a broker resource's name means; None for the default of all brokers."""
    return int(name) if name else None
