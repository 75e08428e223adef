"""Broker keys about consumer groups and their offsets."""

from __future__ import annotations

from odradek.config.checks import at_least, between, each_of, one_of_any_case
from odradek.config.declare import CLUSTER_WIDE, Settings, key, key_family, later, no_use
from odradek.config.kinds import INT_MAX, Int, List, Long, Short
from odradek.config.units import KIB, MIB, MINUTE_MS


@key_family("Groups and offsets")
class GroupKeys(Settings):
    """Broker keys about consumer groups and their offsets."""

    group_min_session_timeout_ms: Int = key(
        "group.min.session.timeout.ms",
        default=6000,
        doc="Shortest session time-out a classic member may ask for.",
    )
    group_max_session_timeout_ms: Int = key(
        "group.max.session.timeout.ms",
        default=30 * MINUTE_MS,
        doc="Longest session time-out a classic member may ask for.",
    )
    group_max_size: Int = key(
        "group.max.size", default=INT_MAX, check=at_least(1), doc="Most members of a classic group."
    )
    group_initial_rebalance_delay_ms: Int = key(
        "group.initial.rebalance.delay.ms",
        default=3000,
        doc="Wait this long for more members before the first assignment.",
    )
    group_coordinator_rebalance_protocols: List = key(
        "group.coordinator.rebalance.protocols",
        default=("classic", "consumer", "streams"),
        check=each_of("consumer", "classic", "share", "streams"),
        doc="Kinds of groups that are served.",
    )
    group_coordinator_threads: Int = key(
        "group.coordinator.threads",
        default=4,
        check=at_least(1),
        use=no_use("one thread owns all groups"),
        doc="Coordinator threads in Kafka.",
    )
    group_coordinator_background_threads: Int = key(
        "group.coordinator.background.threads",
        default=2,
        check=at_least(1),
        use=no_use("one thread owns all groups"),
        doc="Background coordinator threads in Kafka.",
    )
    group_coordinator_append_linger_ms: Int = key(
        "group.coordinator.append.linger.ms",
        default=-1,
        check=at_least(-1),
        use=no_use("records are written as they come"),
        doc="Gather coordinator records this long before writing; -1 adapts.",
    )
    group_coordinator_cached_buffer_max_bytes: Int = key(
        "group.coordinator.cached.buffer.max.bytes",
        default=1_048_588,
        check=at_least(512 * KIB),
        dynamic=CLUSTER_WIDE,
        use=no_use("no write buffers are kept"),
        doc="Largest write buffer the coordinator keeps.",
    )
    group_consumer_assignors: List = key(
        "group.consumer.assignors",
        default=("uniform", "range"),
        doc="Assignors of the broker, the first is the default.",
    )
    group_consumer_migration_policy: str = key(
        "group.consumer.migration.policy",
        default="bidirectional",
        check=one_of_any_case("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
        doc="Which ways a group may move between the classic and the new protocol.",
    )
    group_consumer_max_size: Int = key(
        "group.consumer.max.size",
        default=INT_MAX,
        check=at_least(1),
        doc="Most members of a consumer group.",
    )
    group_consumer_session_timeout_ms: Int = key(
        "group.consumer.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        doc="Silence after which a member is removed.",
    )
    group_consumer_min_session_timeout_ms: Int = key(
        "group.consumer.min.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        doc="Lowest session time-out a group may be given.",
    )
    group_consumer_max_session_timeout_ms: Int = key(
        "group.consumer.max.session.timeout.ms",
        default=MINUTE_MS,
        check=at_least(1),
        doc="Highest session time-out a group may be given.",
    )
    group_consumer_heartbeat_interval_ms: Int = key(
        "group.consumer.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        doc="Pace of heartbeats that members are told.",
    )
    group_consumer_min_heartbeat_interval_ms: Int = key(
        "group.consumer.min.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        doc="Lowest heartbeat interval a group may be given.",
    )
    group_consumer_max_heartbeat_interval_ms: Int = key(
        "group.consumer.max.heartbeat.interval.ms",
        default=15_000,
        check=at_least(1),
        doc="Highest heartbeat interval a group may be given.",
    )
    group_consumer_assignment_interval_ms: Int = key(
        "group.consumer.assignment.interval.ms",
        default=1000,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Shortest time between two assignments of a group.",
    )
    group_consumer_min_assignment_interval_ms: Int = key(
        "group.consumer.min.assignment.interval.ms",
        default=0,
        check=at_least(0),
        doc="Lowest assignment interval a group may be given.",
    )
    group_consumer_max_assignment_interval_ms: Int = key(
        "group.consumer.max.assignment.interval.ms",
        default=15_000,
        check=at_least(0),
        doc="Highest assignment interval a group may be given.",
    )
    group_consumer_regex_refresh_interval_ms: Int = key(
        "group.consumer.regex.refresh.interval.ms",
        default=10 * MINUTE_MS,
        check=at_least(10_000),
        internal=True,
        doc="Look up the topics of pattern subscriptions this often.",
    )
    offset_metadata_max_bytes: Int = key(
        "offset.metadata.max.bytes",
        default=4 * KIB,
        doc="Longest note a client may commit with an offset.",
    )
    offsets_commit_timeout_ms: Int = key(
        "offsets.commit.timeout.ms",
        default=5000,
        check=at_least(1),
        doc="Give up on a commit that is not replicated after this long.",
    )
    offsets_load_buffer_size: Int = key(
        "offsets.load.buffer.size",
        default=5 * MIB,
        check=at_least(1),
        doc="Bytes read at a time when loading offsets.",
    )
    offsets_retention_minutes: Int = key(
        "offsets.retention.minutes",
        default=10_080,
        check=at_least(1),
        doc="Keep the offsets of an empty group so many minutes.",
    )
    offsets_retention_check_interval_ms: Long = key(
        "offsets.retention.check.interval.ms",
        default=10 * MINUTE_MS,
        check=at_least(1),
        doc="Look for old offsets this often.",
    )
    offsets_topic_num_partitions: Int = key(
        "offsets.topic.num.partitions",
        default=50,
        check=at_least(1),
        doc="Partitions of the offsets topic.",
    )
    offsets_topic_replication_factor: Short = key(
        "offsets.topic.replication.factor",
        default=3,
        check=at_least(1),
        use=later("replication"),
        doc="Replicas of the offsets topic.",
    )
    offsets_topic_segment_bytes: Int = key(
        "offsets.topic.segment.bytes",
        default=100 * MIB,
        check=at_least(1),
        doc="Segment size of the offsets topic.",
    )
    offsets_topic_compression_codec: Int = key(
        "offsets.topic.compression.codec",
        default=0,
        check=between(0, 4),
        doc="Codec of the offsets topic, as its number.",
    )
    offsets_commit_required_acks: Short = key(
        "offsets.commit.required.acks",
        default=-1,
        use=no_use("a commit always waits for all in-sync replicas"),
        doc="Acknowledgements a commit waits for; dropped in Kafka 4.0.",
    )
