"""Broker keys about streams groups (KIP-1071) and share groups (KIP-932)."""

from __future__ import annotations

from odradek.config.checks import at_least, between
from odradek.config.declare import CLUSTER_WIDE, Settings, key, key_family, later, no_use
from odradek.config.kinds import INT_MAX, Int, List, Short
from odradek.config.units import HOUR_MS, KIB, MIB, MINUTE_MS


@key_family("Streams groups", use=later("Streams groups"))
class StreamsGroupKeys(Settings):
    """Broker keys about groups of Kafka Streams applications (KIP-1071)."""

    group_streams_max_size: Int = key(
        "group.streams.max.size",
        default=INT_MAX,
        check=at_least(1),
        doc="Most members of a streams group.",
    )
    group_streams_session_timeout_ms: Int = key(
        "group.streams.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        doc="Silence after which a member is removed.",
    )
    group_streams_min_session_timeout_ms: Int = key(
        "group.streams.min.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        doc="Lowest session time-out a group may be given.",
    )
    group_streams_max_session_timeout_ms: Int = key(
        "group.streams.max.session.timeout.ms",
        default=MINUTE_MS,
        check=at_least(1),
        doc="Highest session time-out a group may be given.",
    )
    group_streams_heartbeat_interval_ms: Int = key(
        "group.streams.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        doc="Pace of heartbeats that members are told.",
    )
    group_streams_min_heartbeat_interval_ms: Int = key(
        "group.streams.min.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        doc="Lowest heartbeat interval a group may be given.",
    )
    group_streams_max_heartbeat_interval_ms: Int = key(
        "group.streams.max.heartbeat.interval.ms",
        default=15_000,
        check=at_least(1),
        doc="Highest heartbeat interval a group may be given.",
    )
    group_streams_assignment_interval_ms: Int = key(
        "group.streams.assignment.interval.ms",
        default=1000,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Shortest time between two assignments of a group.",
    )
    group_streams_min_assignment_interval_ms: Int = key(
        "group.streams.min.assignment.interval.ms",
        default=0,
        check=at_least(0),
        doc="Lowest assignment interval a group may be given.",
    )
    group_streams_max_assignment_interval_ms: Int = key(
        "group.streams.max.assignment.interval.ms",
        default=15_000,
        check=at_least(0),
        doc="Highest assignment interval a group may be given.",
    )
    group_streams_initial_rebalance_delay_ms: Int = key(
        "group.streams.initial.rebalance.delay.ms",
        default=3000,
        check=at_least(0),
        doc="Wait this long for more members before the first assignment.",
    )
    group_streams_num_standby_replicas: Int = key(
        "group.streams.num.standby.replicas",
        default=0,
        check=at_least(0),
        doc="Standby copies of each task.",
    )
    group_streams_max_standby_replicas: Int = key(
        "group.streams.max.standby.replicas",
        default=2,
        check=at_least(0),
        doc="Most standby copies a group may be given.",
    )


