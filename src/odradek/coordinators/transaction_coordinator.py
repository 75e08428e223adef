"""The transaction coordinator as handlers see it: finds an id's shard, and what concerns many shards.

A transactional id belongs to the partition of `__transaction_state` that it hashes to. All methods run on
the loop's thread; they answer at once, or with a coroutine while records are being replicated.

Before a transactional batch is appended, its partition must be part of the producer's open transaction
(KIP-890): or else a delayed batch would open a transaction that nobody ends, and read_committed consumers
would wait for ever. `check_write` asks for that, once per transaction and partition: as long as the
partition's own log shows the producer's transaction open there is nothing to ask.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from enum import Enum
from typing import Any, Final, TypeVar

from odradek.config.broker import BrokerConfig
from odradek.coordinators.group_coordinator import GroupCoordinator, partition_for
from odradek.coordinators.groups.topic_regex import TopicRegex
from odradek.coordinators.groups.topic_regex_syntax import InvalidRegexError
from odradek.coordinators.record_format import TRANSACTION_RECORDS
from odradek.coordinators.runtime import CoordinatorRuntime
from odradek.coordinators.shard import ShardTimers
from odradek.coordinators.transaction_markers import Marker, MarkerWriter, ShardMarkers
from odradek.coordinators.transactions.metadata import (
    EPOCH_BUMP_FROM,
    ProducerIdAndEpoch,
    TransactionMetadata,
)
from odradek.coordinators.transactions.queries import TransactionFilter
from odradek.coordinators.transactions.shard import Initialized, TransactionShard
from odradek.coordinators.transactions.state import BY_LABEL
from odradek.errors import ApiError, Err
from odradek.interfaces import Background, Clock, Timers
from odradek.replication.replica_manager import ReplicaManager
from odradek.types import TopicPartition

log = logging.getLogger(__name__)
T = TypeVar("T")

TRANSACTION_TOPIC: Final = "__transaction_state"
# Producer ids kept at hand, so that a time-out or an end at the last epoch need not wait for one.
SPARE_IDS: Final = 4
# How long a record of the state topic may take to be replicated; Kafka has no key for it either.
COMMIT_TIMEOUT_MS: Final = 5_000.0


class ClientSupport(Enum):
    """What a client can make of transactional writes, told by the version of its request."""

    DEFAULT_ERROR = "adds partitions itself; knows INVALID_TXN_STATE"
    GENERIC_ERROR = "adds partitions itself; knows TRANSACTION_ABORTABLE"
    ADD_PARTITION = "counts on the broker to add partitions (transaction.version 2)"


class TransactionCoordinator:
    """All transactional ids whose coordinator is this broker."""

    def __init__(
        self,
        *,
        config: Callable[[], BrokerConfig],
        node_id: int,
        replicas: ReplicaManager,
        groups: GroupCoordinator,
        clock: Clock,
        timers: Timers,
        background: Background,
        next_producer_id: Callable[[], Awaitable[int]],
    ) -> None:
        self._config = config
        self._clock = clock
        self._timers = timers
        self._spare = _SpareProducerIds(next_producer_id)
        self._writer = MarkerWriter(replicas, groups, clock, timers)
        self.runtime: Final = CoordinatorRuntime(
            topic=TRANSACTION_TOPIC,
            node_id=node_id,
            new_shard=self._new_shard,
            record_format=TRANSACTION_RECORDS,
            replicas=replicas,
            clock=clock,
            timers=timers,
            background=background,
            load_bytes=lambda: config().transaction_state_log_load_buffer_size,
            commit_timeout_ms=lambda: COMMIT_TIMEOUT_MS,
        )

    def _new_shard(self, index: int, shard_timers: ShardTimers) -> TransactionShard:
        return TransactionShard(
            config=self._config,
            now_ms=self._clock.now_ms,
            timers=shard_timers,
            take_producer_id=self._spare.take,
            markers=ShardMarkers(index, self.runtime, self._writer, self._timers),
        )

    def partition_for(self, transactional_id: str) -> int:
        """The partition of the state topic that holds the id."""
        count = self.runtime.partition_count
        if not count:
            raise ApiError(Err.COORDINATOR_NOT_AVAILABLE, "the state topic does not exist yet")
        return partition_for(transactional_id, count)

    # -- a producer's requests -----------------------------------------------------------------

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Initialized:
        """Take a transactional id over, or go on with it; ApiError if refused."""
        index = self.partition_for(transactional_id)
        await self._spare.fill()
        result = self.runtime.write(
            index, lambda shard: shard.init_producer_id(transactional_id, timeout_ms, expected)
        )
        return result if isinstance(result, Initialized) else await result

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
        client_version: int,
    ) -> Coroutine[Any, Any, None] | None:
        """Make partitions part of the producer's transaction; ApiError if refused."""
        return self.runtime.write(
            self.partition_for(transactional_id),
            lambda shard: shard.add_partitions(
                transactional_id, producer, partitions, client_version
            ),
        )

    def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
    ) -> dict[TopicPartition, Err] | Coroutine[Any, Any, dict[TopicPartition, Err]]:
        """Which partitions belong to the producer's open transaction; ApiError if none may."""
        return self.runtime.read(
            self.partition_for(transactional_id),
            lambda shard: shard.verify_partitions(transactional_id, producer, partitions),
        )

    def end_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        client_version: int,
    ) -> ProducerIdAndEpoch | Coroutine[Any, Any, ProducerIdAndEpoch]:
        """Commit or abort; what the producer goes on with. ApiError if refused."""
        return self.runtime.write(
            self.partition_for(transactional_id),
            lambda shard: shard.end_transaction(
                transactional_id, producer, commit=commit, client_version=client_version
            ),
        )

    # -- before a transactional write ----------------------------------------------------------

    def check_write(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Collection[TopicPartition],
        support: ClientSupport,
    ) -> dict[TopicPartition, Err]:
        """The partitions that the producer may not write to, and why.

        With ADD_PARTITION they are added first. What must be replicated before it can be relied on
        answers CONCURRENT_TRANSACTIONS: the client comes again and finds it done.
        """
        adds = support is ClientSupport.ADD_PARTITION
        if not adds and not self._config().transaction_partition_verification_enable:
            return {}
        try:
            if adds:
                pending = self.add_partitions(
                    transactional_id, producer, partitions, EPOCH_BUMP_FROM
                )
                found = dict.fromkeys(partitions, Err.NONE)
                if pending is not None:
                    pending.close()
                    found = dict.fromkeys(partitions, Err.CONCURRENT_TRANSACTIONS)
            else:
                verified = self.verify_partitions(transactional_id, producer, partitions)
                if isinstance(verified, dict):
                    found = verified
                else:
                    verified.close()
                    found = dict.fromkeys(partitions, Err.CONCURRENT_TRANSACTIONS)
        except ApiError as error:
            found = dict.fromkeys(partitions, error.err)
        return {partition: _as_told(err, support) for partition, err in found.items() if err}

    # -- markers -------------------------------------------------------------------------------

    def write_marker(
        self, partition: TopicPartition, marker: Marker
    ) -> Coroutine[Any, Any, None] | None:
        """Write a marker that another coordinator, or an operator, asks for; ApiError if refused."""
        return self._writer.write(partition, marker)

    # -- asking --------------------------------------------------------------------------------

    def describe_transaction(
        self, transactional_id: str
    ) -> TransactionMetadata | Coroutine[Any, Any, TransactionMetadata]:
        """One transactional id; ApiError when this broker does not know it."""
        if not transactional_id:
            raise ApiError(Err.INVALID_REQUEST, "the transactional id is empty")

        def query(shard: TransactionShard) -> TransactionMetadata:
            txn = shard.get(transactional_id)
            if txn is None:
                raise ApiError(Err.TRANSACTIONAL_ID_NOT_FOUND)
            return txn

        return self.runtime.read(self.partition_for(transactional_id), query)

    def list_transactions(
        self,
        states: Iterable[str],
        producer_ids: Iterable[int],
        duration_ms: int,
        pattern: str | None,
    ) -> tuple[list[TransactionMetadata], list[str]]:
        """The transactional ids asked for, and the states among the filters that do not exist."""
        if self.runtime.is_loading():
            raise ApiError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        labels = list(states)
        wanted = TransactionFilter(
            states=frozenset(BY_LABEL[s] for s in labels if s in BY_LABEL) if labels else None,
            producer_ids=frozenset(producer_ids),
            duration_ms=duration_ms,
            pattern=_compile(pattern) if pattern else None,
        )
        found = [txn for _, shard in self.runtime.shards() for txn in shard.matching(wanted)]
        return found, [s for s in labels if s not in BY_LABEL]


