"""Broker keys about logs: folders, segments, flushing, retention, and the cleaner's."""

from __future__ import annotations

from odradek.config.checks import at_least, at_least_or, between, each_of, one_of
from odradek.config.declare import (
    CLUSTER_WIDE,
    PER_BROKER,
    Settings,
    key,
    key_family,
    later,
    no_use,
)
from odradek.config.kinds import DOUBLE_MAX, LONG_MAX, Double, Int, List, Long, Names
from odradek.config.units import DAY_MS, GIB, HOUR_MS, KIB, MIB, MINUTE_MS


@key_family("Logs")
class LogKeys(Settings):
    """Broker keys about log folders, segments, flushing and retention."""

    log_dirs: List = key(
        "log.dirs", default=(), doc="Folders that hold the logs; partitions are spread over them."
    )
    log_dir: List = key("log.dir", default=(), doc="One folder, used when log.dirs is not set.")
    cordoned_log_dirs: List = key(
        "cordoned.log.dirs",
        default=(),
        dynamic=PER_BROKER,
        use=later("replication"),
        doc="Folders that get no new partitions.",
    )
    log_segment_bytes: Int = key(
        "log.segment.bytes",
        default=GIB,
        check=at_least(14),
        dynamic=CLUSTER_WIDE,
        doc="Start a new segment once this size is reached.",
    )
    log_roll_ms: Long | None = key(
        "log.roll.ms",
        default=None,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Start a new segment after this long; goes before log.roll.hours.",
    )
    log_roll_hours: Int = key(
        "log.roll.hours",
        default=168,
        check=at_least(1),
        doc="Start a new segment after so many hours.",
    )
    log_roll_jitter_ms: Long | None = key(
        "log.roll.jitter.ms",
        default=None,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Take up to this much off the rolling time, so that logs do not roll together.",
    )
    log_roll_jitter_hours: Int = key(
        "log.roll.jitter.hours",
        default=0,
        check=at_least(0),
        doc="The same in hours, where log.roll.jitter.ms is not set.",
    )
    log_segment_delete_delay_ms: Long = key(
        "log.segment.delete.delay.ms",
        default=MINUTE_MS,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Wait this long between renaming a dropped file and removing it.",
    )
    log_index_interval_bytes: Int = key(
        "log.index.interval.bytes",
        default=4 * KIB,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Write an index entry about every so many bytes of log.",
    )
    log_index_size_max_bytes: Int = key(
        "log.index.size.max.bytes",
        default=10 * MIB,
        check=at_least(4),
        dynamic=CLUSTER_WIDE,
        doc="Largest index of a segment; a full one rolls the segment.",
    )
    log_preallocate: bool = key(
        "log.preallocate",
        default=False,
        dynamic=CLUSTER_WIDE,
        use=no_use("segments grow as they are written"),
        doc="Reserve a segment's space when it is created.",
    )
    log_retention_ms: Long | None = key(
        "log.retention.ms",
        default=None,
        check=at_least_or(1, -1),
        dynamic=CLUSTER_WIDE,
        doc="Keep records this long; goes before minutes and hours; -1 keeps them forever.",
    )
    log_retention_minutes: Int | None = key(
        "log.retention.minutes",
        default=None,
        check=at_least_or(1, -1),
        doc="Keep records so many minutes; goes before hours; -1 keeps them forever.",
    )
    log_retention_hours: Int = key(
        "log.retention.hours",
        default=168,
        check=at_least_or(1, -1),
        doc="Keep records so many hours; -1 keeps them forever.",
    )
    log_retention_bytes: Long = key(
        "log.retention.bytes",
        default=-1,
        dynamic=CLUSTER_WIDE,
        doc="Keep at most this much per partition; -1 sets no limit.",
    )
    log_retention_check_interval_ms: Long = key(
        "log.retention.check.interval.ms",
        default=5 * MINUTE_MS,
        check=at_least(1),
        doc="Look for segments to delete this often.",
    )
    log_initial_task_delay_ms: Long = key(
        "log.initial.task.delay.ms",
        default=30_000,
        check=at_least(0),
        internal=True,
        doc="Start the periodic work on logs this long after the broker.",
    )
    log_cleanup_policy: Names = key(
        "log.cleanup.policy",
        default=frozenset({"delete"}),
        check=each_of("compact", "delete"),
        dynamic=CLUSTER_WIDE,
        doc="What happens to old segments: delete them, compact them, or both.",
    )
    log_flush_interval_messages: Long = key(
        "log.flush.interval.messages",
        default=LONG_MAX,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Force a log to disk after so many records.",
    )
    log_flush_interval_ms: Long | None = key(
        "log.flush.interval.ms",
        default=None,
        dynamic=CLUSTER_WIDE,
        doc="Force a log to disk when records have waited this long.",
    )
    log_flush_scheduler_interval_ms: Long = key(
        "log.flush.scheduler.interval.ms",
        default=LONG_MAX,
        doc="Look for logs to force to disk this often.",
    )
    log_flush_offset_checkpoint_interval_ms: Int = key(
        "log.flush.offset.checkpoint.interval.ms",
        default=MINUTE_MS,
        check=at_least(0),
        doc="Save the recovery points this often.",
    )
    log_flush_start_offset_checkpoint_interval_ms: Int = key(
        "log.flush.start.offset.checkpoint.interval.ms",
        default=MINUTE_MS,
        check=at_least(0),
        doc="Save the log start offsets this often.",
    )
    log_message_timestamp_type: str = key(
        "log.message.timestamp.type",
        default="CreateTime",
        check=one_of("CreateTime", "LogAppendTime"),
        dynamic=CLUSTER_WIDE,
        doc="Whether records carry the producer's time or the broker's.",
    )
    log_message_timestamp_before_max_ms: Long = key(
        "log.message.timestamp.before.max.ms",
        default=LONG_MAX,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Refuse records whose time lies further back than this.",
    )
    log_message_timestamp_after_max_ms: Long = key(
        "log.message.timestamp.after.max.ms",
        default=HOUR_MS,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Refuse records whose time lies further ahead than this.",
    )
    log_dir_failure_timeout_ms: Long = key(
        "log.dir.failure.timeout.ms",
        default=30_000,
        check=at_least(1),
        use=later("replication"),
        doc="Stop when the controller cannot be told of a failed folder for this long.",
    )
    num_recovery_threads_per_data_dir: Int = key(
        "num.recovery.threads.per.data.dir",
        default=2,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Logs recovered at a time in each folder.",
    )
    log_local_retention_ms: Long = key(
        "log.local.retention.ms",
        default=-2,
        check=at_least(-2),
        dynamic=CLUSTER_WIDE,
        use=no_use("there is no tiered storage"),
        doc="Time that tiered records also stay on local disk.",
    )
    log_local_retention_bytes: Long = key(
        "log.local.retention.bytes",
        default=-2,
        check=at_least(-2),
        dynamic=CLUSTER_WIDE,
        use=no_use("there is no tiered storage"),
        doc="Bytes of tiered records that also stay on local disk.",
    )


