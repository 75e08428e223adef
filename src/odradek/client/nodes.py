"""Calls about brokers and what they hold: who is there, what they can do, log dirs, active
producers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from odradek.client.addresses import Address
from odradek.client.calls import Calls, settle
from odradek.client.cluster import Broker
from odradek.client.failures import check, error_of
from odradek.client.offsets import by_topic
from odradek.client.targets import ANY_BROKER, Node
from odradek.errors import ApiError
from odradek.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from odradek.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)
from odradek.types import TopicPartition


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """Who is there, as DescribeCluster tells it."""

    cluster_id: str
    controller_id: int
    brokers: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class LogReplica:
    """One partition's log in a log dir."""

    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDir:
    """One log dir of one broker; `error` when it is offline. Byte counts are -1 when not told."""

    path: str
    error: ApiError | None
    replicas: tuple[LogReplica, ...]
    total_bytes: int
    usable_bytes: int


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    """What a leader remembers of a producer that wrote to a partition."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int


class NodeCalls(Calls):
    """Brokers and what they hold."""

    async def describe_cluster(self) -> ClusterDescription:
        """Cluster id, controller and live brokers."""
        reply = await self._router.call(DescribeClusterRequest(), DescribeClusterResponse)
        check(reply.error_code, reply.error_message)
        brokers = (
            Broker(broker.broker_id, Address(broker.host, broker.port), broker.rack)
            for broker in reply.brokers
        )
        return ClusterDescription(
            reply.cluster_id,
            reply.controller_id,
            tuple(sorted(brokers, key=lambda broker: broker.node_id)),
        )

    async def api_versions(self, node_id: int | None = None) -> tuple[Address, dict[int, range]]:
        """Which versions of which APIs a broker (None: any) speaks, and where it is."""
        if node_id is None:
            await self._router.metadata([])
            connection = await self._router.connection_to(ANY_BROKER)
        else:
            connection = await self._router.connection_to(Node(node_id))
        return connection.address, dict(connection.versions)

    async def describe_log_dirs(
        self,
        node_ids: Iterable[int] | None = None,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> dict[int, tuple[LogDir, ...] | ApiError]:
        """The log dirs of brokers (None: of all) with the given partitions (None: with all)."""
        topics = None
        if partitions is not None:
            topics = [
                DescribableLogDirTopic(topic=topic, partitions=indexes)
                for topic, indexes in by_topic(list(partitions)).items()
            ]

        async def ask(node_id: int) -> dict[int, tuple[LogDir, ...] | ApiError]:
            reply = await self._router.call(
                DescribeLogDirsRequest(topics=topics), DescribeLogDirsResponse, to=Node(node_id)
            )
            check(reply.error_code)
            return {node_id: tuple(_log_dir(result) for result in reply.results)}

        asked = list((await self._router.metadata([])).brokers if node_ids is None else node_ids)
        answers: dict[int, tuple[LogDir, ...] | ApiError] = {}
        for partial in await asyncio.gather(*(settle([node], ask(node)) for node in asked)):
            answers.update(partial)
        return answers

    async def describe_producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, tuple[ActiveProducer, ...] | ApiError]:
        """The producers that the leader of each partition remembers (KIP-664)."""

        async def ask(
            leader: int, theirs: list[TopicPartition]
        ) -> dict[TopicPartition, tuple[ActiveProducer, ...] | ApiError]:
            request = DescribeProducersRequest(
                topics=[
                    TopicRequest(name=topic, partition_indexes=indexes)
                    for topic, indexes in by_topic(theirs).items()
                ]
            )
            reply = await self._router.call(request, DescribeProducersResponse, to=Node(leader))
            return {
                TopicPartition(topic.name, found.partition_index): error_of(
                    found.error_code, found.error_message
                )
                or tuple(_producer(state) for state in found.active_producers)
                for topic in reply.topics
                for found in topic.partitions
            }

        return await self._by_leader("DescribeProducers", partitions, ask)


def _log_dir(result: DescribeLogDirsResult) -> LogDir:
    replicas = [
        LogReplica(
            TopicPartition(topic.name, partition.partition_index),
            partition.partition_size,
            partition.offset_lag,
            partition.is_future_key,
        )
        for topic in result.topics
        for partition in topic.partitions
    ]
    return LogDir(
        path=result.log_dir,
        error=error_of(result.error_code),
        replicas=tuple(sorted(replicas, key=lambda replica: replica.partition)),
        total_bytes=result.total_bytes,
        usable_bytes=result.usable_bytes,
    )


def _producer(state: ProducerState) -> ActiveProducer:
    return ActiveProducer(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_start_offset,
    )
