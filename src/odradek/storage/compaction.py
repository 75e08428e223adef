"""Compaction: a log that keeps at least the last value of every key.

    before   0:a=1  1:b=1  2:a=2  3:c=1 | 4:b=∅  5:a=3 | 6:d=1      (| between segments, last is active)
    after                         3:c=1   4:b=∅  5:a=3 | 6:d=1      offsets stay, gaps are legal
    later                         3:c=1          5:a=3 | 6:d=1      the tombstone's time is over

The parts: `compaction_plan` decides which log and which part of it, `compaction_job` reads and
rewrites in the pool, `compaction_filter` decides about each batch. Here is the shell: one log at
a time, the dirtiest first, and what a start has to do after a crash.

`Cleaner` lives on the loop's thread. It takes a picture of a log, gives it to the pool, and puts
each new segment in place when it comes back, unless the log was cut, closed or changed in the
meantime; then the new files are removed. The exchange renames

    .cleaned → .swap      all of the new segment; before this, a start removes it
    old      → .deleted   from here on, a start completes the exchange
    .swap    → no suffix

and `recover_swap_files` (`compaction_swap`) is that start. How far a log is clean is kept in
`cleaner-offset-checkpoint`; when that is lost, the log is cleaned from its beginning again.

A log that cannot be read is left alone until the next start, as Kafka does, and the reason is
logged. Batches whose CRC is right and whose records lie are kept as they are and do not stop the
rest.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from odradek.config.topic import TopicConfig
from odradek.errors import ApiError
from odradek.interfaces import Background
from odradek.storage import file_names
from odradek.storage.compaction_filter import LastRecord
from odradek.storage.compaction_job import CleanedGroup, CleaningJob, LogPicture, SegmentSource
from odradek.storage.compaction_plan import (
    CleanableRange,
    CompactionRules,
    cleanable_range,
    filthiest,
    first_dirty_offset,
)
from odradek.storage.compaction_swap import recover_swap_files
from odradek.storage.segment import Segment

if TYPE_CHECKING:
    from odradek.config.broker import BrokerConfig
    from odradek.storage.partition_log import PartitionLog

__all__ = [
    "Cleaner",
    "CleanerSettings",
    "cleaner_settings",
    "compaction_rules",
    "picture_of",
    "range_to_clean",
    "recover_swap_files",
]

logger = logging.getLogger(__name__)

T = TypeVar("T")

COMPACT: Final = "compact"
# So many unreadable batches of one cleaning are named in the log; the rest are counted.
_NAMED_MAX: Final = 3
_REST_SECONDS: Final = 0.001


class CleanerSettings(NamedTuple):
    """What the broker's configuration says about cleaning."""

    enable: bool = True
    backoff_ms: int = 15_000
    map_memory_bytes: int = 128 * 2**20
    io_max_bytes_per_second: float = float("inf")


def cleaner_settings(config: BrokerConfig) -> CleanerSettings:
    """The settings in a broker's configuration."""
    return CleanerSettings(
        enable=config.log_cleaner_enable and config.log_cleaner_threads > 0,
        backoff_ms=config.log_cleaner_backoff_ms,
        map_memory_bytes=int(
            config.log_cleaner_dedupe_buffer_size * config.log_cleaner_io_buffer_load_factor
        ),
        io_max_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
    )


def compaction_rules(config: TopicConfig) -> CompactionRules:
    """The rules in a topic's configuration."""
    return CompactionRules(
        min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        max_compaction_lag_ms=config.max_compaction_lag_ms,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
    )


def range_to_clean(log: PartitionLog, now_ms: int) -> CleanableRange:
    """What of a log may be cleaned now."""
    checkpoint = log.dir.cleaner_offsets.get(log.topic_partition)
    dirty_offset = first_dirty_offset(checkpoint, log.log_start_offset, log.log_end_offset)
    rules = compaction_rules(log.config)
    return cleanable_range(log.segments, dirty_offset, log.last_stable_offset, rules, now_ms)