@key_family("Log cleaner")
class CleanerKeys(Settings):
    """Broker keys about compaction."""

    log_cleaner_enable: bool = key(
        "log.cleaner.enable",
        default=True,
        doc="Run the log cleaner; without it compacted topics only grow.",
    )
    log_cleaner_threads: Int = key(
        "log.cleaner.threads",
        default=1,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Logs cleaned at a time.",
    )
    log_cleaner_backoff_ms: Long = key(
        "log.cleaner.backoff.ms",
        default=15_000,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Pause before looking again when there is nothing to clean.",
    )
    log_cleaner_min_cleanable_ratio: Double = key(
        "log.cleaner.min.cleanable.ratio",
        default=0.5,
        check=between(0, 1),
        dynamic=CLUSTER_WIDE,
        doc="Clean a log once this share of it is new.",
    )
    log_cleaner_min_compaction_lag_ms: Long = key(
        "log.cleaner.min.compaction.lag.ms",
        default=0,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Leave records alone until they are this old.",
    )
    log_cleaner_max_compaction_lag_ms: Long = key(
        "log.cleaner.max.compaction.lag.ms",
        default=LONG_MAX,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Clean a log at the latest when a record in it is this old.",
    )
    log_cleaner_delete_retention_ms: Long = key(
        "log.cleaner.delete.retention.ms",
        default=DAY_MS,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Keep deletion markers of compacted topics this long.",
    )
    log_cleaner_dedupe_buffer_size: Long = key(
        "log.cleaner.dedupe.buffer.size",
        default=128 * MIB,
        dynamic=CLUSTER_WIDE,
        doc="Memory for the map of keys, over all cleaner threads.",
    )
    log_cleaner_io_buffer_size: Int = key(
        "log.cleaner.io.buffer.size",
        default=512 * KIB,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        use=no_use("cleaning goes batch by batch"),
        doc="Memory for reading and writing, over all cleaner threads.",
    )
    log_cleaner_io_buffer_load_factor: Double = key(
        "log.cleaner.io.buffer.load.factor",
        default=0.9,
        dynamic=CLUSTER_WIDE,
        doc="How full the map of keys may get.",
    )
    log_cleaner_io_max_bytes_per_second: Double = key(
        "log.cleaner.io.max.bytes.per.second",
        default=DOUBLE_MAX,
        dynamic=CLUSTER_WIDE,
        doc="Most bytes read and written per second by cleaning.",
    )
