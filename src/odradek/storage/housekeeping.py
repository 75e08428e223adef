"""What is done to all logs from time to time: retention, rolling, flushing, checkpoints, expiry.

    every log.retention.check.interval.ms                  roll by segment.ms, delete what has expired
    every log.flush.scheduler.interval.ms                  sync logs that have waited for flush.ms
    every log.flush.offset.checkpoint.interval.ms          checkpoint the recovery points
    every log.flush.start.offset.checkpoint.interval.ms    checkpoint the log start offsets
    every replica.high.watermark.checkpoint.interval.ms    checkpoint the high watermarks
    every producer.id.expiration.check.interval.ms         forget silent producers

Keys and defaults are Kafka's. Runs on the loop's thread, driven by `Timers`; decisions are made there,
files are synced, written and removed in the background. A log whose dir is offline is left alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.errors import ApiError
from odradek.interfaces import Clock, TimerHandle, Timers
from odradek.storage import file_names
from odradek.storage.log_dir import LogDir
from odradek.storage.partition_log import PartitionLog
from odradek.storage.retention import RetentionRules, SegmentFacts, expired_count
from odradek.types import TopicPartition

logger = logging.getLogger(__name__)

# The operating system counts timers in 31 bits of milliseconds; Kafka's "never" is larger.
_TIMER_MS_MAX: Final = 24 * 24 * 3600 * 1000
# A log may cost some file operations: so many at a time, then the loop may serve clients.
_LOGS_PER_TURN: Final = 100
_TURN_MS: Final = 5


Offsets = list[tuple[TopicPartition, int]]


class Housekeeping:
    """The periodic work of a log manager."""

    def __init__(
        self,
        logs: Callable[[], Iterable[PartitionLog]],
        dirs: Sequence[LogDir],
        *,
        config: BrokerConfig,
        clock: Clock,
        timers: Timers,
    ) -> None:
        self._logs = logs
        self._dirs = dirs
        self._config = config
        self._clock = clock
        self._timers = timers
        self._handles: list[TimerHandle] = []
        self._is_running = False

    def start(self) -> None:
        """Begin; the first round comes after log.initial.task.delay.ms."""
        assert not self._is_running
        self._is_running = True
        config = self._config
        self._schedule(config.log_retention_check_interval_ms, self.apply_retention)
        self._schedule(config.log_flush_scheduler_interval_ms, self.flush_waiting)
        self._schedule(config.log_flush_offset_checkpoint_interval_ms, self.write_recovery_points)
        self._schedule(
            config.log_flush_start_offset_checkpoint_interval_ms, self.write_log_start_offsets
        )
        self._schedule(
            config.replica_high_watermark_checkpoint_interval_ms, self.write_high_watermarks
        )
        self._schedule(
            config.producer_id_expiration_check_interval_ms, self.remove_expired_producers
        )

    def stop(self) -> None:
        """No more rounds."""
        self._is_running = False
        for handle in self._handles:
            handle.cancel()
        self._handles.clear()

    def _schedule(self, interval_ms: int, task: Callable[[], None]) -> None:
        if interval_ms > _TIMER_MS_MAX:
            return
        slot = len(self._handles)

        def run() -> None:
            if self._is_running:
                self._handles[slot] = self._timers.call_later(max(interval_ms, 1), run)
                task()

        delay_ms = min(self._config.log_initial_task_delay_ms, interval_ms)
        self._handles.append(self._timers.call_later(delay_ms, run))

    def apply_retention(self) -> None:
        """Roll old active segments, delete expired ones, close files that nobody reads."""
        self._apply_retention(self._online_logs())

    def _apply_retention(self, logs: list[PartitionLog]) -> None:
        now_ms = self._clock.now_ms()
        for log in logs[:_LOGS_PER_TURN]:
            if log.is_closed or log.dir.offline_reason is not None:
                continue
            try:
                log.maybe_roll(now_ms)
                log.remove_first_segments(_expired_count(log, now_ms), now_ms)
                log.release_idle()
            except ApiError as error:
                logger.error("retention of %s failed: %s", log, error)
            except OSError as error:
                log.dir.fail(error, half_done=False)
        rest = logs[_LOGS_PER_TURN:]
        if rest and self._is_running:
            self._timers.call_later(_TURN_MS, lambda: self._apply_retention(rest))

    def flush_waiting(self) -> None:
        """Sync the logs whose records have waited for flush.ms."""
        for log in self._online_logs():
            log.maybe_flush()

    def write_recovery_points(self) -> None:
        """Checkpoint up to where each log is synced."""
        self._write(file_names.RECOVERY_POINTS, recovery_points)

    def write_log_start_offsets(self) -> None:
        """Checkpoint the log starts that no segment's name tells."""
        self._write(file_names.LOG_START_OFFSETS, log_start_offsets)

    def write_high_watermarks(self) -> None:
        """Checkpoint the high watermarks."""
        self._write(file_names.HIGH_WATERMARKS, high_watermarks)

    def _write(self, name: str, offsets_of: Callable[[Iterable[PartitionLog]], Offsets]) -> None:
        logs = list(self._logs())
        for log_dir in self._dirs:
            if log_dir.offline_reason is None:
                here = [log for log in logs if log.dir is log_dir]
                log_dir.write_offsets(name, offsets_of(here))

    def remove_expired_producers(self) -> None:
        """Forget producers that have been silent for producer.id.expiration.ms."""
        now_ms, expiration_ms = self._clock.now_ms(), self._config.producer_id_expiration_ms
        for log in self._online_logs():
            log.remove_expired_producers(now_ms, expiration_ms)

    def _online_logs(self) -> list[PartitionLog]:
        return [log for log in self._logs() if log.dir.offline_reason is None]


def recovery_points(logs: Iterable[PartitionLog]) -> Offsets:
    """What that checkpoint should say of these logs."""
    return [(log.topic_partition, log.recovery_point) for log in logs]


def high_watermarks(logs: Iterable[PartitionLog]) -> Offsets:
    """What that checkpoint should say of these logs."""
    return [(log.topic_partition, log.high_watermark) for log in logs]


def log_start_offsets(logs: Iterable[PartitionLog]) -> Offsets:
    """What that checkpoint should say of these logs: those whose segments do not tell."""
    return [
        (log.topic_partition, log.log_start_offset)
        for log in logs
        if log.log_start_offset > log.first_segment_offset
    ]


def all_checkpoints(logs: Sequence[PartitionLog]) -> dict[str, Offsets]:
    """The offset checkpoints of the dir that holds these logs, by file name."""
    return {
        file_names.RECOVERY_POINTS: recovery_points(logs),
        file_names.HIGH_WATERMARKS: high_watermarks(logs),
        file_names.LOG_START_OFFSETS: log_start_offsets(logs),
    }


def _expired_count(log: PartitionLog, now_ms: int) -> int:
    if not log.size_bytes:
        return 0
    segments, config = log.segments, log.config
    ends = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
    return expired_count(
        [
            SegmentFacts(end, segment.size_bytes, segment.largest_timestamp_ms)
            for segment, end in zip(segments, ends, strict=True)
        ],
        RetentionRules(
            config.retention_ms, config.retention_bytes, "delete" in config.cleanup_policy
        ),
        log_start_offset=log.log_start_offset,
        high_watermark=log.high_watermark,
        now_ms=now_ms,
    )
