"""Markers: the records that tell a partition how a transaction has ended.

`write_marker` appends one marker where it belongs. `ShardMarkers` sees to it that all partitions of a
decided transaction get theirs, and then tells the shard:

    decided ──► a marker per partition, some dozens per turn ──► all replicated? ──► complete
                  └─ not possible now: again later ─┘

On a broker that is the only replica all of it happens in the turn in which the transaction was decided, so
a client never meets CONCURRENT_TRANSACTIONS when it begins the next one. A partition whose topic was
deleted needs no marker. One that has seen a newer epoch of the producer was ended by somebody else (an
operator who aborted a hanging transaction): it is left alone, and the others do not wait for it.

Owned by the loop's thread. Nothing here survives a crash: the shard sends the markers of everything that
is decided and not complete again when it is loaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from typing import Any, Final, NamedTuple

from odradek.coordinators.group_coordinator import OFFSETS_TOPIC, GroupCoordinator
from odradek.coordinators.runtime import CoordinatorRuntime
from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch, TransactionMetadata
from odradek.coordinators.transactions.shard import TransactionShard
from odradek.errors import ApiError, Err
from odradek.interfaces import Clock, Timers
from odradek.records.control import build_end_marker
from odradek.replication.partition import Partition
from odradek.replication.purgatory import DelayedProduce, Required
from odradek.replication.replica_manager import ACKS_ALL, ReplicaManager
from odradek.storage.log_values import Origin
from odradek.types import TopicPartition

log = logging.getLogger(__name__)

# Markers written in one turn of the loop: a transaction may span thousands of partitions.
MARKERS_PER_TURN: Final = 64
RETRY_MS: Final = 20.0
RETRY_MS_MAX: Final = 2_000.0
# How long followers may take until the marker is written again.
REPLICATION_MS_MAX: Final = 30_000.0

# The partition will never take this marker, and needs none.
_NOT_NEEDED: Final = frozenset(
    {Err.UNKNOWN_TOPIC_OR_PARTITION, Err.INVALID_PRODUCER_EPOCH, Err.TRANSACTION_COORDINATOR_FENCED}
)


class Marker(NamedTuple):
    """How the transaction of a producer ended, and who says so."""

    producer: ProducerIdAndEpoch
    committed: bool
    coordinator_epoch: int
    transaction_version: int


class MarkerWriter:
    """Appends markers to partitions that this broker leads."""

    def __init__(
        self, replicas: ReplicaManager, groups: GroupCoordinator, clock: Clock, timers: Timers
    ) -> None:
        self._replicas = replicas
        self._groups = groups
        self._clock = clock
        self._timers = timers

    def write(
        self, topic_partition: TopicPartition, marker: Marker
    ) -> Coroutine[Any, Any, None] | None:
        """Append a marker; a coroutine when it must be replicated. ApiError says why not."""
        partition = self._replicas.find(*topic_partition)
        partition.check_leader()
        partition.log.check_end_marker(*marker.producer, marker.transaction_version)
        if topic_partition.topic == OFFSETS_TOPIC:
            return self._groups.end_transaction(
                topic_partition.partition,
                producer_id=marker.producer.producer_id,
                producer_epoch=marker.producer.producer_epoch,
                coordinator_epoch=marker.coordinator_epoch,
                committed=marker.committed,
            )
        return self._append(partition, marker)

    def _append(self, partition: Partition, marker: Marker) -> Coroutine[Any, Any, None] | None:
        now_ms = self._clock.now_ms()
        batch = build_end_marker(
            producer_id=marker.producer.producer_id,
            producer_epoch=marker.producer.producer_epoch,
            commit=marker.committed,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp=now_ms,
        )
        result = self._replicas.append(
            partition, memoryview(batch), ACKS_ALL, now_ms, origin=Origin.COORDINATOR
        )
        if partition.high_watermark > result.last_offset:
            return None
        return self._replicated(partition, result.last_offset + 1)

    async def _replicated(self, partition: Partition, end_offset: int) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        required = Required(end_offset, replicated=True, synced=False)
        DelayedProduce(
            {partition: required},
            REPLICATION_MS_MAX,
            self._timers,
            loop.call_soon,
            lambda: done.set_result(None),
        )
        await done
        if not required.is_met_by(partition):
            raise ApiError(Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


class _Job:
    """A decided transaction on its way to being complete."""

    __slots__ = ("again", "marker", "replicating", "retry_ms", "todo", "txn")

    def __init__(self, txn: TransactionMetadata, coordinator_epoch: int) -> None:
        self.txn = txn
        self.marker = Marker(txn.producer, txn.is_committed, coordinator_epoch, txn.client_version)
        self.todo = deque(sorted(txn.partitions))
        self.again: list[TopicPartition] = []
        self.replicating: list[tuple[TopicPartition, Coroutine[Any, Any, None]]] = []
        self.retry_ms = RETRY_MS


class ShardMarkers:
    """The markers of one shard's transactions: its `MarkerSink`."""

    def __init__(
        self,
        index: int,
        runtime: CoordinatorRuntime[TransactionShard],
        writer: MarkerWriter,
        timers: Timers,
    ) -> None:
        self._index = index
        self._runtime = runtime
        self._writer = writer
        self._timers = timers
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, txn: TransactionMetadata) -> None:
        """Write the markers of a decided transaction; all of them now, if that is possible."""
        self._go_on(_Job(txn, self._runtime.leader_epoch(self._index)))

    def _go_on(self, job: _Job) -> None:
        if not self._is_current(job):
            return
        for _ in range(min(MARKERS_PER_TURN, len(job.todo))):
            self._write(job, job.todo.popleft())
        if job.todo:
            self._timers.call_later(0, lambda: self._go_on(job))
        elif job.replicating:
            task = asyncio.get_running_loop().create_task(self._replicated(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._finish(job)

    def _is_current(self, job: _Job) -> bool:
        """Whether this broker still coordinates; if not, somebody else goes on with it."""
        try:
            epoch = self._runtime.leader_epoch(self._index)
        except ApiError:
            return False
        return epoch == job.marker.coordinator_epoch

    def _write(self, job: _Job, partition: TopicPartition) -> None:
        try:
            coming = self._writer.write(partition, job.marker)
        except ApiError as error:
            self._failed(job, partition, error)
            return
        if coming is not None:
            job.replicating.append((partition, coming))

    def _failed(self, job: _Job, partition: TopicPartition, error: ApiError) -> None:
        transactional_id = job.txn.transactional_id
        if error.err in _NOT_NEEDED:
            log.warning("%s: no marker for %s: %s", transactional_id, partition, error)
        else:
            log.debug("%s: marker for %s must wait: %s", transactional_id, partition, error)
            job.again.append(partition)

    async def _replicated(self, job: _Job) -> None:
        replicating, job.replicating = job.replicating, []
        for partition, coming in replicating:
            try:
                await coming
            except ApiError as error:
                self._failed(job, partition, error)
        if self._is_current(job):
            self._finish(job)

    def _finish(self, job: _Job) -> None:
        """Complete the transaction, or try again what was not possible."""
        if job.again:
            job.todo.extend(job.again)
            job.again.clear()
            self._again(job)
            return
        txn = job.txn
        try:
            coming = self._runtime.write(
                self._index, lambda shard: shard.complete(txn.transactional_id, txn.producer)
            )
        except ApiError as error:
            log.warning("%s: cannot be completed now: %s", txn.transactional_id, error)
            self._again(job)
            return
        if coming is not None:
            coming.close()  # nobody waits for the answer; it is replicated all the same

    def _again(self, job: _Job) -> None:
        self._timers.call_later(job.retry_ms, lambda: self._go_on(job))
        job.retry_ms = min(job.retry_ms * 2, RETRY_MS_MAX)
