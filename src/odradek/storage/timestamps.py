"""Look-ups by time: exact, to the record (ListOffsets).

The time index leads to a place before which everything is older; from there batches are walked by their
headers, and only the batch whose largest timestamp is late enough is opened. Timestamps need not rise,
so the answer is the first record in offset order that is late enough, as Kafka's is.

Runs in a pool thread over a `TimeSearch`, an immutable picture of the log. Inactive segments are opened
by name there; one that was deleted meanwhile is skipped, for its records are gone. An index entry is
believed only if the batch it names has that timestamp; else the whole segment is walked. (An entry names
the first batch that has its timestamp, so nothing before that batch is as late.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from odradek.errors import ApiError, Err
from odradek.interfaces import Disk, File
from odradek.records.batch import HEADER_BYTES, BatchHeader, read_header
from odradek.records.record import Record, read_records
from odradek.storage import file_names
from odradek.storage.indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    IndexView,
    last_time,
    lookup_time,
)
from odradek.storage.scan import walk_headers
from odradek.storage.segment_view import SegmentView, locate
from odradek.types import NO_TIMESTAMP, TimestampAndOffset

logger = logging.getLogger(__name__)


class TimeSearch(NamedTuple):
    """A picture of a log, for look-ups by time."""

    disk: Disk
    path: str
    log_start_offset: int
    inactive: tuple[tuple[int, int], ...]  # base offset and size
    active: SegmentView
    active_max_timestamp: int

    def segments(self) -> Iterator[tuple[SegmentView, int]]:
        """Each segment with its largest timestamp (-1: unknown)."""
        for i, (base_offset, size_bytes) in enumerate(self.inactive):
            is_last = i + 1 == len(self.inactive)
            end = self.active.base_offset if is_last else self.inactive[i + 1][0]
            if end <= self.log_start_offset:
                continue
            try:
                view = self._open(base_offset, size_bytes)
            except FileNotFoundError:
                continue
            yield view, _max_timestamp(view)
        yield self.active, self.active_max_timestamp

    def _open(self, base_offset: int, size_bytes: int) -> SegmentView:
        prefix = f"{self.path}/{base_offset:020d}"
        file = self.disk.open(prefix + file_names.LOG)
        offsets = self.disk.open(prefix + file_names.OFFSET_INDEX)
        times = self.disk.open(prefix + file_names.TIME_INDEX)
        return SegmentView(
            base_offset,
            min(size_bytes, file.size()),
            file,
            IndexView(offsets, offsets.size() // OFFSET_ENTRY.size, b""),
            IndexView(times, times.size() // TIME_ENTRY.size, b""),
        )


def find_first(search: TimeSearch, timestamp: int) -> TimestampAndOffset | None:
    """The first record at or after `timestamp`."""
    for view, max_timestamp in search.segments():
        if max_timestamp == NO_TIMESTAMP or max_timestamp >= timestamp:
            found = _find_in_segment(view, timestamp, search.log_start_offset)
            if found is not None:
                return found
    return None


def find_max(search: TimeSearch) -> TimestampAndOffset | None:
    """The first record that has the largest timestamp of all."""
    best: tuple[int, SegmentView] | None = None
    for view, max_timestamp in search.segments():
        if max_timestamp >= 0 and (best is None or max_timestamp > best[0]):
            best = max_timestamp, view
    if best is None:
        return None
    return _find_in_segment(best[1], best[0], search.log_start_offset)


def _find_in_segment(
    view: SegmentView, timestamp: int, log_start_offset: int
) -> TimestampAndOffset | None:
    answer: TimestampAndOffset | None = None

    def visit(position: int, header: BatchHeader) -> bool:
        nonlocal answer
        if header.max_timestamp < timestamp or header.last_offset < log_start_offset:
            return False
        answer = _find_in_batch(view.file, position, header, timestamp, log_start_offset)
        return answer is not None

    position = _start_position(view, timestamp)
    end = walk_headers(view.file, position, view.size_bytes, view.base_offset, visit)
    if answer is None and end.problem is not None:
        raise ApiError(Err.CORRUPT_MESSAGE, f"segment {view.base_offset} has {end.problem}")
    return answer


def _max_timestamp(view: SegmentView) -> int:
    """The largest timestamp of an inactive segment; -1 when its index does not tell."""
    timestamp, offset = last_time(view.times, view.base_offset)
    return NO_TIMESTAMP if _confirmed_position(view, timestamp, offset) is None else timestamp


def _start_position(view: SegmentView, timestamp: int) -> int:
    """Where to begin: every batch before it is older than `timestamp`."""
    entry_timestamp, offset = lookup_time(view.times, view.base_offset, timestamp)
    return _confirmed_position(view, entry_timestamp, offset) or 0


def _confirmed_position(view: SegmentView, timestamp: int, offset: int) -> int | None:
    """Where the batch of a time index entry begins; None when the batch does not have that time."""
    if timestamp == NO_TIMESTAMP:
        return None
    span, problem = locate(view.file, view.size_bytes, view.offsets, view.base_offset, offset)
    if span is not None and problem is None:
        head = view.file.pread(HEADER_BYTES, span.position)
        if len(head) == HEADER_BYTES and read_header(head).max_timestamp == timestamp:
            return span.position
    logger.warning("the time index of segment %d is not to be trusted", view.base_offset)
    return None


def _find_in_batch(
    file: File, position: int, header: BatchHeader, timestamp: int, log_start_offset: int
) -> TimestampAndOffset | None:
    epoch = header.partition_leader_epoch
    try:
        record = _first_at_or_after(
            file.pread(header.size_bytes, position), timestamp, log_start_offset
        )
    except ApiError as error:
        # Nobody can read such a batch; the answer is where a reader would meet it.
        logger.warning("the batch at offset %d cannot be opened: %s", header.base_offset, error)
        offset = max(header.base_offset, log_start_offset)
        return TimestampAndOffset(header.max_timestamp, offset, epoch)
    return None if record is None else TimestampAndOffset(record.timestamp, record.offset, epoch)


def _first_at_or_after(batch: bytes, timestamp: int, log_start_offset: int) -> Record | None:
    for record in read_records(batch):
        if record.timestamp >= timestamp and record.offset >= log_start_offset:
            return record
    return None
