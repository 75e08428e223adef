"""Cleaning one log, in the pool: learn the keys of its dirty part, then rewrite it group by group.

A job works on a picture of the log taken on the loop's thread: names and sizes of segments that
no longer change. It reads them by name and writes new segments whose files end in `.cleaned`;
nothing the log uses is touched. The loop's thread puts each group in place before the next one is
begun, so a crash, or a log that is cut meanwhile, costs one group of work.

The last batch of every group stays, emptied if need be, so that the new segment ends where the
old ones ended: a start after a crash finds from that which old segments the new one replaces.

Python runs one thread at a time: a job that never stops would take nearly all of the loop's turns
(measured: 250,000 small turns a second become 570). So a job rests for a millisecond after every
few hundred records; the loop then keeps three quarters of its turns, and some 20 MB a second are
cleaned.

One thread at a time calls a job. OSError means the disk, FileNotFoundError that the log has moved
on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from odradek.errors import ApiError, Err
from odradek.interfaces import Disk
from odradek.records.batch import BatchHeader, Buffer, read_header
from odradek.storage import file_names
from odradek.storage.compaction_filter import (
    BatchFilter,
    LastRecord,
    OffsetMap,
    TransactionTracker,
    emptied,
    map_keys,
)
from odradek.storage.compaction_plan import CompactionRules, group_segments
from odradek.storage.scan import ScanEnd, walk_batches
from odradek.storage.segment import Segment
from odradek.storage.txn_index import AbortedTransaction

# About a quarter of a millisecond of work; then the loop may have the interpreter for itself.
_RECORDS_PER_REST: Final = 250
# Written in pieces of this size: large enough for few system calls, small enough to hold.
_WRITE_BYTES: Final = 1 << 20


class SegmentSource(NamedTuple):
    """A segment to be read."""

    base_offset: int
    size_bytes: int
    log_path: str


class LogPicture(NamedTuple):
    """All that a job knows of a log."""

    disk: Disk
    dir_path: str
    segments: tuple[SegmentSource, ...]  # from the first one to the first uncleanable offset
    first_dirty_offset: int
    first_uncleanable_offset: int
    aborted: tuple[AbortedTransaction, ...]
    last_records: Mapping[int, LastRecord]
    rules: CompactionRules
    now_ms: int
    map_memory_bytes: int


class CleanedGroup(NamedTuple):
    """What came of a group: the segments [start, stop) of the picture may be replaced."""

    start: int
    stop: int
    segment: Segment | None  # None: nothing would change
    read_bytes: int
    written_bytes: int


class CleaningJob:
    """One cleaning of one log: `map_keys`, then `clean_next` until it gives None."""

    def __init__(self, picture: LogPicture, rest: Callable[[], object] = lambda: None) -> None:
        self._picture = picture
        self._rest = rest
        self._records_since_rest = 0
        self._offsets = OffsetMap(picture.map_memory_bytes)
        self._groups: list[range] = []
        self._filter = BatchFilter(
            self._offsets,
            TransactionTracker(picture.aborted),
            picture.last_records,
            now_ms=picture.now_ms,
            delete_retention_ms=picture.rules.delete_retention_ms,
        )
        self.unreadable = self._filter.unreadable

    @property
    def end_offset(self) -> int:
        """Below this the log is clean once all groups are in place."""
        return self._offsets.latest_offset + 1

    def map_keys(self) -> int:
        """Learn the last offset of every key in the dirty part, as far as memory reaches."""
        picture, offsets = self._picture, self._offsets
        transactions = TransactionTracker(picture.aborted, picture.first_dirty_offset)
        read_bytes, is_full = 0, False

        def visit(_: int, header: BatchHeader, batch: memoryview) -> None:
            nonlocal is_full
            self._maybe_rest(header.record_count)
            if is_full or header.last_offset < picture.first_dirty_offset:
                return
            if header.is_control:
                with contextlib.suppress(ApiError):  # told when the batch is filtered
                    transactions.on_control(header, batch)
            elif not transactions.on_batch(header):
                if not offsets.has_room_for(header.record_count):
                    is_full = True
                    return
                with contextlib.suppress(ApiError):
                    map_keys(offsets, header, batch, picture.first_dirty_offset)
            offsets.latest_offset = header.last_offset

        for number, source in enumerate(picture.segments):
            end_offset = self._end_of(number)
            if end_offset <= picture.first_dirty_offset:
                continue
            read_bytes += self._walk(source, visit)
            if is_full:
                break
            # Offsets may be missing at the end of a segment.
            offsets.latest_offset = end_offset - 1
        dirty = [source for source in picture.segments if source.base_offset < self.end_offset]
        end_offset = self._end_of(len(dirty) - 1) if dirty else picture.first_dirty_offset
        self._groups = group_segments(dirty, end_offset, picture.rules)
        self._groups.reverse()
        return read_bytes

    def clean_next(self) -> CleanedGroup | None:
        """Write the next group's new segment, synced; None when all groups are done."""
        if not self._groups:
            return None
        group = self._groups.pop()
        writer = _GroupWriter(self._picture, group.start)
        try:
            read_bytes = self._filter_into(writer, group)
            writer.finish()
        except BaseException:
            writer.discard()
            raise
        if len(group) == 1 and not writer.is_changed:
            writer.discard()
            return CleanedGroup(group.start, group.stop, None, read_bytes, writer.written_bytes)
        return CleanedGroup(
            group.start, group.stop, writer.segment, read_bytes, writer.written_bytes
        )

    def _filter_into(self, writer: _GroupWriter, group: range) -> int:
        transactions, apply = self._filter.transactions, self._filter.apply
        read_bytes, last_lost = 0, None

        def visit(_: int, header: BatchHeader, batch: memoryview) -> None:
            nonlocal last_lost
            self._maybe_rest(header.record_count)
            kept = apply(header, batch)
            last_lost = header if kept is None else None
            writer.write(header, batch, kept)
            for entry in transactions.retained:
                writer.segment.append_aborted(entry)
            transactions.retained.clear()

        for number in group:
            read_bytes += self._walk(self._picture.segments[number], visit)
        if last_lost is not None:
            writer.write(last_lost, b"", emptied(last_lost))
        return read_bytes

    def _maybe_rest(self, record_count: int) -> None:
        self._records_since_rest += record_count + 1
        if self._records_since_rest >= _RECORDS_PER_REST:
            self._records_since_rest = 0
            self._rest()

    def _walk(self, source: SegmentSource, visit: _Visit) -> int:
        file = self._picture.disk.open(source.log_path)
        end: ScanEnd = walk_batches(file, 0, source.size_bytes, source.base_offset, visit)
        if end.problem is not None:
            raise ApiError(
                Err.CORRUPT_MESSAGE, f"{source.log_path} has {end.problem} at {end.position}"
            )
        return source.size_bytes

    def _end_of(self, number: int) -> int:
        """The first offset after segment `number` of the picture."""
        segments = self._picture.segments
        if number + 1 < len(segments):
            return segments[number + 1].base_offset
        return self._picture.first_uncleanable_offset


