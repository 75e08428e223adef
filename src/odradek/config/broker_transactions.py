"""Broker keys about transactions."""

from __future__ import annotations

from odradek.config.checks import at_least
from odradek.config.declare import CLUSTER_WIDE, Settings, key, key_family, later
from odradek.config.kinds import Int, Short
from odradek.config.units import DAY_MS, HOUR_MS, MIB, MINUTE_MS


@key_family("Transactions")
class TransactionKeys(Settings):
    """Broker keys about transactions."""

    transaction_max_timeout_ms: Int = key(
        "transaction.max.timeout.ms",
        default=15 * MINUTE_MS,
        check=at_least(1),
        doc="Longest transaction time-out a producer may ask for.",
    )
    transactional_id_expiration_ms: Int = key(
        "transactional.id.expiration.ms",
        default=7 * DAY_MS,
        check=at_least(1),
        doc="Forget a transactional id that was silent this long.",
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: Int = key(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        default=10_000,
        check=at_least(1),
        doc="Look for timed-out transactions this often.",
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: Int = key(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        default=HOUR_MS,
        check=at_least(1),
        doc="Look for transactional ids to forget this often.",
    )
    transaction_partition_verification_enable: bool = key(
        "transaction.partition.verification.enable",
        default=True,
        dynamic=CLUSTER_WIDE,
        doc="Check that a partition belongs to the transaction before appending (KIP-890).",
    )
    transaction_two_phase_commit_enable: bool = key(
        "transaction.two.phase.commit.enable",
        default=False,
        use=later("two-phase commit"),
        doc="Let producers keep prepared transactions open (KIP-939).",
    )
    transaction_state_log_num_partitions: Int = key(
        "transaction.state.log.num.partitions",
        default=50,
        check=at_least(1),
        doc="Partitions of the transaction state topic.",
    )
    transaction_state_log_replication_factor: Short = key(
        "transaction.state.log.replication.factor",
        default=3,
        check=at_least(1),
        use=later("replication"),
        doc="Replicas of the transaction state topic.",
    )
    transaction_state_log_min_isr: Int = key(
        "transaction.state.log.min.isr",
        default=2,
        check=at_least(1),
        doc="In-sync replicas the transaction state topic needs.",
    )
    transaction_state_log_segment_bytes: Int = key(
        "transaction.state.log.segment.bytes",
        default=100 * MIB,
        check=at_least(1),
        doc="Segment size of the transaction state topic.",
    )
    transaction_state_log_load_buffer_size: Int = key(
        "transaction.state.log.load.buffer.size",
        default=5 * MIB,
        check=at_least(1),
        doc="Bytes read at a time when loading transactions.",
    )
    add_partitions_to_txn_retry_backoff_ms: Int = key(
        "add.partitions.to.txn.retry.backoff.ms",
        default=20,
        check=at_least(1),
        use=later("replication"),
        doc="First pause when adding a partition to a transaction must be repeated.",
    )
    add_partitions_to_txn_retry_backoff_max_ms: Int = key(
        "add.partitions.to.txn.retry.backoff.max.ms",
        default=100,
        check=at_least(0),
        use=later("replication"),
        doc="Longest such pause altogether.",
    )
