"""Metadata records: every change that an image can go through, as small immutable values.

The controller's handlers return these, `controller.layout` writes them to the coordination store,
and `metadata.delta.apply` alone turns them into a new image.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from odradek.metadata.image import BrokerRegistration, ConfigResource, PartitionImage


@dataclass(frozen=True, slots=True)
class ClusterNamed:
    """The cluster got its id; it keeps it for ever."""

    cluster_id: str


@dataclass(frozen=True, slots=True)
class ControllerElected:
    """A broker became controller; records of lower epochs are fenced from now on."""

    broker_id: int
    controller_epoch: int


@dataclass(frozen=True, slots=True)
class BrokerRegistered:
    """A broker came up; a registration of the same id is replaced."""

    broker: BrokerRegistration


@dataclass(frozen=True, slots=True)
class BrokerUnregistered:
    """A broker is gone."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class TopicCreated:
    """A new topic with all its partitions and overrides."""

    name: str
    id: UUID
    partitions: tuple[PartitionImage, ...]
    overrides: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TopicRemoved:
    """A topic and its settings are gone; its id is never used again."""

    name: str


@dataclass(frozen=True, slots=True)
class PartitionsAdded:
    """The topic grew; the new partitions follow the existing ones."""

    topic: str
    partitions: tuple[PartitionImage, ...]


@dataclass(frozen=True, slots=True)
class PartitionChanged:
    """A partition's leader, ISR or replicas changed; `state` holds the epochs already increased."""

    topic: str
    partition: int
    state: PartitionImage


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """The complete overrides of a resource from now on; empty removes them all."""

    resource: ConfigResource
    overrides: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """A feature is finalised at `level`; level 0 takes it back."""

    name: str
    level: int


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    """A broker owns the producer ids from `first` up to, not including, `first + count`."""

    broker_id: int
    first: int
    count: int


MetadataRecord: TypeAlias = (
    ClusterNamed
    | ControllerElected
    | BrokerRegistered
    | BrokerUnregistered
    | TopicCreated
    | TopicRemoved
    | PartitionsAdded
    | PartitionChanged
    | ConfigChanged
    | FeatureSet
    | ProducerIdsAllocated
)
