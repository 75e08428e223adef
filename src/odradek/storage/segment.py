"""One segment: a `.log` file, its offset and time index, and its index of aborted transactions.

    00000000000000368769.log        batches, one after the other, as they go over the wire
    00000000000000368769.index      every index.interval.bytes: which batch begins where
    00000000000000368769.timeindex  at the same places: the largest timestamp so far
    00000000000000368769.txnindex   only where a transaction was aborted

Nothing is open until it is used, so that thousands of idle segments cost a few hundred bytes each. The
active segment remembers where its last batches begin (`_recent_*`): readers at the tail, which are
nearly all, are served without touching an index.

The loop's thread owns a segment; a segment that is being built for compaction belongs to the thread
that builds it until it is swapped in. `snapshot()` is what other threads may search. A batch is in the
log only when it is there as a whole: a write that failed is cut off again by the owner.
"""

from __future__ import annotations

import contextlib
import logging
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from odradek.errors import ApiError, Err
from odradek.interfaces import Buffer, Disk, File
from odradek.records.batch import HEADER_BYTES, BatchHeader, read_header
from odradek.storage import file_names, txn_index
from odradek.storage.indexes import (
    OFFSET_ENTRY,
    RELATIVE_OFFSET_MAX,
    TIME_ENTRY,
    OffsetIndex,
    TimeIndex,
)
from odradek.storage.scan import walk_headers
from odradek.storage.segment_view import BatchSpan, SegmentView, locate
from odradek.storage.txn_index import AbortedTransaction
from odradek.types import NO_OFFSET, NO_TIMESTAMP

logger = logging.getLogger(__name__)

# How many batches at the tail are found without an index. Readers that keep up are a few batches
# behind; 2 KB per active segment buys minutes at a hundred batches a second or two.
RECENT_BATCHES: Final = 128
_UNKNOWN: Final = -2  # a timestamp that has not been read yet
_INDEX_BYTES_MAX: Final = 10 * 1024 * 1024  # segment.index.bytes until told otherwise


