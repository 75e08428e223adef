"""What a partition knows of its producers: idempotence, open transactions, the last stable offset.

Per producer id: its epoch and its last five batches. A batch must follow the producer's last one in
sequence (wrapping after 2**31 - 1); one that repeats any of the five is a duplicate and gets the answer
of the first time; anything else is out of order. Clients have at most five requests in flight, so five
are enough (KIP-98).

An open transaction begins with a producer's first transactional batch and ends with a marker. The first
unstable offset is the start of the oldest transaction that is open, or whose marker lies at or above
the high watermark.

Checking and applying are apart: `check` before the write, `apply` after it, so that a failed write
changes nothing. Replaying the log after a restart is `apply` alone.

Snapshot file `<offset>.snapshot`, the state before that offset, big-endian:

    version int16 = 1, crc uint32 (CRC-32C of the rest), count int32, then per producer (46 bytes)
    producer_id int64, epoch int16, last_sequence int32, last_offset int64, offset_delta int32,
    timestamp int64, coordinator_epoch int32, current_txn_first_offset int64 (-1: no transaction)

It holds the last batch only, as Kafka's does: after a restart only that one is known as a duplicate.
The loop's thread owns the state.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from crc32c import crc32c

from odradek.errors import ApiError, Err
from odradek.records.batch import BatchHeader
from odradek.records.control import EndMarker
from odradek.types import NO_OFFSET, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP

BATCHES_KEPT: Final = 5
SEQUENCE_MASK: Final = 0x7FFFFFFF
_NO_COORDINATOR_EPOCH: Final = -1
#: From this transaction.version on, every end of a transaction raises the producer's epoch.
EPOCH_BUMP_FROM: Final = 2
_EPOCH_MAX: Final = 32_767

_SNAPSHOT_HEAD: Final = struct.Struct(">hIi")
_SNAPSHOT_ENTRY: Final = struct.Struct(">qhiqiqiq")
_SNAPSHOT_VERSION: Final = 1
_CRC_END: Final = 6
assert _SNAPSHOT_ENTRY.size == 46


class BatchMetadata(NamedTuple):
    """One of a producer's last batches."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """The sequence of the first record."""
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MASK

    @property
    def first_offset(self) -> int:
        """The offset of the first record."""
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """One producer as this partition knows it."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.batches: deque[BatchMetadata] = deque(maxlen=BATCHES_KEPT)
        self.coordinator_epoch = _NO_COORDINATOR_EPOCH
        self.last_timestamp = NO_TIMESTAMP
        self.current_txn_first_offset = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 when there is none."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def has_open_transaction(self, producer_epoch: int) -> bool:
        """Whether it has a transaction open here, in this epoch."""
        return self.current_txn_first_offset >= 0 and self.producer_epoch == producer_epoch

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The earlier batch that this one repeats."""
        if header.producer_epoch != self.producer_epoch:
            return None
        base_sequence, last_sequence = header.base_sequence, header.last_sequence
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == base_sequence:
                return batch
        return None