class _Visit(Protocol):
    def __call__(self, position: int, header: BatchHeader, batch: memoryview, /) -> None: ...


class _GroupWriter:
    """Writes one new segment."""

    def __init__(self, picture: LogPicture, start: int) -> None:
        disk, dir_path = picture.disk, picture.dir_path
        base_offset = picture.segments[start].base_offset
        leftover = file_names.segment_name(base_offset, file_names.TXN_INDEX) + file_names.CLEANED
        with contextlib.suppress(FileNotFoundError):
            disk.remove(f"{dir_path}/{leftover}")
        self._disk = disk
        self._dir_path = dir_path
        self._pending: list[Buffer] = []
        self._pending_bytes = 0
        self.segment = Segment.create(
            disk,
            dir_path,
            base_offset,
            index_interval_bytes=picture.rules.index_interval_bytes,
            now_ms=picture.now_ms,
            suffix=file_names.CLEANED,
        )
        self.is_changed = False
        self.written_bytes = 0

    def write(self, header: BatchHeader, batch: Buffer, kept: Buffer | None) -> None:
        """Write what the filter kept of a batch."""
        if kept is not batch:
            self.is_changed = True
            if kept is None:
                return
        self._pending.append(kept)
        self._pending_bytes += len(kept)
        if self._pending_bytes >= _WRITE_BYTES:
            self._write_pending()

    def _write_pending(self) -> None:
        if not self._pending:
            return
        segment = self.segment
        position = segment.write(b"".join(self._pending))
        for batch in self._pending:
            header = read_header(batch)
            segment.note_batch(
                header.base_offset,
                header.last_offset,
                position,
                header.size_bytes,
                header.max_timestamp,
            )
            position += header.size_bytes
        self.written_bytes += self._pending_bytes
        self._pending.clear()
        self._pending_bytes = 0

    def finish(self) -> None:
        """Write and sync everything: from now on the files may take the place of the old ones."""
        self._write_pending()
        self.segment.finish_time_index()
        for file in self.segment.files_to_sync():
            file.fsync()
        self._disk.fsync_dir(self._dir_path)
        self.segment.needs_dir_sync = False
        self.segment.release()

    def discard(self) -> None:
        """Remove the files."""
        for kind in file_names.SEGMENT_SUFFIXES:
            with contextlib.suppress(OSError):
                self._disk.remove(self.segment.path(kind))
