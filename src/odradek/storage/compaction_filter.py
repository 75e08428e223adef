"""What compaction does to one batch: kept as it is, rebuilt without some records, emptied, or gone.

A record goes when a later one with its key is known (`OffsetMap`), when its transaction was
aborted, or when it is a tombstone whose time is over. KIP-534: the first cleaning that meets a
tombstone, or a marker of a transaction without records, writes the time from which it may go into
the batch (attribute bit 6, and the base timestamp's field); a later cleaning removes it.

A batch that loses records keeps its offsets, sequences and epochs: gaps are legal. The last batch
of a live producer stays as an empty one, or a restart would forget its sequence and epoch.

Records without a key cannot be superseded and stay; so does a batch whose records cannot be read.

These objects belong to the one pool thread that cleans a log.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from odradek.errors import ApiError
from odradek.records.batch import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    Buffer,
)
from odradek.records.builder import assemble
from odradek.records.compression import compress
from odradek.records.control import parse_end_marker
from odradek.records.record import RecordSpan, payload_of, scan_records
from odradek.records.varint import write_varint
from odradek.storage.txn_index import AbortedTransaction
from odradek.types import NO_OFFSET, NO_TIMESTAMP

# Long enough that keys which are UUIDs in text are kept as they are.
_DIGEST_BYTES: Final = 40
# What an entry of the map costs in CPython: a bytes object, an int, a slot of a dict that is two
# thirds full at worst after it has grown.
ENTRY_BYTES: Final = 200


class LastRecord(NamedTuple):
    """The last thing a live producer wrote: a batch, or only a marker."""

    last_data_offset: int | None
    producer_epoch: int


class OffsetMap:
    """The last offset of each key in the dirty part, up to `latest_offset`.

    Keys of 40 bytes and more are kept as a digest of 40, shorter ones as they are: neither can be
    taken for the other.
    """

    __slots__ = ("_entries_max", "_offsets", "latest_offset")

    def __init__(self, memory_bytes: int) -> None:
        self._offsets: dict[bytes, int] = {}
        self._entries_max = max(1, memory_bytes // ENTRY_BYTES)
        self.latest_offset = NO_OFFSET

    def __len__(self) -> int:
        return len(self._offsets)

    def has_room_for(self, count: int) -> bool:
        """Whether a batch of so many records fits; the first one always does, or nothing would."""
        return not self._offsets or len(self._offsets) + count <= self._entries_max

    def put(self, key: bytes, offset: int) -> None:
        """`offset` holds the newest record with this key so far."""
        if len(key) >= _DIGEST_BYTES:
            key = blake2b(key, digest_size=_DIGEST_BYTES).digest()
        self._offsets[key] = offset

    def get(self, key: bytes) -> int:
        """The offset of the newest record with this key; -1 when none is known."""
        if len(key) >= _DIGEST_BYTES:
            key = blake2b(key, digest_size=_DIGEST_BYTES).digest()
        return self._offsets.get(key, NO_OFFSET)


class TransactionTracker:
    """Which batches belong to aborted transactions, and which markers nobody needs any more.

    Batches must come in the order of the log. A marker is needed as long as records of its
    transaction are there; of an aborted one, also in the cleaning that removes them.
    """

    __slots__ = ("_aborted", "_committed", "_open_aborted", "_pending", "retained")

    def __init__(self, aborted: Iterable[AbortedTransaction], start_offset: int = 0) -> None:
        # Those that ended before the start would be taken for a later one of the same producer.
        self._pending = [
            (entry.first_offset, entry) for entry in aborted if entry.last_offset >= start_offset
        ]
        heapq.heapify(self._pending)
        self._open_aborted: dict[int, AbortedTransaction] = {}
        self._aborted: set[int] = set()  # producers of `_open_aborted` whose records were met
        self._committed: set[int] = set()
        self.retained: list[AbortedTransaction] = []  # whose markers stay, since the last drain

    def on_batch(self, header: BatchHeader) -> bool:
        """Whether this data batch was aborted."""
        if not header.is_transactional:
            return False
        self._open_up_to(header.last_offset)
        if header.producer_id in self._open_aborted:
            self._aborted.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def on_control(self, header: BatchHeader, batch: Buffer) -> bool:
        """Whether this marker ends a transaction of which no record is left."""
        self._open_up_to(header.last_offset)
        if header.record_count == 0:
            return True
        marker = parse_end_marker(batch)
        producer_id = header.producer_id
        if marker is None:
            return False
        if marker.commit:
            was_met = producer_id in self._committed
            self._committed.discard(producer_id)
            return not was_met
        entry = self._open_aborted.pop(producer_id, None)
        was_met = producer_id in self._aborted
        self._aborted.discard(producer_id)
        if entry is not None and was_met:
            self.retained.append(entry)
            return False
        return True

    def _open_up_to(self, offset: int) -> None:
        pending = self._pending
        while pending and pending[0][0] <= offset:
            entry = heapq.heappop(pending)[1]
            self._open_aborted.setdefault(entry.producer_id, entry)


def map_keys(offsets: OffsetMap, header: BatchHeader, batch: Buffer, start_offset: int) -> None:
    """Note the keys of a data batch from `start_offset` on; ApiError when it cannot be read."""
    payload = payload_of(batch, header)
    base_offset, put = header.base_offset, offsets.put
    for span in scan_records(payload, header.record_count, header.last_offset_delta):
        key, offset = span.key, base_offset + span.offset_delta
        if key is not None and offset >= start_offset:
            put(key, offset)


class BatchFilter:
    """Decides about each batch of a log, in order."""

    __slots__ = (
        "_delete_horizon_ms",
        "_last_records",
        "_now_ms",
        "_offsets",
        "transactions",
        "unreadable",
    )

    def __init__(
        self,
        offsets: OffsetMap,
        transactions: TransactionTracker,
        last_records: Mapping[int, LastRecord],
        *,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._offsets = offsets
        self.transactions = transactions
        self._last_records = last_records
        self._now_ms = now_ms
        self._delete_horizon_ms = now_ms + delete_retention_ms
        self.unreadable: list[str] = []  # batches that were kept because they lie

    def apply(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        """What to write in place of `batch`; None when nothing."""
        try:
            return self._apply(header, batch)
        except ApiError as error:
            self.unreadable.append(f"batch at offset {header.base_offset}: {error.message}")
            return batch

    def _apply(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        if header.is_control:
            is_needless = self.transactions.on_control(header, batch)
            horizon_ms = delete_horizon_of(header)
            discard = is_needless and horizon_ms is not None and horizon_ms <= self._now_ms
        else:
            is_needless = False
            discard = self.transactions.on_batch(header)
        if discard or header.record_count == 0:
            return emptied(header) if self._is_last_of_producer(header) else None
        if header.is_control:
            if is_needless and not header.attributes & DELETE_HORIZON:
                return self._rebuild(header, batch, keep_all=True)
            return batch
        if header.base_offset > self._offsets.latest_offset:
            return batch
        return self._rebuild(header, batch, keep_all=False)

    def _rebuild(self, header: BatchHeader, batch: Buffer, *, keep_all: bool) -> Buffer | None:
        payload = payload_of(batch, header)
        spans = list(scan_records(payload, header.record_count, header.last_offset_delta))
        kept = spans if keep_all else self._kept(header, spans)
        if not kept:
            return emptied(header) if self._is_last_of_producer(header) else None
        set_horizon = not header.attributes & DELETE_HORIZON and (
            keep_all or not all(span.has_value for span in kept)
        )
        if len(kept) == len(spans) and not set_horizon:
            return batch
        return rebuilt(header, payload, kept, self._delete_horizon_ms if set_horizon else None)

    def _kept(self, header: BatchHeader, spans: list[RecordSpan]) -> list[RecordSpan]:
        horizon_ms = delete_horizon_of(header)
        keep_tombstones = horizon_ms is None or self._now_ms < horizon_ms
        get, latest = self._offsets.get, self._offsets.latest_offset
        base_offset, kept = header.base_offset, []
        for span in spans:
            offset = base_offset + span.offset_delta
            if offset <= latest and span.key is not None:
                if offset < get(span.key):
                    continue
                if not (span.has_value or keep_tombstones):
                    continue
            kept.append(span)
        return kept

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        if header.producer_id < 0:
            return False
        last = self._last_records.get(header.producer_id)
        if last is None:
            return False
        if last.last_data_offset is not None:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.producer_epoch


def delete_horizon_of(header: BatchHeader) -> int | None:
    """When the tombstones of a batch may go; None when no cleaning has met them yet."""
    return header.base_timestamp if header.attributes & DELETE_HORIZON else None


def emptied(header: BatchHeader) -> bytearray:
    """The batch without its records: offsets, sequences and epochs stay."""
    return assemble(
        b"",
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & (LOG_APPEND_TIME | TRANSACTIONAL | CONTROL),
        last_offset_delta=header.last_offset_delta,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=0,
    )


def rebuilt(
    header: BatchHeader, payload: bytes, kept: list[RecordSpan], delete_horizon_ms: int | None
) -> bytearray:
    """The batch with the records `kept` only, and a delete horizon when one is given.

    Without a new horizon the base timestamp stays, so that records are copied as they are.
    """
    attributes, base_timestamp = header.attributes, header.base_timestamp
    max_timestamp = header.max_timestamp
    if not attributes & LOG_APPEND_TIME:
        max_timestamp = base_timestamp + max(span.timestamp_delta for span in kept)
    if delete_horizon_ms is None:
        content: Buffer = b"".join([payload[span.start : span.end] for span in kept])
    else:
        content = _rebased(payload, kept, base_timestamp - delete_horizon_ms)
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon_ms
    codec = attributes & CODEC_MASK
    return assemble(
        compress(codec, content) if codec else content,
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        attributes=attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=len(kept),
    )


def _rebased(payload: bytes, kept: list[RecordSpan], shift_ms: int) -> bytearray:
    """The records with `shift_ms` added to each timestamp delta."""
    output, body = bytearray(), bytearray()
    for span in kept:
        body.append(0)  # attributes
        write_varint(body, span.timestamp_delta + shift_ms)
        write_varint(body, span.offset_delta)
        body += payload[span.key_start : span.end]
        write_varint(output, len(body))
        output += body
        body.clear()
    return output
