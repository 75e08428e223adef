"""What a cluster looks like from outside: brokers, topics, partitions, as Metadata tells it.

Immutable values. `Cluster.of` is the only place that knows the shape of a Metadata reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from odradek.client.addresses import Address
from odradek.client.failures import err_of
from odradek.errors import Err
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NO_NODE: Final = -1


@dataclass(frozen=True, slots=True)
class Broker:
    """A live broker and the address that it asks clients to use."""

    node_id: int
    address: Address
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: who leads it, who copies it, who is in sync."""

    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...]
    err: Err

    @property
    def under_replicated(self) -> bool:
        """Whether a replica is missing from the in-sync set."""
        return len(self.isr) < len(self.replicas)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, or why there is none (`err`)."""

    name: str
    topic_id: UUID
    internal: bool
    partitions: tuple[Partition, ...]
    err: Err

    @property
    def replication_factor(self) -> int:
        """As `describe` counts it: the replicas of the first partition."""
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Metadata reply."""

    cluster_id: str | None
    controller_id: int
    brokers: Mapping[int, Broker]
    topics: Mapping[str, Topic]

    @staticmethod
    def of(response: MetadataResponse) -> Cluster:
        """Read a reply. Topics asked for by id that do not exist have no name and are left out."""
        topics = [_topic(topic) for topic in response.topics if topic.name is not None]
        return Cluster(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers={
                broker.node_id: Broker(
                    broker.node_id, Address(broker.host, broker.port), broker.rack
                )
                for broker in response.brokers
            },
            topics={topic.name: topic for topic in sorted(topics, key=lambda topic: topic.name)},
        )


def _topic(topic: MetadataResponseTopic) -> Topic:
    partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
    return Topic(
        name=topic.name or "",
        topic_id=topic.topic_id,
        internal=topic.is_internal,
        partitions=tuple(_partition(partition) for partition in partitions),
        err=err_of(topic.error_code),
    )


def _partition(partition: MetadataResponsePartition) -> Partition:
    return Partition(
        index=partition.partition_index,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline=tuple(partition.offline_replicas),
        err=err_of(partition.error_code),
    )