def picture_of(
    log: PartitionLog, found: CleanableRange, map_memory_bytes: int, now_ms: int
) -> LogPicture:
    """What a job has to know of a log, taken on the loop's thread."""
    segments = log.segments
    return LogPicture(
        disk=log.dir.disk,
        dir_path=log.path_text,
        segments=tuple(
            SegmentSource(segment.base_offset, segment.size_bytes, segment.path(file_names.LOG))
            for segment in segments[:-1]
            if segment.base_offset < found.first_uncleanable_offset
        ),
        first_dirty_offset=found.first_dirty_offset,
        first_uncleanable_offset=found.first_uncleanable_offset,
        # A transaction's marker may lie in any later segment.
        aborted=tuple(entry for segment in segments for entry in segment.aborted()),
        last_records={
            entry.producer_id: LastRecord(
                entry.batches[-1].last_offset if entry.batches else None, entry.producer_epoch
            )
            for entry in log.active_producers()
        },
        rules=compaction_rules(log.config),
        now_ms=now_ms,
        map_memory_bytes=map_memory_bytes,
    )


class _Cleaning:
    """A log that is being cleaned."""

    __slots__ = ("generation", "is_mapped", "job", "log", "read_bytes", "segments", "written_bytes")

    def __init__(self, log: PartitionLog, picture: LogPicture, rest: Callable[[], object]) -> None:
        self.log = log
        self.generation = log.generation
        self.segments = log.segments[: len(picture.segments)]
        self.job = CleaningJob(picture, rest)
        self.is_mapped = False
        self.read_bytes = 0
        self.written_bytes = 0


