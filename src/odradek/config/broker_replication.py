"""Broker keys about replicas, leaders and the controller."""

from __future__ import annotations

from odradek.config.checks import at_least
from odradek.config.declare import (
    CLUSTER_WIDE,
    EFFECTIVE,
    PER_BROKER,
    Settings,
    key,
    key_family,
    later,
    no_use,
)
from odradek.config.kinds import LONG_MAX, Int, Long
from odradek.config.units import KIB, MIB, MINUTE_MS


@key_family("Replication", use=later("replication"))
class ReplicationKeys(Settings):
    """Broker keys about replicas, leaders and the controller."""

    num_replica_fetchers: Int = key(
        "num.replica.fetchers",
        default=1,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Connections to each leader that followers fetch over.",
    )
    replica_lag_time_max_ms: Long = key(
        "replica.lag.time.max.ms",
        default=30_000,
        doc="A follower not caught up for this long leaves the in-sync replicas.",
    )
    replica_fetch_max_bytes: Int = key(
        "replica.fetch.max.bytes",
        default=MIB,
        check=at_least(0),
        doc="Bytes a follower asks for per partition.",
    )
    replica_fetch_min_bytes: Int = key(
        "replica.fetch.min.bytes",
        default=1,
        doc="Bytes a follower wants before the leader answers.",
    )
    replica_fetch_response_max_bytes: Int = key(
        "replica.fetch.response.max.bytes",
        default=10 * MIB,
        check=at_least(0),
        doc="Bytes a follower asks for in one fetch.",
    )
    replica_fetch_wait_max_ms: Int = key(
        "replica.fetch.wait.max.ms",
        default=500,
        doc="Longest a leader lets a follower's fetch wait.",
    )
    replica_fetch_backoff_ms: Int = key(
        "replica.fetch.backoff.ms",
        default=1000,
        check=at_least(0),
        doc="Pause after a failed fetch of a follower.",
    )
    replica_high_watermark_checkpoint_interval_ms: Long = key(
        "replica.high.watermark.checkpoint.interval.ms",
        default=5000,
        use=EFFECTIVE,
        doc="Save the high watermarks this often.",
    )
    replica_socket_timeout_ms: Int = key(
        "replica.socket.timeout.ms",
        default=30_000,
        doc="Give up on a leader's answer after this long.",
    )
    replica_socket_receive_buffer_bytes: Int = key(
        "replica.socket.receive.buffer.bytes",
        default=64 * KIB,
        doc="SO_RCVBUF of the connections to leaders.",
    )
    replica_selector_class: str | None = key(
        "replica.selector.class",
        default=None,
        doc="How a consumer's preferred replica is chosen (KIP-392).",
    )
    follower_fetch_last_tiered_offset_enable: bool = key(
        "follower.fetch.last.tiered.offset.enable",
        default=False,
        dynamic=CLUSTER_WIDE,
        use=no_use("there is no tiered storage"),
        doc="Let a new follower start at the last tiered offset.",
    )
    num_replica_alter_log_dirs_threads: Int | None = key(
        "num.replica.alter.log.dirs.threads",
        default=None,
        doc="Replicas moved between folders at a time.",
    )
    unclean_leader_election_enable: bool = key(
        "unclean.leader.election.enable",
        default=False,
        dynamic=CLUSTER_WIDE,
        doc="Allow a replica that is behind to become leader, which can lose records.",
    )
    unclean_leader_election_interval_ms: Long = key(
        "unclean.leader.election.interval.ms",
        default=5 * MINUTE_MS,
        check=at_least(1),
        internal=True,
        doc="Look for partitions to elect uncleanly this often.",
    )
    auto_leader_rebalance_enable: bool = key(
        "auto.leader.rebalance.enable",
        default=True,
        doc="Give leadership back to preferred replicas by itself.",
    )
    leader_imbalance_check_interval_seconds: Long = key(
        "leader.imbalance.check.interval.seconds",
        default=300,
        check=at_least(1),
        doc="Look for leaders to give back this often.",
    )
    controlled_shutdown_enable: bool = key(
        "controlled.shutdown.enable", default=True, doc="Hand leadership over before stopping."
    )
    controller_socket_timeout_ms: Int = key(
        "controller.socket.timeout.ms",
        default=30_000,
        doc="Give up on the controller's answer after this long.",
    )
    broker_heartbeat_interval_ms: Int = key(
        "broker.heartbeat.interval.ms",
        default=2000,
        use=no_use("liveness is the coordination store's session"),
        doc="Pace of a broker's heartbeats to the controller in KRaft.",
    )
    broker_session_timeout_ms: Int = key(
        "broker.session.timeout.ms",
        default=9000,
        use=no_use("liveness is the coordination store's session"),
        doc="Silence after which KRaft fences a broker.",
    )
    initial_broker_registration_timeout_ms: Int = key(
        "initial.broker.registration.timeout.ms",
        default=MINUTE_MS,
        use=no_use("brokers register in the coordination store"),
        doc="Time a KRaft broker has to register.",
    )
    fetch_purgatory_purge_interval_requests: Int = key(
        "fetch.purgatory.purge.interval.requests",
        default=1000,
        use=no_use("completed waits are dropped at once"),
        doc="Waiting fetches between two clean-ups in Kafka.",
    )
    producer_purgatory_purge_interval_requests: Int = key(
        "producer.purgatory.purge.interval.requests",
        default=1000,
        use=no_use("completed waits are dropped at once"),
        doc="Waiting produces between two clean-ups in Kafka.",
    )
    delete_records_purgatory_purge_interval_requests: Int = key(
        "delete.records.purgatory.purge.interval.requests",
        default=1,
        use=no_use("completed waits are dropped at once"),
        doc="Waiting deletes between two clean-ups in Kafka.",
    )
    share_fetch_purgatory_purge_interval_requests: Int = key(
        "share.fetch.purgatory.purge.interval.requests",
        default=1000,
        use=no_use("completed waits are dropped at once"),
        doc="Waiting share fetches between two clean-ups in Kafka.",
    )
    leader_replication_throttled_rate: Long = key(
        "leader.replication.throttled.rate",
        default=LONG_MAX,
        check=at_least(0),
        dynamic=PER_BROKER,
        doc="Bytes per second a leader sends to throttled replicas.",
    )
    follower_replication_throttled_rate: Long = key(
        "follower.replication.throttled.rate",
        default=LONG_MAX,
        check=at_least(0),
        dynamic=PER_BROKER,
        doc="Bytes per second a follower fetches for throttled replicas.",
    )
    replica_alter_log_dirs_io_max_bytes_per_second: Long = key(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        default=LONG_MAX,
        check=at_least(0),
        dynamic=PER_BROKER,
        doc="Bytes per second copied between folders of a broker.",
    )
