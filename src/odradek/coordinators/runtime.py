"""The runtime that carries a coordinator's shards over the partitions of an internal topic.

One shard per partition that this broker leads:

    LOADING ──(log replayed)──► ACTIVE ──(leadership lost, topic gone)──► unloaded
       └──(log unreadable)──► FAILED

- **Write**: handler → one batch → append as leader → replay → reply once the high watermark has passed
  the batch. With one replica that is one synchronous step and the reply is returned at once; otherwise
  a coroutine is, which waits.
- **Read**: the answer may rest on records that are not replicated yet, so it waits for them like a
  write's reply. With one replica there is nothing to wait for.
- **Load**: the pool reads and decodes the log piece by piece; the loop's thread replays in slices short
  enough not to be noticed. Until then requests get COORDINATOR_LOAD_IN_PROGRESS. An empty log needs no
  loading: the first request after the topic was created is served at once.
- A failed append changes nothing: `Outcome.then` and the caller get Kafka's error for it. An append
  that succeeded and cannot be replayed is a bug; the shard is FAILED, because its state is unknown.

Everything here runs on the loop's thread. After a crash the log is all there is; soft state (timers,
who waits) is set up again by `on_loaded`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any, Final, Generic, TypeVar

from odradek.coordinators.record_format import RecordFormat, encode_record
from odradek.coordinators.runtime_load import Loader
from odradek.coordinators.runtime_slot import ShardSlot, ShardState
from odradek.coordinators.runtime_timers import KeyedTimers, Operation
from odradek.coordinators.shard import CoordinatorRecord, Outcome, Shard, ShardTimers
from odradek.errors import ApiError, Err
from odradek.interfaces import Background, Clock, Timers
from odradek.metadata.image import MetadataImage
from odradek.records.builder import build_batch
from odradek.records.compression import Codec
from odradek.records.control import build_end_marker
from odradek.records.record import Record
from odradek.replication.replica_manager import ACKS_ALL, ReplicaManager
from odradek.storage.log_values import Origin

log = logging.getLogger(__name__)
S = TypeVar("S", bound=Shard)
T = TypeVar("T")

# Shards opened in one turn: each may have to make a log.
OPEN_PER_TURN: Final = 4
# A timer whose records could not be written comes again.
RETRY_MS: Final = 500.0
# Tombstones of one batch; they mean the same in several batches.
TOMBSTONES_PER_BATCH: Final = 2000

# What a client is told when the internal topic cannot be written.
_APPEND_ERRORS: Final = {
    Err.UNKNOWN_TOPIC_OR_PARTITION: Err.COORDINATOR_NOT_AVAILABLE,
    Err.NOT_ENOUGH_REPLICAS: Err.COORDINATOR_NOT_AVAILABLE,
    Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Err.COORDINATOR_NOT_AVAILABLE,
    Err.REQUEST_TIMED_OUT: Err.COORDINATOR_NOT_AVAILABLE,
    Err.NOT_LEADER_OR_FOLLOWER: Err.NOT_COORDINATOR,
    Err.KAFKA_STORAGE_ERROR: Err.NOT_COORDINATOR,
    Err.MESSAGE_TOO_LARGE: Err.UNKNOWN_SERVER_ERROR,
    Err.RECORD_LIST_TOO_LARGE: Err.UNKNOWN_SERVER_ERROR,
}


class CoordinatorRuntime(Generic[S]):
    """The shards of one coordinator (of groups, of transactions) on this broker."""

    def __init__(
        self,
        *,
        topic: str,
        node_id: int,
        new_shard: Callable[[int, ShardTimers], S],
        record_format: RecordFormat,
        replicas: ReplicaManager,
        clock: Clock,
        timers: Timers,
        background: Background,
        load_bytes: Callable[[], int],
        commit_timeout_ms: Callable[[], float],
        codec: Callable[[], int] = lambda: Codec.NONE,
    ) -> None:
        self.topic = topic
        self.clock = clock
        self._node_id = node_id
        self._new_shard = new_shard
        self._record_format = record_format
        self._replicas = replicas
        self._timers = timers
        self._background = background
        self._load_bytes = load_bytes
        self._commit_timeout_ms = commit_timeout_ms
        self._codec = codec
        self._image = MetadataImage()
        self._slots: dict[int, ShardSlot[S]] = {}
        # Led partitions whose shard is still to be opened, as an ordered set.
        self._to_open: dict[int, None] = {}

    # -- asking --------------------------------------------------------------------------------

    @property
    def partition_count(self) -> int:
        """How many shards there are in the cluster; 0 while the topic does not exist."""
        topic = self._image.topics.get(self.topic)
        return len(topic.partitions) if topic is not None else 0

    def state(self, index: int) -> ShardState:
        """Where the shard is in its life."""
        slot = self._slots.get(index)
        return slot.state if slot is not None else ShardState.UNLOADED

    def is_loading(self) -> bool:
        """Whether a shard of this broker is not ready yet; those that wait to be opened are, now."""
        while self._to_open:
            self._open(next(iter(self._to_open)))
        return any(slot.state is ShardState.LOADING for slot in self._slots.values())

    def shards(self) -> Iterator[tuple[int, S]]:
        """The active shards, by partition."""
        for index, slot in sorted(self._slots.items()):
            if slot.state is ShardState.ACTIVE:
                yield index, slot.shard

    def leader_epoch(self, index: int) -> int:
        """The coordinator epoch: the leader epoch of the shard's partition."""
        return self._active(index).partition.leader_epoch

    def write(self, index: int, handler: Callable[[S], Outcome[T]]) -> T | Coroutine[Any, Any, T]:
        """Run a handler; its reply, or a coroutine of it when the records must be replicated first.

        ApiError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, what the handler raises, or why the
        records could not be written.
        """
        slot = self._active(index)
        outcome = handler(slot.shard)
        if outcome.records:
            self._commit(slot, outcome)
        return self._release(slot, outcome)

    def read(self, index: int, query: Callable[[S], T]) -> T | Coroutine[Any, Any, T]:
        """Ask a shard without changing it; what the answer rests on is replicated before it is given."""
        slot = self._active(index)
        answer = query(slot.shard)
        if slot.is_committed:
            return answer
        return self._wait(slot, Outcome((), answer))

    def end_transaction(
        self,
        index: int,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        committed: bool,
    ) -> Coroutine[Any, Any, None] | None:
        """Write the marker that ends a transaction in the shard's partition, and replay it."""
        slot = self._active(index)
        batch = build_end_marker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            commit=committed,
            coordinator_epoch=coordinator_epoch,
            timestamp=self.clock.now_ms(),
        )
        self._append(slot, batch)
        try:
            slot.shard.replay_end_marker(producer_id, producer_epoch, committed)
        except Exception as error:
            raise self._broken(slot, error) from error
        return self._release(slot, Outcome((), None))

    def _active(self, index: int) -> ShardSlot[S]:
        slot = self._slots.get(index)
        if slot is None and index in self._to_open:
            slot = self._open(index)
        if slot is None or slot.state is ShardState.FAILED:
            raise ApiError(Err.NOT_COORDINATOR)
        if slot.state is ShardState.LOADING:
            raise ApiError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        return slot

    # -- writing -------------------------------------------------------------------------------

    def _commit(self, slot: ShardSlot[S], outcome: Outcome[Any]) -> None:
        """Append and replay; ApiError, which `then` is told too, when that is not possible."""
        try:
            for records in _batches(outcome):
                first_offset = self._write_batch(slot, outcome, records)
                self._replay(slot, outcome, records, first_offset)
        except ApiError as error:
            outcome.then(error.err)
            raise

    def _write_batch(
        self, slot: ShardSlot[S], outcome: Outcome[Any], records: tuple[CoordinatorRecord, ...]
    ) -> int:
        now_ms = self.clock.now_ms()
        transactional = outcome.producer_id >= 0
        batch = build_batch(
            [Record(i, now_ms, *encode_record(record)) for i, record in enumerate(records)],
            codec=self._codec(),
            producer_id=outcome.producer_id,
            producer_epoch=outcome.producer_epoch,
            transactional=transactional,
        )
        max_bytes = slot.partition.log.config.max_message_bytes
        if len(batch) > max_bytes:
            log.error(
                "%s: %d records of %d bytes do not fit into a batch of %d bytes; "
                "raise max.message.bytes of the topic",
                slot.partition.topic_partition,
                len(records),
                len(batch),
                max_bytes,
            )
            raise ApiError(
                Err.UNKNOWN_SERVER_ERROR, f"the state of the group or id exceeds {max_bytes} bytes"
            )
        return self._append(slot, batch)

    def _append(self, slot: ShardSlot[S], batch: bytearray) -> int:
        try:
            result = self._replicas.append(
                slot.partition,
                memoryview(batch),
                ACKS_ALL,
                self.clock.now_ms(),
                origin=Origin.COORDINATOR,
            )
        except ApiError as error:
            raise ApiError(_APPEND_ERRORS.get(error.err, error.err), error.message) from error
        slot.end_offset = result.last_offset + 1
        return result.first_offset

    def _replay(
        self,
        slot: ShardSlot[S],
        outcome: Outcome[Any],
        records: tuple[CoordinatorRecord, ...],
        first_offset: int,
    ) -> None:
        replay, producer_id, epoch = slot.shard.replay, outcome.producer_id, outcome.producer_epoch
        try:
            for offset, record in enumerate(records, first_offset):
                replay(offset, producer_id, epoch, record)
        except Exception as error:
            raise self._broken(slot, error) from error

    def _broken(self, slot: ShardSlot[S], error: Exception) -> ApiError:
        """Records are in the log that the shard cannot hold: nothing it says can be trusted."""
        log.error("%s cannot be replayed", slot.partition.topic_partition, exc_info=error)
        self._end(slot, ShardState.FAILED)
        return ApiError(Err.UNKNOWN_SERVER_ERROR, "the coordinator's state cannot be replayed")

    def _release(self, slot: ShardSlot[S], outcome: Outcome[T]) -> T | Coroutine[Any, Any, T]:
        """The reply, now or when everything it rests on is committed."""
        if slot.is_committed:
            outcome.then(Err.NONE)
            return outcome.reply
        return self._wait(slot, outcome)

    def _wait(self, slot: ShardSlot[S], outcome: Outcome[T]) -> Coroutine[Any, Any, T]:
        # Waits from now on, whether or not somebody awaits the coroutine: `then` must be called.
        future: asyncio.Future[Err] = asyncio.get_running_loop().create_future()

        def done(err: Err) -> None:
            outcome.then(err)
            if not future.done():
                future.set_result(err)

        slot.wait(done, self._timers, self._commit_timeout_ms())

        async def reply() -> T:
            err = await future
            if err is not Err.NONE:
                raise ApiError(err)
            return outcome.reply

        return reply()

    def _run(self, slot: ShardSlot[S], what: str, operation: Operation) -> None:
        """Execute what no request asked for: timers, what loading and metadata lead to."""
        if slot.state is not ShardState.ACTIVE:
            return
        try:
            outcome = operation()
            if outcome.records:
                self._commit(slot, outcome)
        except ApiError as error:
            log.warning("%s: %s failed: %s", slot.partition.topic_partition, what, error)
            if not slot.timers.is_scheduled(what):
                slot.timers.schedule(what, RETRY_MS, operation)
        except Exception:
            log.exception("%s: %s failed", slot.partition.topic_partition, what)
        else:
            if slot.is_committed:
                outcome.then(Err.NONE)
            else:
                slot.wait(outcome.then, self._timers, self._commit_timeout_ms())

    # -- following the metadata ----------------------------------------------------------------

    def on_metadata(self, image: MetadataImage) -> None:
        """Follow leaderships, then tell the shards; call it after the replica manager."""
        self._image = image
        topic = image.topics.get(self.topic)
        partitions = topic.partitions if topic is not None else ()
        for index, slot in tuple(self._slots.items()):
            led = index < len(partitions) and partitions[index].leader == self._node_id
            if topic is None or slot.topic_id != topic.id or not led:
                del self._slots[index]
                self._end(slot, ShardState.UNLOADED)
        was_opening = bool(self._to_open)
        self._to_open = {
            index: None
            for index, partition in enumerate(partitions)
            if partition.leader == self._node_id and index not in self._slots
        }
        if self._to_open and not was_opening:
            self._timers.call_later(0, self._open_some)
        for slot in tuple(self._slots.values()):
            self._run(slot, "metadata", partial(self._tell_metadata, slot))

    def _tell_metadata(self, slot: ShardSlot[S]) -> Outcome[None]:
        return slot.shard.on_metadata(self._image)

    def close(self) -> None:
        """Let go of everything; whoever waits is told NOT_COORDINATOR."""
        self._to_open.clear()
        for slot in self._slots.values():
            self._end(slot, ShardState.UNLOADED)
        self._slots.clear()

    def _end(self, slot: ShardSlot[S], state: ShardState) -> None:
        was_active = slot.state is ShardState.ACTIVE
        slot.state = state
        slot.timers.close()
        slot.fail_waiting()
        if was_active:
            slot.shard.on_unloaded()

    # -- loading -------------------------------------------------------------------------------

    def _open_some(self) -> None:
        for index in tuple(self._to_open)[:OPEN_PER_TURN]:
            self._open(index)
        if self._to_open:
            self._timers.call_later(0, self._open_some)

    def _open(self, index: int) -> ShardSlot[S] | None:
        """Begin the life of a shard; at once when its log is empty."""
        del self._to_open[index]
        try:
            partition = self._replicas.find(self.topic, index)
        except ApiError as error:
            log.error("%s-%d has no shard: %s", self.topic, index, error)
            return None
        slot = self._slots[index] = ShardSlot(partition)
        slot.timers = KeyedTimers(self._timers, lambda key, op: self._run(slot, key, op))
        slot.shard = self._new_shard(index, slot.timers)
        loader = Loader(
            slot,
            self._record_format,
            self._load_bytes(),
            self.clock,
            self._timers,
            self._background,
            loaded=lambda: self._loaded(slot),
            failed=lambda error: self._load_failed(slot, error),
        )
        loader.start()
        return slot

    def _loaded(self, slot: ShardSlot[S]) -> None:
        slot.end_offset = slot.partition.log.log_end_offset
        slot.state = ShardState.ACTIVE
        self._run(slot, "loaded", lambda: slot.shard.on_loaded(self._image))

    def _load_failed(self, slot: ShardSlot[S], error: BaseException) -> None:
        log.error("%s cannot be loaded", slot.partition.topic_partition, exc_info=error)
        self._end(slot, ShardState.FAILED)


def _batches(outcome: Outcome[Any]) -> Iterator[tuple[CoordinatorRecord, ...]]:
    """One batch: all or nothing. Only tombstones, which may come one by one, are spread over several."""
    records = outcome.records
    if len(records) <= TOMBSTONES_PER_BATCH or any(r.value is not None for r in records):
        yield records
        return
    for start in range(0, len(records), TOMBSTONES_PER_BATCH):
        yield records[start : start + TOMBSTONES_PER_BATCH]
