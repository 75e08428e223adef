"""What a log can be asked: facts, records, positions by time, epochs.

The half of `PartitionLog` that changes nothing. Readers at the tail, which are nearly all, are answered
from memory; others cost an index look-up. The loop's thread owns it; what may take long is handed out as
work for the pool (`prepare_*`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from odradek.errors import ApiError, Err
from odradek.storage import timestamps
from odradek.storage.log_dir import LogDir
from odradek.storage.log_values import LogSlice
from odradek.storage.producer_state import ProducerEntry
from odradek.storage.recovery import LoadedLog
from odradek.storage.segment import Segment
from odradek.storage.segments import Segments, slice_of
from odradek.types import OffsetAndEpoch, TimestampAndOffset, TopicPartition


class ReadableLog:
    """The log of one partition, for its readers."""

    __slots__ = (
        "_active",
        "_epochs",
        "_latest_epoch",
        "_producers",
        "_segments",
        "dir",
        "high_watermark",
        "log_end_offset",
        "log_start_offset",
        "recovery_point",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        log_dir: LogDir,
        topic_partition: TopicPartition,
        topic_id: UUID,
        loaded: LoadedLog,
        high_watermark: int,
    ) -> None:
        self.dir = log_dir
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self._segments = Segments(log_dir.disk, loaded.segments)
        self._active = loaded.segments[-1]  # the one that takes appends, at hand for the hot paths
        self._producers = loaded.producers  # None: no producer is known, as in most logs
        self._epochs = loaded.epochs
        self._latest_epoch = loaded.epochs.latest
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        self.high_watermark = min(
            max(high_watermark, loaded.log_start_offset), loaded.log_end_offset
        )

    def __repr__(self) -> str:
        return (
            f"PartitionLog({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset})"
        )

    # Facts.

    @property
    def path_text(self) -> str:
        """The log's folder."""
        return f"{self.dir.path}/{self.topic_partition}"

    @property
    def path(self) -> Path:
        """The log's folder."""
        return Path(self.path_text)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments, oldest first; the last one is the active one."""
        return tuple(self._segments)

    @property
    def first_segment_offset(self) -> int:
        """Where the first segment begins; the log may start later (DeleteRecords)."""
        return self._segments.first_offset

    @property
    def size_bytes(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size_bytes for segment in self._segments)

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch; -1 when none is known."""
        return self._latest_epoch

    @property
    def last_stable_offset(self) -> int:
        """Below this every transaction is decided; what read_committed may see."""
        producers = self._producers
        high_watermark = self.high_watermark
        if producers is None:
            return high_watermark
        first_unstable = producers.first_unstable_offset(high_watermark)
        return high_watermark if first_unstable is None else min(first_unstable, high_watermark)

    def active_producers(self) -> list[ProducerEntry]:
        """What is known of producers, for DescribeProducers."""
        return self._producers.entries() if self._producers is not None else []

    # Reading.

    def read(
        self, offset: int, max_bytes: int, *, upto: int, at_least_one: bool = True
    ) -> LogSlice | None:
        """A piece that begins with the batch that holds `offset` and ends before `upto`.

        The first batch is whole, even beyond `max_bytes` if `at_least_one`; the last may be cut. One
        segment per call. None when there is nothing, or the first batch does not fit.
        """
        log_end_offset = self.log_end_offset
        if offset < self.log_start_offset or offset > log_end_offset:
            raise ApiError(
                Err.OFFSET_OUT_OF_RANGE,
                f"offset {offset} is not within [{self.log_start_offset}, {log_end_offset}]",
            )
        if self.dir.offline_reason is not None:
            self.dir.raise_offline()
        if offset >= upto or offset == log_end_offset:
            return None
        segment = self._active
        try:
            if offset < segment.base_offset:
                return self._segments.read(
                    offset,
                    max_bytes,
                    upto=upto,
                    log_end_offset=log_end_offset,
                    at_least_one=at_least_one,
                )
            span = segment.locate(offset)
            if span is None:
                return None
            end = segment.size_bytes if upto >= log_end_offset else segment.position_of(upto)
            file = segment.log
        except OSError as error:
            raise self.dir.fail(error, half_done=False) from error
        return slice_of(file, span.position, span.size_bytes, end, max_bytes, at_least_one)

    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions among the offsets [start, end)."""
        try:
            return self._segments.aborted_transactions(start, end)
        except OSError as error:
            raise self.dir.fail(error, half_done=False) from error

    def prepare_find_by_timestamp(self, timestamp: int) -> Callable[[], TimestampAndOffset | None]:
        """Work for the pool: the first record at or after `timestamp`."""
        search = self._time_search()
        return lambda: timestamps.find_first(search, timestamp)

    def prepare_max_timestamp(self) -> Callable[[], TimestampAndOffset | None]:
        """Work for the pool: the record with the largest timestamp."""
        search = self._time_search()
        return lambda: timestamps.find_max(search)

    def _time_search(self) -> timestamps.TimeSearch:
        if self.dir.offline_reason is not None:
            self.dir.raise_offline()
        try:
            return timestamps.TimeSearch(
                self.dir.disk,
                self.path_text,
                self.log_start_offset,
                tuple((s.base_offset, s.size_bytes) for s in self.segments[:-1]),
                self._active.snapshot(),
                self._active.max_timestamp_and_offset[0],
            )
        except OSError as error:
            raise self.dir.fail(error, half_done=False) from error

    def epoch_end_offset(self, epoch: int) -> OffsetAndEpoch:
        """Where the newest epoch not above `epoch` ended (OffsetForLeaderEpoch)."""
        return self._epochs.end_offset(epoch, self.log_end_offset)

    def epoch_for(self, offset: int) -> int:
        """The leader epoch of the record at `offset`; -1 when unknown."""
        return self._epochs.epoch_for(offset)