class _SpareProducerIds:
    """Producer ids that can be had without waiting."""

    __slots__ = ("_ids", "_next", "_refilling")

    def __init__(self, next_producer_id: Callable[[], Awaitable[int]]) -> None:
        self._next = next_producer_id
        self._ids: deque[int] = deque()
        self._refilling: asyncio.Task[None] | None = None

    def take(self) -> int:
        """An id that nobody else has; ApiError(COORDINATOR_LOAD_IN_PROGRESS) when none is at hand."""
        if self._refilling is None and len(self._ids) <= 1:
            self._refilling = asyncio.get_running_loop().create_task(self._refill())
        if not self._ids:
            raise ApiError(Err.COORDINATOR_LOAD_IN_PROGRESS, "no producer id is at hand")
        return self._ids.popleft()

    async def fill(self) -> None:
        """Wait until there is an id at hand."""
        while not self._ids:
            self._ids.append(await self._next())

    async def _refill(self) -> None:
        try:
            while len(self._ids) < SPARE_IDS:
                self._ids.append(await self._next())
        except ApiError as error:
            log.warning("no producer ids to be had: %s", error)
        finally:
            self._refilling = None


def _as_told(err: Err, support: ClientSupport) -> Err:
    """An error of the coordinator as those who write data know it."""
    if err is Err.PRODUCER_FENCED:
        return Err.INVALID_PRODUCER_EPOCH
    if err is Err.TRANSACTION_ABORTABLE and support is ClientSupport.DEFAULT_ERROR:
        return Err.INVALID_TXN_STATE
    return err


def _compile(pattern: str) -> TopicRegex:
    try:
        return TopicRegex(pattern)
    except InvalidRegexError as error:
        raise ApiError(
            Err.INVALID_REGULAR_EXPRESSION, f"{pattern!r} is not a pattern: {error}"
        ) from error
