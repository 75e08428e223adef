"""The configuration of one topic: what it sets itself, over what the broker's keys give.

Most topic keys have a broker key behind them (`synonyms`, the first one set wins), so that
`retention.ms` of a topic that says nothing is the broker's log.retention.ms, else its minutes, else
its hours. `resolve.topic_config` puts the two together.
"""

from __future__ import annotations

from typing import Final

from odradek.config.checks import (
    THROTTLED_REPLICAS,
    at_least,
    between,
    between_or,
    each_of,
    never,
    one_of,
)
from odradek.config.declare import Settings, Synonym, key, later, no_use, settings
from odradek.config.kinds import LONG_MAX, Double, Int, List, Long, Names
from odradek.config.units import DAY_MS, GIB, HOUR_MS, KIB, MIB, MINUTE_MS

_TIERED: Final = "there is no tiered storage"
_NO_TIERED: Final = no_use(_TIERED)


@settings
class TopicConfig(Settings):
    """One topic's effective configuration."""

    cleanup_policy: Names = key(
        "cleanup.policy",
        default=frozenset({"delete"}),
        check=each_of("compact", "delete"),
        synonyms=(Synonym("log.cleanup.policy"),),
        doc="What happens to old segments: delete, compact, both, or (empty) nothing.",
    )
    compression_type: str = key(
        "compression.type",
        default="producer",
        check=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonyms=(Synonym("compression.type"),),
        doc="Codec batches are stored in; producer keeps what the producer chose.",
    )
    compression_gzip_level: Int = key(
        "compression.gzip.level",
        default=-1,
        check=between_or(1, 9, -1),
        synonyms=(Synonym("compression.gzip.level"),),
        doc="Effort of gzip when the broker itself compresses.",
    )
    compression_lz4_level: Int = key(
        "compression.lz4.level",
        default=9,
        check=between(1, 17),
        synonyms=(Synonym("compression.lz4.level"),),
        doc="Effort of LZ4 when the broker itself compresses.",
    )
    compression_zstd_level: Int = key(
        "compression.zstd.level",
        default=3,
        check=between(-131_072, 22),
        synonyms=(Synonym("compression.zstd.level"),),
        doc="Effort of Zstandard when the broker itself compresses.",
    )
    delete_retention_ms: Long = key(
        "delete.retention.ms",
        default=DAY_MS,
        check=at_least(0),
        synonyms=(Synonym("log.cleaner.delete.retention.ms"),),
        doc="Keep deletion markers of a compacted topic this long.",
    )
    file_delete_delay_ms: Long = key(
        "file.delete.delay.ms",
        default=MINUTE_MS,
        check=at_least(0),
        synonyms=(Synonym("log.segment.delete.delay.ms"),),
        doc="Wait this long between renaming a dropped file and removing it.",
    )
    flush_messages: Long = key(
        "flush.messages",
        default=LONG_MAX,
        check=at_least(1),
        synonyms=(Synonym("log.flush.interval.messages"),),
        doc="Force the log to disk after so many records.",
    )
    flush_ms: Long = key(
        "flush.ms",
        default=LONG_MAX,
        check=at_least(0),
        synonyms=(Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
        doc="Force the log to disk when records have waited this long.",
    )
    follower_replication_throttled_replicas: List = key(
        "follower.replication.throttled.replicas",
        default=(),
        check=THROTTLED_REPLICAS,
        use=later("replication"),
        doc="Replicas whose fetching is throttled, partition:broker, or * for all.",
    )
    index_interval_bytes: Int = key(
        "index.interval.bytes",
        default=4 * KIB,
        check=at_least(0),
        synonyms=(Synonym("log.index.interval.bytes"),),
        doc="Write an index entry about every so many bytes of log.",
    )
    internal_segment_bytes: Int | None = key(
        "internal.segment.bytes",
        default=None,
        internal=True,
        use=no_use("segment.bytes takes small values itself"),
        doc="Segment size of Kafka's own tests.",
    )
    leader_replication_throttled_replicas: List = key(
        "leader.replication.throttled.replicas",
        default=(),
        check=THROTTLED_REPLICAS,
        use=later("replication"),
        doc="Replicas that a leader serves throttled, partition:broker, or * for all.",
    )
    local_retention_bytes: Long = key(
        "local.retention.bytes",
        default=-2,
        check=at_least(-2),
        use=_NO_TIERED,
        synonyms=(Synonym("log.local.retention.bytes"),),
        doc="Bytes of tiered records that also stay on local disk.",
    )
    local_retention_ms: Long = key(
        "local.retention.ms",
        default=-2,
        check=at_least(-2),
        use=_NO_TIERED,
        synonyms=(Synonym("log.local.retention.ms"),),
        doc="Time that tiered records also stay on local disk.",
    )
    max_compaction_lag_ms: Long = key(
        "max.compaction.lag.ms",
        default=LONG_MAX,
        check=at_least(1),
        synonyms=(Synonym("log.cleaner.max.compaction.lag.ms"),),
        doc="Clean the log at the latest when a record in it is this old.",
    )
    max_message_bytes: Int = key(
        "max.message.bytes",
        default=MIB + 12,
        check=at_least(0),
        synonyms=(Synonym("message.max.bytes"),),
        doc="Largest record batch accepted, after compression.",
    )
    message_timestamp_after_max_ms: Long = key(
        "message.timestamp.after.max.ms",
        default=HOUR_MS,
        check=at_least(0),
        synonyms=(Synonym("log.message.timestamp.after.max.ms"),),
        doc="Refuse records whose time lies further ahead than this.",
    )
    message_timestamp_before_max_ms: Long = key(
        "message.timestamp.before.max.ms",
        default=LONG_MAX,
        check=at_least(0),
        synonyms=(Synonym("log.message.timestamp.before.max.ms"),),
        doc="Refuse records whose time lies further back than this.",
    )
    message_timestamp_type: str = key(
        "message.timestamp.type",
        default="CreateTime",
        check=one_of("CreateTime", "LogAppendTime"),
        synonyms=(Synonym("log.message.timestamp.type"),),
        doc="Whether records carry the producer's time or the broker's.",
    )
    min_cleanable_dirty_ratio: Double = key(
        "min.cleanable.dirty.ratio",
        default=0.5,
        check=between(0, 1),
        synonyms=(Synonym("log.cleaner.min.cleanable.ratio"),),
        doc="Clean the log once this share of it is new.",
    )
    min_compaction_lag_ms: Long = key(
        "min.compaction.lag.ms",
        default=0,
        check=at_least(0),
        synonyms=(Synonym("log.cleaner.min.compaction.lag.ms"),),
        doc="Leave records alone until they are this old.",
    )
    min_insync_replicas: Int = key(
        "min.insync.replicas",
        default=1,
        check=at_least(1),
        synonyms=(Synonym("min.insync.replicas"),),
        doc="With acks=all, refuse a write while fewer replicas than this are in sync.",
    )
    preallocate: bool = key(
        "preallocate",
        default=False,
        use=no_use("segments grow as they are written"),
        synonyms=(Synonym("log.preallocate"),),
        doc="Reserve a segment's space when it is created.",
    )
    remote_log_copy_disable: bool = key(
        "remote.log.copy.disable",
        default=False,
        use=_NO_TIERED,
        doc="Stop copying segments out.",
    )
    remote_log_delete_on_disable: bool = key(
        "remote.log.delete.on.disable",
        default=False,
        use=_NO_TIERED,
        doc="Drop the remote segments when tiered storage is turned off.",
    )
    remote_storage_enable: bool = key(
        "remote.storage.enable",
        default=False,
        check=never(True, _TIERED),
        use=_NO_TIERED,
        doc="Keep older segments in remote storage.",
    )
    retention_bytes: Long = key(
        "retention.bytes",
        default=-1,
        synonyms=(Synonym("log.retention.bytes"),),
        doc="Keep at most this much per partition; -1 sets no limit.",
    )
    retention_ms: Long = key(
        "retention.ms",
        default=7 * DAY_MS,
        check=at_least(-1),
        synonyms=(
            Synonym("log.retention.ms"),
            Synonym("log.retention.minutes", MINUTE_MS),
            Synonym("log.retention.hours", HOUR_MS),
        ),
        doc="Keep records this long; -1 keeps them forever.",
    )
    # Kafka 4 refuses less than 1 MiB; earlier releases went down to 14 bytes, a record's overhead,
    # and so do we: small segments are how people watch rolling, retention and compaction happen.
    segment_bytes: Int = key(
        "segment.bytes",
        default=GIB,
        check=at_least(14),
        synonyms=(Synonym("log.segment.bytes"),),
        doc="Start a new segment once this size is reached.",
    )
    segment_index_bytes: Int = key(
        "segment.index.bytes",
        default=10 * MIB,
        check=at_least(4),
        synonyms=(Synonym("log.index.size.max.bytes"),),
        doc="Largest index of a segment; a full one rolls the segment.",
    )
    segment_jitter_ms: Long = key(
        "segment.jitter.ms",
        default=0,
        check=at_least(0),
        synonyms=(Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR_MS)),
        doc="Take up to this much off the rolling time, so that logs do not roll together.",
    )
    segment_ms: Long = key(
        "segment.ms",
        default=7 * DAY_MS,
        check=at_least(1),
        synonyms=(Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS)),
        doc="Start a new segment after this long.",
    )
    unclean_leader_election_enable: bool = key(
        "unclean.leader.election.enable",
        default=False,
        use=later("replication"),
        synonyms=(Synonym("unclean.leader.election.enable"),),
        doc="Allow a replica that is behind to become leader, which can lose records.",
    )


#: Topic keys that releases before 4.0 had, and what became of them.
REMOVED: Final = {
    "message.format.version": "records are stored in the current format only",
    "message.downconversion.enable": "clients older than 0.11 are refused",
    "message.timestamp.difference.max.ms": (
        "use message.timestamp.before.max.ms and message.timestamp.after.max.ms"
    ),
}