class Segment:
    """A part of a partition's log."""

    __slots__ = (
        "_bytes_since_entry",
        "_disk",
        "_first_timestamp",
        "_has_aborted",
        "_index_bytes_max",
        "_index_interval_bytes",
        "_log",
        "_max_timestamp",
        "_max_timestamp_offset",
        "_offset_index",
        "_recent_offsets",
        "_recent_positions",
        "_suffix",
        "_time_index",
        "base_offset",
        "created_ms",
        "dir_path",
        "is_index_full",
        "needs_dir_sync",
        "size_bytes",
    )

    def __init__(
        self,
        disk: Disk,
        dir_path: str,
        base_offset: int,
        *,
        size_bytes: int = 0,
        index_interval_bytes: int = 4096,
        has_aborted: bool = False,
        created_ms: int = 0,
        suffix: str = "",
    ) -> None:
        self._disk = disk
        self.dir_path = dir_path
        self._suffix = suffix
        self._index_interval_bytes = index_interval_bytes
        self._index_bytes_max = _INDEX_BYTES_MAX
        self._has_aborted = has_aborted
        self._log: File | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._max_timestamp = _UNKNOWN if size_bytes else NO_TIMESTAMP
        self._max_timestamp_offset = NO_OFFSET
        self._first_timestamp = _UNKNOWN
        self._bytes_since_entry = 0
        self._recent_offsets: array[int] | None = None
        self._recent_positions: array[int] | None = None
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.created_ms = created_ms  # 0: in an earlier run
        self.needs_dir_sync = False
        self.is_index_full = False  # no room for another entry: time to roll

    @classmethod
    def create(
        cls,
        disk: Disk,
        dir_path: str,
        base_offset: int,
        *,
        index_interval_bytes: int,
        now_ms: int,
        suffix: str = "",
    ) -> Segment:
        """A new, empty segment with its files; what an earlier try left under these names goes."""
        segment = cls(
            disk,
            dir_path,
            base_offset,
            index_interval_bytes=index_interval_bytes,
            created_ms=now_ms,
            suffix=suffix,
        )
        segment._log = disk.open(segment.path(file_names.LOG), create=True)
        if segment._log.size():
            segment._log.truncate(0)
        segment._create_indexes()
        segment.needs_dir_sync = True
        return segment

    def configure(self, index_interval_bytes: int, index_bytes_max: int) -> None:
        """How densely to index from now on, and how large an index may be."""
        self._index_interval_bytes = index_interval_bytes
        self._index_bytes_max = index_bytes_max

    def __repr__(self) -> str:
        return f"Segment({self.path(file_names.LOG)}, {self.size_bytes} bytes)"

    def path(self, suffix: str) -> str:
        """Where the file of this kind is."""
        return f"{self.dir_path}/{self.base_offset:020d}{suffix}{self._suffix}"

    # Files, opened on first use.

    @property
    def log(self) -> File:
        """The open log file."""
        file = self._log
        if file is None:
            file = self._log = self._disk.open(self.path(file_names.LOG))
        return file

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index; rebuilt first when its file is missing or cannot be right."""
        index = self._offset_index
        if index is None:
            self._open_indexes()
            index = self._offset_index
            assert index is not None
        return index

    @property
    def time_index(self) -> TimeIndex:
        """The time index; rebuilt first when its file is missing or cannot be right."""
        index = self._time_index
        if index is None:
            self._open_indexes()
            index = self._time_index
            assert index is not None
        return index

    def _create_indexes(self) -> None:
        self._offset_index = OffsetIndex(
            self._disk, self.path(file_names.OFFSET_INDEX), self.base_offset
        )
        self._time_index = TimeIndex(self._disk, self.path(file_names.TIME_INDEX), self.base_offset)
        for index in (self._offset_index, self._time_index):
            if index.file.size():
                index.file.truncate(0)
            index.close()

    def _open_indexes(self) -> None:
        problem = self._try_open_indexes()
        if problem is not None:
            self.rebuild_indexes(problem)

    def _try_open_indexes(self) -> str | None:
        offsets_path = self.path(file_names.OFFSET_INDEX)
        times_path = self.path(file_names.TIME_INDEX)
        try:
            offsets_bytes, times_bytes = self._disk.size(offsets_path), self._disk.size(times_path)
        except FileNotFoundError as error:
            return f"{error.filename} is missing"
        if offsets_bytes % OFFSET_ENTRY.size or times_bytes % TIME_ENTRY.size:
            return "an index ends within an entry"
        offsets = OffsetIndex(self._disk, offsets_path, self.base_offset, offsets_bytes)
        times = TimeIndex(self._disk, times_path, self.base_offset, times_bytes)
        if len(offsets):
            # The same test that Kafka makes: garbage and preallocated zeros show at the end.
            relative_offset, position = offsets.view().entry(OFFSET_ENTRY, len(offsets) - 1)
            if relative_offset <= 0 or not 0 < position < self.size_bytes:
                return "the last entry of the offset index cannot be right"
        if len(times):
            timestamp, relative_offset = times.view().entry(TIME_ENTRY, len(times) - 1)
            if timestamp < 0 or relative_offset < 0:
                return "the last entry of the time index cannot be right"
        elif len(offsets) and self.first_timestamp >= 0:
            return "the time index is empty"
        self._offset_index, self._time_index = offsets, times
        return None

    def rebuild_indexes(self, reason: str) -> None:
        """Write both indexes anew from the headers of the log."""
        logger.warning("%s: %s; rebuilding the indexes", self.path(file_names.LOG), reason)
        self.begin_rebuild()

        def visit(position: int, header: BatchHeader) -> bool:
            self.note_header(position, header)
            return False

        walk_headers(self.log, 0, self.size_bytes, self.base_offset, visit)
        self.end_rebuild(self.size_bytes)

    def begin_rebuild(self) -> None:
        """Empty both indexes; `note_header` for every batch comes next, then `end_rebuild`."""
        self._create_indexes()
        self._max_timestamp, self._max_timestamp_offset = NO_TIMESTAMP, NO_OFFSET
        self._bytes_since_entry = 0
        self.is_index_full = False
        self.forget_recent()

    def note_header(self, position: int, header: BatchHeader) -> None:
        """`note_batch` for a batch that has its offsets."""
        self.note_batch(
            header.base_offset,
            header.last_offset,
            position,
            header.size_bytes,
            header.max_timestamp,
        )

    def end_rebuild(self, size_bytes: int) -> None:
        """All batches are noted; the log has this size."""
        self.size_bytes = size_bytes
        self.finish_time_index()
        self.write_tails()
        self.forget_recent()  # there may be gaps in the offsets

    def remove_aborted(self) -> None:
        """Forget the aborted transactions; recovery finds them again."""
        if self._has_aborted:
            self._disk.remove(self.path(file_names.TXN_INDEX))
            self._has_aborted = False

    # Writing.

    def write(self, data: Buffer) -> int:
        """Append whole batches in one write; gives the position of the first. Cut off on failure."""
        position = self.size_bytes
        file = self._log or self.log
        try:
            file.append(data)
        except OSError:
            # The dir goes offline next; an intact tail spares the next start a recovery message.
            with contextlib.suppress(OSError):
                file.truncate(position)
            raise
        self.size_bytes = position + len(data)
        return position

    def note_batch(
        self, base_offset: int, last_offset: int, position: int, size_bytes: int, timestamp: int
    ) -> None:
        """Keep the indexes after a batch was written; `timestamp` is its largest."""
        if timestamp > self._max_timestamp:
            if self._max_timestamp == _UNKNOWN:
                self._load_max_timestamp()
            if timestamp > self._max_timestamp:
                self._max_timestamp = timestamp
                self._max_timestamp_offset = last_offset
        if not position:
            self._first_timestamp = timestamp
        if self._bytes_since_entry > self._index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self._max_timestamp, self._max_timestamp_offset)
            self._bytes_since_entry = 0
            self._check_index_room()
        self._bytes_since_entry += size_bytes
        offsets, positions = self._recent_offsets, self._recent_positions
        if offsets is None or positions is None:
            self._recent_offsets = array("q", (base_offset,))
            self._recent_positions = array("q", (position,))
            return
        offsets.append(base_offset)
        positions.append(position)
        if len(offsets) >= 2 * RECENT_BATCHES:
            del offsets[:RECENT_BATCHES]
            del positions[:RECENT_BATCHES]

    def forget_recent(self) -> None:
        """Before a gap in the offsets: what is remembered must be without one."""
        self._recent_offsets = self._recent_positions = None

    def append_aborted(self, entry: AbortedTransaction) -> None:
        """Note that a transaction whose marker lies in this segment was aborted."""
        self._disk.open(self.path(file_names.TXN_INDEX), create=True).append(
            txn_index.encode(entry)
        )
        if not self._has_aborted:
            self._has_aborted = True
            self.needs_dir_sync = True

    def finish_time_index(self) -> None:
        """The last entry: the largest timestamp of the whole segment."""
        timestamp, offset = self.max_timestamp_and_offset
        if timestamp >= 0:
            self.time_index.maybe_append(timestamp, offset)

    def write_tails(self) -> None:
        """Bring index entries that are in memory to their files."""
        if self._offset_index is not None:
            self._offset_index.write_tail()
        if self._time_index is not None:
            self._time_index.write_tail()

    def files_to_sync(self) -> list[File]:
        """What to sync to make everything written so far durable; the tails are written first."""
        self.write_tails()
        files = [self.log]
        if self._offset_index is not None:
            files.append(self._offset_index.file)
        if self._time_index is not None:
            files.append(self._time_index.file)
        if self._has_aborted:
            files.append(self._disk.open(self.path(file_names.TXN_INDEX)))
        return files

    # Facts.

    @property
    def max_timestamp_and_offset(self) -> tuple[int, int]:
        """The largest timestamp, and the last offset of the batch that has it; (-1, -1) if none."""
        if self._max_timestamp == _UNKNOWN:
            self._load_max_timestamp()
        return self._max_timestamp, self._max_timestamp_offset

    def _load_max_timestamp(self) -> None:
        self._max_timestamp, self._max_timestamp_offset = self.time_index.last()

    @property
    def first_timestamp(self) -> int:
        """The timestamp of the first batch, from which segment.ms counts; -1 when unknown."""
        if self._first_timestamp == _UNKNOWN:
            if not self.size_bytes:
                return NO_TIMESTAMP
            head = self.log.pread(HEADER_BYTES, 0)
            self._first_timestamp = (
                read_header(head).max_timestamp if len(head) == HEADER_BYTES else NO_TIMESTAMP
            )
        return self._first_timestamp

    def largest_timestamp_ms(self) -> int:
        """For retention: the largest timestamp, or when the file was last written."""
        timestamp = self.max_timestamp_and_offset[0]
        return timestamp if timestamp >= 0 else self._disk.modified_ms(self.path(file_names.LOG))

    def _check_index_room(self) -> None:
        offsets, times = self.offset_index, self.time_index
        self.is_index_full = (
            offsets.size_bytes + OFFSET_ENTRY.size > self._index_bytes_max
            # one more than the next: the last entry of a rolled segment
            or times.size_bytes + 2 * TIME_ENTRY.size > self._index_bytes_max
        )

    # Searching.

    def locate(self, offset: int) -> BatchSpan | None:
        """The first batch that ends at or after `offset`; None when all end before."""
        offsets, positions = self._recent_offsets, self._recent_positions
        if offsets is not None and positions is not None and offset >= offsets[0]:
            i = bisect_right(offsets, offset)
            position = positions[i - 1]
            end = positions[i] if i < len(positions) else self.size_bytes
            return BatchSpan(position, end - position, offsets[i - 1])
        return self._locate_by_index(offset)

    def position_of(self, offset: int) -> int:
        """Where the first batch that ends at or after `offset` begins; the end when all end before."""
        span = self.locate(offset)
        return self.size_bytes if span is None else span.position

    def _locate_by_index(self, offset: int) -> BatchSpan | None:
        if not self.size_bytes:
            return None
        span, problem = locate(
            self.log, self.size_bytes, self.offset_index.view(), self.base_offset, offset
        )
        if problem is not None:
            self.rebuild_indexes(problem)
            span, problem = locate(
                self.log, self.size_bytes, self.offset_index.view(), self.base_offset, offset
            )
        if problem is not None:
            raise ApiError(Err.CORRUPT_MESSAGE, f"{self.path(file_names.LOG)} has {problem}")
        return span

    def aborted(self) -> Iterator[AbortedTransaction]:
        """The aborted transactions whose markers lie in this segment."""
        if not self._has_aborted:
            return iter(())
        return txn_index.decode(self._disk.read_bytes(self.path(file_names.TXN_INDEX)))

    def snapshot(self) -> SegmentView:
        """A picture for other threads."""
        return SegmentView(
            self.base_offset,
            self.size_bytes,
            self.log,
            self.offset_index.snapshot(),
            self.time_index.snapshot(),
        )

    # Cutting, renaming, closing.

    def truncate_to(self, offset: int) -> int | None:
        """Cut off the batch that holds `offset` and all after it; gives the offset the segment now
        ends before, or None when nothing had to go."""
        span = self.locate(offset)
        if span is None:
            return None
        self.log.truncate(span.position)
        self.size_bytes = span.position
        self.offset_index.truncate_to(span.base_offset)
        self.time_index.truncate_to(span.base_offset)
        self._truncate_aborted(span.base_offset)
        self._max_timestamp = _UNKNOWN if span.position else NO_TIMESTAMP
        self._max_timestamp_offset = NO_OFFSET
        self._bytes_since_entry = 0
        self._first_timestamp = _UNKNOWN
        self.is_index_full = False
        self.forget_recent()
        self._reload_max_timestamp()
        return span.base_offset

    def _truncate_aborted(self, offset: int) -> None:
        if not self._has_aborted:
            return
        kept = sum(1 for entry in self.aborted() if entry.last_offset < offset)
        file = self._disk.open(self.path(file_names.TXN_INDEX))
        file.truncate(kept * txn_index.ENTRY_BYTES)

    def _reload_max_timestamp(self) -> None:
        """After a cut: from the last index entries on, which may lie before the largest."""
        if not self.size_bytes:
            return
        timestamp, offset = self.time_index.last()
        _, position = self.offset_index.lookup(self.base_offset + RELATIVE_OFFSET_MAX)

        def visit(_: int, header: BatchHeader) -> bool:
            nonlocal timestamp, offset
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
            return False

        walk_headers(self.log, position, self.size_bytes, self.base_offset, visit)
        self._max_timestamp, self._max_timestamp_offset = timestamp, offset
        self._bytes_since_entry = self.size_bytes - position

    def rename_to(self, suffix: str) -> list[str]:
        """Give all files another last suffix (`.swap`, `.deleted`, none); gives their paths."""
        old_paths = [self.path(kind) for kind in file_names.SEGMENT_SUFFIXES]
        self._suffix = suffix
        paths = []
        for kind, old_path in zip(file_names.SEGMENT_SUFFIXES, old_paths, strict=True):
            path = self.path(kind)
            with contextlib.suppress(FileNotFoundError):  # an index that was never made
                self._disk.rename(old_path, path)
                paths.append(path)
        if self._offset_index is not None:
            self._offset_index.rename(self.path(file_names.OFFSET_INDEX))
        if self._time_index is not None:
            self._time_index.rename(self.path(file_names.TIME_INDEX))
        return paths

    def release(self) -> None:
        """Let go of descriptors and memory; all comes back on need. Tails must be written."""
        self._log = None
        self.forget_recent()
        if self._offset_index is not None:
            self._offset_index.close()
        if self._time_index is not None:
            self._time_index.close()