@key_family("Share groups", use=later("share groups"))
class ShareGroupKeys(Settings):
    """Broker keys about share groups, whose members take records one by one (KIP-932)."""

    group_share_assignors: List = key(
        "group.share.assignors", default=("simple",), doc="Assignors of share groups."
    )
    group_share_max_size: Int = key(
        "group.share.max.size",
        default=200,
        check=between(1, 1000),
        doc="Most members of a share group.",
    )
    group_share_max_share_sessions: Int = key(
        "group.share.max.share.sessions",
        default=2000,
        check=at_least(1),
        doc="Share sessions kept at a time.",
    )
    group_share_session_timeout_ms: Int = key(
        "group.share.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        doc="Silence after which a member is removed.",
    )
    group_share_min_session_timeout_ms: Int = key(
        "group.share.min.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        doc="Lowest session time-out a group may be given.",
    )
    group_share_max_session_timeout_ms: Int = key(
        "group.share.max.session.timeout.ms",
        default=MINUTE_MS,
        check=at_least(1),
        doc="Highest session time-out a group may be given.",
    )
    group_share_heartbeat_interval_ms: Int = key(
        "group.share.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        doc="Pace of heartbeats that members are told.",
    )
    group_share_min_heartbeat_interval_ms: Int = key(
        "group.share.min.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        doc="Lowest heartbeat interval a group may be given.",
    )
    group_share_max_heartbeat_interval_ms: Int = key(
        "group.share.max.heartbeat.interval.ms",
        default=15_000,
        check=at_least(1),
        doc="Highest heartbeat interval a group may be given.",
    )
    group_share_assignment_interval_ms: Int = key(
        "group.share.assignment.interval.ms",
        default=1000,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Shortest time between two assignments of a group.",
    )
    group_share_min_assignment_interval_ms: Int = key(
        "group.share.min.assignment.interval.ms",
        default=0,
        check=at_least(0),
        doc="Lowest assignment interval a group may be given.",
    )
    group_share_max_assignment_interval_ms: Int = key(
        "group.share.max.assignment.interval.ms",
        default=15_000,
        check=at_least(0),
        doc="Highest assignment interval a group may be given.",
    )
    group_share_delivery_count_limit: Int = key(
        "group.share.delivery.count.limit",
        default=5,
        check=between(2, 10),
        doc="Deliveries of a record before it is given up.",
    )
    group_share_min_delivery_count_limit: Int = key(
        "group.share.min.delivery.count.limit",
        default=2,
        check=between(2, 5),
        doc="Lowest delivery limit a group may be given.",
    )
    group_share_max_delivery_count_limit: Int = key(
        "group.share.max.delivery.count.limit",
        default=10,
        check=between(5, 25),
        doc="Highest delivery limit a group may be given.",
    )
    group_share_record_lock_duration_ms: Int = key(
        "group.share.record.lock.duration.ms",
        default=30_000,
        check=between(1000, HOUR_MS),
        doc="Time a member has to acknowledge a record.",
    )
    group_share_min_record_lock_duration_ms: Int = key(
        "group.share.min.record.lock.duration.ms",
        default=15_000,
        check=between(1000, 30_000),
        doc="Shortest lock a group may be given.",
    )
    group_share_max_record_lock_duration_ms: Int = key(
        "group.share.max.record.lock.duration.ms",
        default=MINUTE_MS,
        check=between(30_000, HOUR_MS),
        doc="Longest lock a group may be given.",
    )
    group_share_partition_max_record_locks: Int = key(
        "group.share.partition.max.record.locks",
        default=2000,
        check=between(100, 10_000),
        doc="Records of a partition in flight at a time.",
    )
    group_share_min_partition_max_record_locks: Int = key(
        "group.share.min.partition.max.record.locks",
        default=100,
        check=between(100, 2000),
        doc="Lowest such limit a group may be given.",
    )
    group_share_max_partition_max_record_locks: Int = key(
        "group.share.max.partition.max.record.locks",
        default=4000,
        check=between(2000, 10_000),
        doc="Highest such limit a group may be given.",
    )
    group_share_initialize_retry_interval_ms: Int = key(
        "group.share.initialize.retry.interval.ms",
        default=30_000,
        check=at_least(1),
        internal=True,
        doc="Try again to set up a share partition after this long.",
    )
    group_share_persister_class_name: str = key(
        "group.share.persister.class.name",
        default="org.apache.kafka.server.share.persister.DefaultStatePersister",
        use=no_use("a Java class cannot run here"),
        internal=True,
        doc="Class that stores the state of share groups.",
    )
    share_coordinator_append_linger_ms: Int = key(
        "share.coordinator.append.linger.ms",
        default=-1,
        check=at_least(-1),
        doc="Gather coordinator records this long before writing; -1 adapts.",
    )
    share_coordinator_cached_buffer_max_bytes: Int = key(
        "share.coordinator.cached.buffer.max.bytes",
        default=1_048_588,
        check=at_least(512 * KIB),
        dynamic=CLUSTER_WIDE,
        doc="Largest write buffer the coordinator keeps.",
    )
    share_coordinator_cold_partition_snapshot_interval_ms: Int = key(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        default=5 * MINUTE_MS,
        check=at_least(1),
        internal=True,
        doc="Write a snapshot of quiet share partitions this often.",
    )
    share_coordinator_load_buffer_size: Int = key(
        "share.coordinator.load.buffer.size",
        default=5 * MIB,
        check=at_least(1),
        doc="Bytes read at a time when loading state.",
    )
    share_coordinator_snapshot_update_records_per_snapshot: Int = key(
        "share.coordinator.snapshot.update.records.per.snapshot",
        default=500,
        check=between(0, 500),
        doc="Updates written between two snapshots.",
    )
    share_coordinator_state_topic_compression_codec: Int = key(
        "share.coordinator.state.topic.compression.codec",
        default=0,
        doc="Codec of the share state topic, as its number.",
    )
    share_coordinator_state_topic_min_isr: Short = key(
        "share.coordinator.state.topic.min.isr",
        default=2,
        check=at_least(1),
        doc="In-sync replicas the share state topic needs.",
    )
    share_coordinator_state_topic_num_partitions: Int = key(
        "share.coordinator.state.topic.num.partitions",
        default=50,
        check=at_least(1),
        doc="Partitions of the share state topic.",
    )
    share_coordinator_state_topic_prune_interval_ms: Int = key(
        "share.coordinator.state.topic.prune.interval.ms",
        default=5 * MINUTE_MS,
        check=at_least(1),
        internal=True,
        doc="Drop state that is no longer needed this often.",
    )
    share_coordinator_state_topic_replication_factor: Short = key(
        "share.coordinator.state.topic.replication.factor",
        default=3,
        check=at_least(1),
        doc="Replicas of the share state topic.",
    )
    share_coordinator_state_topic_segment_bytes: Int = key(
        "share.coordinator.state.topic.segment.bytes",
        default=100 * MIB,
        check=at_least(1),
        doc="Segment size of the share state topic.",
    )
    share_coordinator_threads: Int = key(
        "share.coordinator.threads",
        default=1,
        check=at_least(1),
        use=no_use("one thread owns all groups"),
        doc="Coordinator threads in Kafka.",
    )
    share_coordinator_write_timeout_ms: Int = key(
        "share.coordinator.write.timeout.ms",
        default=5000,
        check=at_least(1),
        doc="Give up on a state write that is not replicated after this long.",
    )