class Cleaner:
    """Cleans logs, one at a time. `tick` starts or continues; it never blocks."""

    def __init__(
        self,
        logs: Callable[[], Iterable[PartitionLog]],
        background: Background,
        settings: CleanerSettings,
        now_ms: Callable[[], int],
        rest: Callable[[], object] | None = None,
    ) -> None:
        self._logs = logs
        self._background = background
        self._now_ms = now_ms
        # Nobody sets the event: waiting for it is how a pool thread leaves the loop in peace.
        self._rest = rest or partial(threading.Event().wait, _REST_SECONDS)
        self.settings = settings
        self._current: _Cleaning | None = None
        self._is_working = False
        self._resume_ms = 0
        self._uncleanable: dict[PartitionLog, str] = {}

    @property
    def uncleanable(self) -> dict[PartitionLog, str]:
        """Logs that could not be read, and why."""
        return dict(self._uncleanable)

    @property
    def is_idle(self) -> bool:
        """Whether no log is being cleaned."""
        return self._current is None

    def tick(self, now_ms: int) -> None:
        """Go on with the current log, or look for the next one."""
        if self._is_working or now_ms < self._resume_ms or not self.settings.enable:
            return
        if self._current is None:
            self._start(now_ms)
        if self._current is not None:
            self._work(self._current)

    # Choosing.

    def _start(self, now_ms: int) -> None:
        self._uncleanable = {
            log: why for log, why in self._uncleanable.items() if not log.is_closed
        }
        self._resume_ms = now_ms + self.settings.backoff_ms
        chosen = filthiest(
            (log, found, log.config.min_cleanable_dirty_ratio)
            for log in self._logs()
            if self._is_cleanable(log)
            and (found := _on_disk(log, partial(range_to_clean, log, now_ms))) is not None
        )
        if chosen is None:
            return
        log, found = chosen
        memory_bytes = self.settings.map_memory_bytes
        picture = _on_disk(log, partial(picture_of, log, found, memory_bytes, now_ms))
        if picture is None:
            return
        self._resume_ms = now_ms
        self._current = _Cleaning(log, picture, self._rest)
        logger.info(
            "%s: cleaning offsets %d to %d, %.0f %% dirty",
            log.topic_partition,
            found.first_dirty_offset,
            found.first_uncleanable_offset,
            100 * found.dirty_ratio,
        )

    def _is_cleanable(self, log: PartitionLog) -> bool:
        return (
            COMPACT in log.config.cleanup_policy
            and not log.is_closed
            and log.dir.offline_reason is None
            and log not in self._uncleanable
        )

    # Working: in the pool, then here.

    def _work(self, cleaning: _Cleaning) -> None:
        self._is_working = True
        if cleaning.is_mapped:
            self._background.submit(
                cleaning.job.clean_next, lambda result: self._cleaned(cleaning, result)
            )
        else:
            self._background.submit(
                cleaning.job.map_keys, lambda result: self._mapped(cleaning, result)
            )

    def _mapped(self, cleaning: _Cleaning, result: int | BaseException) -> None:
        self._is_working = False
        if isinstance(result, BaseException):
            self._failed(cleaning, result)
            return
        cleaning.is_mapped = True
        cleaning.read_bytes += result
        self._continue(result)

    def _cleaned(self, cleaning: _Cleaning, result: CleanedGroup | BaseException | None) -> None:
        self._is_working = False
        if isinstance(result, BaseException):
            self._failed(cleaning, result)
        elif result is None:
            self._finish(cleaning)
        elif not self._is_unchanged(cleaning):
            _discard(cleaning.log, result.segment)
            self._give_up(cleaning, "it was cut or closed")
        else:
            self._put_in_place(cleaning, result)

    def _put_in_place(self, cleaning: _Cleaning, group: CleanedGroup) -> None:
        old = cleaning.segments[group.start : group.stop]
        if group.segment is not None:
            segments = cleaning.log.segments
            first = next((i for i, segment in enumerate(segments) if segment is old[0]), None)
            if first is None or segments[first : first + len(old)] != old:
                _discard(cleaning.log, group.segment)
                self._give_up(cleaning, "retention removed a part of it")
                return
            try:
                cleaning.log.replace_segments(old, [group.segment])
            except ApiError as error:
                self._give_up(cleaning, error.message)
                return
        cleaning.read_bytes += group.read_bytes
        cleaning.written_bytes += group.written_bytes
        self._continue(group.read_bytes + group.written_bytes)

    def _continue(self, moved_bytes: int) -> None:
        """The next step now, or by a later tick when the disk has had enough."""
        now_ms = self._now_ms()
        self._resume_ms = now_ms + int(1000 * moved_bytes / self.settings.io_max_bytes_per_second)
        self.tick(now_ms)

    def _finish(self, cleaning: _Cleaning) -> None:
        self._current = None
        log, job = cleaning.log, cleaning.job
        if self._is_unchanged(cleaning):
            log.dir.set_cleaner_offset(log.topic_partition, job.end_offset)
            # The names of the new files must last before those of the old ones are removed.
            disk, path = log.dir.disk, log.path_text
            log.dir.run(lambda: disk.fsync_dir(path))
        for text in job.unreadable[:_NAMED_MAX]:
            logger.warning("%s: kept as it is: %s", log.topic_partition, text)
        if len(job.unreadable) > _NAMED_MAX:
            logger.warning("%s: and %d more", log.topic_partition, len(job.unreadable) - _NAMED_MAX)
        logger.info(
            "%s: clean up to offset %d, read %d bytes, wrote %d",
            log.topic_partition,
            job.end_offset,
            cleaning.read_bytes,
            cleaning.written_bytes,
        )

    # When it does not work.

    def _is_unchanged(self, cleaning: _Cleaning) -> bool:
        log = cleaning.log
        return (
            not log.is_closed
            and log.dir.offline_reason is None
            and log.generation == cleaning.generation
        )

    def _give_up(self, cleaning: _Cleaning, reason: str) -> None:
        self._current = None
        self._resume_ms = self._now_ms() + self.settings.backoff_ms
        logger.info("%s: cleaning ends early: %s", cleaning.log.topic_partition, reason)

    def _failed(self, cleaning: _Cleaning, error: BaseException) -> None:
        log = cleaning.log
        if isinstance(error, FileNotFoundError):
            self._give_up(cleaning, f"{error.filename} is gone")
        elif isinstance(error, OSError):
            self._give_up(cleaning, str(error))
            log.dir.fail(error)
        elif isinstance(error, Exception):
            # An unreadable log, or a fault of ours: the other logs go on.
            self._give_up(cleaning, str(error))
            self._uncleanable[log] = str(error)
            logger.error(
                "%s cannot be compacted until the broker is restarted: %s",
                log.topic_partition,
                error,
                exc_info=None if isinstance(error, ApiError) else error,
            )
        else:
            self._current = None
            raise error


def _on_disk(log: PartitionLog, work: Callable[[], T]) -> T | None:
    """What `work` gives; None when the disk fails, which takes its dir offline."""
    try:
        return work()
    except OSError as error:
        log.dir.fail(error)
        return None


def _discard(log: PartitionLog, segment: Segment | None) -> None:
    if segment is not None:
        log.dir.remove_later([segment.path(kind) for kind in file_names.SEGMENT_SUFFIXES], 0)
