"""Broker keys of KRaft; accepted so that a current Kafka file can be used as it is."""

from __future__ import annotations

from odradek.config.checks import at_least, each_of
from odradek.config.declare import EFFECTIVE, Settings, key, key_family, no_use
from odradek.config.kinds import Int, List, Long
from odradek.config.units import DAY_MS, GIB, HOUR_MS, MIB, MINUTE_MS


@key_family(
    "KRaft quorum",
    use=no_use("there is no KRaft quorum: one node needs none, a cluster uses ZooKeeper"),
)
class QuorumKeys(Settings):
    """Broker keys of KRaft; accepted so that a current Kafka file can be used as it is."""

    process_roles: List = key(
        "process.roles",
        default=(),
        check=each_of("broker", "controller"),
        doc="Whether the node is a broker, a controller, or both.",
    )
    controller_listener_names: List = key(
        "controller.listener.names",
        default=(),
        use=EFFECTIVE,
        doc="Listeners of the controllers; they are left out of listeners.",
    )
    controller_quorum_voters: List = key(
        "controller.quorum.voters", default=(), doc="Controllers of the quorum, id@host:port."
    )
    controller_quorum_bootstrap_servers: List = key(
        "controller.quorum.bootstrap.servers",
        default=(),
        doc="Addresses to find the controllers at.",
    )
    controller_quorum_auto_join_enable: bool = key(
        "controller.quorum.auto.join.enable",
        default=False,
        doc="Let a new controller join the quorum by itself.",
    )
    controller_quorum_append_linger_ms: Int = key(
        "controller.quorum.append.linger.ms",
        default=25,
        check=at_least(0),
        doc="Gather metadata records this long before writing.",
    )
    controller_quorum_election_backoff_max_ms: Int = key(
        "controller.quorum.election.backoff.max.ms",
        default=1000,
        check=at_least(0),
        doc="Longest pause between elections.",
    )
    controller_quorum_election_timeout_ms: Int = key(
        "controller.quorum.election.timeout.ms",
        default=1000,
        check=at_least(0),
        doc="Start an election when a candidate got no majority in this time.",
    )
    controller_quorum_fetch_max_bytes: Int = key(
        "controller.quorum.fetch.max.bytes",
        default=MIB,
        check=at_least(1),
        doc="Most bytes of metadata fetched at once.",
    )
    controller_quorum_fetch_snapshot_max_bytes: Int = key(
        "controller.quorum.fetch.snapshot.max.bytes",
        default=MIB,
        check=at_least(1),
        doc="Most bytes of a snapshot fetched at once.",
    )
    controller_quorum_fetch_timeout_ms: Int = key(
        "controller.quorum.fetch.timeout.ms",
        default=2000,
        check=at_least(0),
        doc="Silence of the leader before an election.",
    )
    controller_quorum_request_timeout_ms: Int = key(
        "controller.quorum.request.timeout.ms",
        default=2000,
        check=at_least(0),
        doc="Give up on a controller's answer after this long.",
    )
    controller_quorum_retry_backoff_ms: Int = key(
        "controller.quorum.retry.backoff.ms",
        default=20,
        check=at_least(0),
        doc="Pause after a failed request to a controller.",
    )
    controller_performance_always_log_threshold_ms: Long = key(
        "controller.performance.always.log.threshold.ms",
        default=2000,
        check=at_least(0),
        internal=True,
        doc="Log controller events slower than this.",
    )
    controller_performance_sample_period_ms: Long = key(
        "controller.performance.sample.period.ms",
        default=MINUTE_MS,
        check=at_least(100),
        internal=True,
        doc="Report on controller events this often.",
    )
    metadata_log_dir: str | None = key(
        "metadata.log.dir", default=None, doc="Folder of the metadata log."
    )
    metadata_log_segment_bytes: Int = key(
        "metadata.log.segment.bytes",
        default=GIB,
        check=at_least(8 * MIB),
        doc="Segment size of the metadata log.",
    )
    metadata_log_segment_ms: Long = key(
        "metadata.log.segment.ms", default=7 * DAY_MS, doc="Segment age of the metadata log."
    )
    metadata_log_max_record_bytes_between_snapshots: Long = key(
        "metadata.log.max.record.bytes.between.snapshots",
        default=20 * MIB,
        check=at_least(1),
        doc="Bytes of metadata between two snapshots.",
    )
    metadata_log_max_snapshot_interval_ms: Long = key(
        "metadata.log.max.snapshot.interval.ms",
        default=HOUR_MS,
        check=at_least(0),
        doc="Time between two snapshots.",
    )
    metadata_max_idle_interval_ms: Int = key(
        "metadata.max.idle.interval.ms",
        default=500,
        check=at_least(0),
        doc="Pace of empty records in the metadata log.",
    )
    metadata_max_retention_bytes: Long = key(
        "metadata.max.retention.bytes", default=100 * MIB, doc="Size of old metadata that is kept."
    )
    metadata_max_retention_ms: Long = key(
        "metadata.max.retention.ms", default=7 * DAY_MS, doc="Age of old metadata that is kept."
    )
    internal_metadata_delete_delay_millis: Long = key(
        "internal.metadata.delete.delay.millis",
        default=MINUTE_MS,
        internal=True,
        doc="Wait before removing files of the metadata log.",
    )
    internal_metadata_log_segment_bytes: Int | None = key(
        "internal.metadata.log.segment.bytes",
        default=None,
        internal=True,
        doc="Segment size of the metadata log, for tests.",
    )
    internal_metadata_max_batch_size_in_bytes: Int = key(
        "internal.metadata.max.batch.size.in.bytes",
        default=8 * MIB,
        internal=True,
        doc="Largest batch of the metadata log.",
    )