class CompletedTransaction(NamedTuple):
    """A transaction that a marker has ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerState:
    """All producers of one partition."""

    __slots__ = ("_ongoing", "_producers", "_unreplicated")

    def __init__(self) -> None:
        self._producers: dict[int, ProducerEntry] = {}
        # first offset → producer id, oldest first: offsets only grow, so insertion order is offset order
        self._ongoing: dict[int, int] = {}
        # (first offset, marker's offset) of ended transactions whose marker may not be replicated yet
        self._unreplicated: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._producers)

    def entries(self) -> list[ProducerEntry]:
        """All producers."""
        return list(self._producers.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        """One producer; None when nothing is known of it."""
        return self._producers.get(producer_id)

    # Before the write.

    def check(self, header: BatchHeader, *, check_sequence: bool) -> BatchMetadata | None:
        """May this data batch be appended? Gives the earlier batch when it is a duplicate."""
        entry = self._producers.get(header.producer_id)
        if entry is None:
            return None  # any sequence may begin: what came before may have been deleted (KIP-360)
        if check_sequence and entry.batches:
            duplicate = entry.find_duplicate(header)
            if duplicate is not None:
                return duplicate
        _check_epoch(entry, header.producer_epoch)
        if check_sequence:
            _check_sequence(entry, header)
        if entry.current_txn_first_offset >= 0 and not header.is_transactional:
            raise ApiError(
                Err.INVALID_TXN_STATE,
                f"producer {header.producer_id} has an open transaction in this partition: "
                "commit or abort it before writing without one",
            )
        return None

    def check_marker(self, header: BatchHeader, marker: EndMarker) -> None:
        """May this marker be appended?"""
        entry = self._producers.get(header.producer_id)
        if entry is None:
            return
        _check_epoch(entry, header.producer_epoch)
        if entry.coordinator_epoch > marker.coordinator_epoch:
            raise ApiError(
                Err.TRANSACTION_COORDINATOR_FENCED,
                f"a coordinator of epoch {entry.coordinator_epoch} has written here, "
                f"this one has epoch {marker.coordinator_epoch}",
            )

    def check_end_marker(self, producer_id: int, epoch: int, transaction_version: int) -> None:
        """May a coordinator end the producer's transaction with this epoch?

        With transaction.version 2 a marker has a higher epoch than the data that it decides about
        (KIP-890), so that a delayed one cannot end a later transaction. One with the epoch that is
        there is a repetition, unless a transaction of that epoch is open.
        """
        entry = self._producers.get(producer_id)
        if entry is None or transaction_version < EPOCH_BUMP_FROM or epoch > entry.producer_epoch:
            return
        if epoch == entry.producer_epoch and (
            entry.current_txn_first_offset < 0 or epoch == _EPOCH_MAX
        ):
            return
        raise ApiError(
            Err.INVALID_PRODUCER_EPOCH,
            f"producer {producer_id} has epoch {entry.producer_epoch} in this partition: "
            f"a marker of epoch {epoch} is of an earlier transaction",
        )

    # After the write.

    def apply(self, header: BatchHeader, base_offset: int) -> None:
        """A data batch with a producer id now lies at `base_offset`."""
        producer_id, epoch = header.producer_id, header.producer_epoch
        entry = self._producers.get(producer_id)
        if entry is None:
            entry = self._producers[producer_id] = ProducerEntry(producer_id)
        if epoch != entry.producer_epoch:
            entry.producer_epoch = epoch
            entry.batches.clear()
        delta = header.last_offset_delta
        entry.last_timestamp = timestamp = header.max_timestamp
        entry.batches.append(
            BatchMetadata(header.last_sequence, base_offset + delta, delta, timestamp)
        )
        if header.is_transactional and entry.current_txn_first_offset < 0:
            entry.current_txn_first_offset = base_offset
            self._ongoing[base_offset] = producer_id

    def apply_marker(
        self, header: BatchHeader, marker: EndMarker, offset: int
    ) -> CompletedTransaction | None:
        """A marker now lies at `offset`; gives the transaction that it ended, if one was open."""
        producer_id = header.producer_id
        entry = self._producers.get(producer_id)
        if entry is None:
            entry = self._producers[producer_id] = ProducerEntry(producer_id)
        if header.producer_epoch != entry.producer_epoch:
            entry.producer_epoch = header.producer_epoch
            entry.batches.clear()
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = header.max_timestamp
        first_offset = entry.current_txn_first_offset
        if first_offset < 0:
            return None
        entry.current_txn_first_offset = NO_OFFSET
        return CompletedTransaction(producer_id, first_offset, offset, not marker.commit)

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """The last stable offset once this transaction no longer counts."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """The transaction is over; it stays unstable until its marker is below the high watermark."""
        self._ongoing.pop(completed.first_offset, None)
        self._unreplicated.append((completed.first_offset, completed.last_offset))

    # Reading.

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """The start of the oldest transaction that is open or not known to be replicated."""
        unreplicated = self._unreplicated
        if unreplicated:
            if unreplicated[0][1] < high_watermark:  # markers come in order of their offsets
                self._unreplicated = unreplicated = [
                    pair for pair in unreplicated if pair[1] >= high_watermark
                ]
            if unreplicated:
                oldest = min(pair[0] for pair in unreplicated)
                for first_offset in self._ongoing:
                    return min(oldest, first_offset)
                return oldest
        for first_offset in self._ongoing:
            return first_offset
        return None

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that have been silent for so long; those in a transaction stay."""
        expired = [
            entry.producer_id
            for entry in self._producers.values()
            if entry.current_txn_first_offset < 0 and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return len(expired)

    # Snapshots.

    def encode(self) -> bytes:
        """The content of a snapshot file."""
        parts = [
            _SNAPSHOT_ENTRY.pack(
                entry.producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                entry.batches[-1].last_offset if entry.batches else NO_OFFSET,
                entry.batches[-1].offset_delta if entry.batches else 0,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
            )
            for entry in self._producers.values()
        ]
        return encode_snapshot(parts)

    @classmethod
    def decode(cls, content: bytes) -> ProducerState:
        """Read a snapshot file; ValueError when it is not one, or not whole."""
        if len(content) < _SNAPSHOT_HEAD.size:
            raise ValueError(f"a snapshot of {len(content)} bytes")
        version, crc, count = _SNAPSHOT_HEAD.unpack_from(content)
        if version != _SNAPSHOT_VERSION:
            raise ValueError(f"a snapshot of version {version}")
        if crc32c(memoryview(content)[_CRC_END:]) != crc:
            raise ValueError("a snapshot whose CRC does not match")
        if len(content) != _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size:
            raise ValueError(f"a snapshot of {count} producers in {len(content)} bytes")
        state = cls()
        rows = _SNAPSHOT_ENTRY.iter_unpack(memoryview(content)[_SNAPSHOT_HEAD.size :])
        for row in sorted(rows, key=lambda fields: int(fields[7])):
            state._load(*row)
        return state

    def _load(
        self,
        producer_id: int,
        epoch: int,
        last_sequence: int,
        last_offset: int,
        offset_delta: int,
        timestamp: int,
        coordinator_epoch: int,
        current_txn_first_offset: int,
    ) -> None:
        entry = self._producers[producer_id] = ProducerEntry(producer_id)
        entry.producer_epoch = epoch
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        if last_offset >= 0:
            entry.batches.append(BatchMetadata(last_sequence, last_offset, offset_delta, timestamp))
        if current_txn_first_offset >= 0:
            entry.current_txn_first_offset = current_txn_first_offset
            self._ongoing[current_txn_first_offset] = producer_id


def encode_snapshot(rows: Iterable[bytes]) -> bytes:
    """The content of a snapshot file with these rows; none: the state of a log without producers."""
    packed = list(rows)
    body = struct.pack(">i", len(packed)) + b"".join(packed)
    return struct.pack(">hI", _SNAPSHOT_VERSION, crc32c(body)) + body


def _check_epoch(entry: ProducerEntry, epoch: int) -> None:
    if epoch < entry.producer_epoch:
        raise ApiError(
            Err.INVALID_PRODUCER_EPOCH,
            f"producer {entry.producer_id} now has epoch {entry.producer_epoch}, not {epoch}: "
            "another instance took over, or the epoch was bumped",
        )


def _check_sequence(entry: ProducerEntry, header: BatchHeader) -> None:
    sequence = header.base_sequence
    if header.producer_epoch != entry.producer_epoch:
        if sequence != 0 and entry.producer_epoch != NO_PRODUCER_EPOCH:
            raise ApiError(
                Err.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"the first sequence of producer {entry.producer_id} in epoch "
                f"{header.producer_epoch} must be 0, not {sequence}",
            )
    elif sequence != (entry.last_sequence + 1) & SEQUENCE_MASK:
        raise ApiError(
            Err.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {entry.producer_id} sent sequence {sequence} after {entry.last_sequence}",
        )
