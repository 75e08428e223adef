"""The configuration of one group (KIP-848, KIP-932, KIP-1071), over the broker's keys.

Declared now so that describing and altering groups' configurations is complete; the coordinators
use it once they are there.
"""

from __future__ import annotations

from odradek.config.checks import OFFSET_RESET, at_least, one_of
from odradek.config.declare import Settings, Synonym, key, later, settings
from odradek.config.kinds import Int


@settings
class GroupConfig(Settings):
    """One group's effective configuration."""

    consumer_assignment_interval_ms: Int = key(
        "consumer.assignment.interval.ms",
        default=1000,
        check=at_least(0),
        synonyms=(Synonym("group.consumer.assignment.interval.ms"),),
        doc="Shortest time between two assignments.",
    )
    consumer_heartbeat_interval_ms: Int = key(
        "consumer.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        synonyms=(Synonym("group.consumer.heartbeat.interval.ms"),),
        doc="Pace of heartbeats that members are told.",
    )
    consumer_session_timeout_ms: Int = key(
        "consumer.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        synonyms=(Synonym("group.consumer.session.timeout.ms"),),
        doc="Silence after which a member is removed.",
    )
    share_assignment_interval_ms: Int = key(
        "share.assignment.interval.ms",
        default=1000,
        check=at_least(0),
        use=later("share groups"),
        synonyms=(Synonym("group.share.assignment.interval.ms"),),
        doc="Shortest time between two assignments.",
    )
    share_auto_offset_reset: str = key(
        "share.auto.offset.reset",
        default="latest",
        check=OFFSET_RESET,
        use=later("share groups"),
        doc="Where a new share group starts.",
    )
    share_delivery_count_limit: Int = key(
        "share.delivery.count.limit",
        default=5,
        check=at_least(2),
        use=later("share groups"),
        synonyms=(Synonym("group.share.delivery.count.limit"),),
        doc="Deliveries of a record before it is given up.",
    )
    share_heartbeat_interval_ms: Int = key(
        "share.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        use=later("share groups"),
        synonyms=(Synonym("group.share.heartbeat.interval.ms"),),
        doc="Pace of heartbeats that members are told.",
    )
    share_isolation_level: str = key(
        "share.isolation.level",
        default="read_uncommitted",
        check=one_of("read_committed", "read_uncommitted"),
        use=later("share groups"),
        doc="Whether records of open and aborted transactions are delivered.",
    )
    share_partition_max_record_locks: Int = key(
        "share.partition.max.record.locks",
        default=2000,
        check=at_least(100),
        use=later("share groups"),
        synonyms=(Synonym("group.share.partition.max.record.locks"),),
        doc="Records of a partition in flight at a time.",
    )
    share_record_lock_duration_ms: Int = key(
        "share.record.lock.duration.ms",
        default=30_000,
        check=at_least(1000),
        use=later("share groups"),
        synonyms=(Synonym("group.share.record.lock.duration.ms"),),
        doc="Time a member has to acknowledge a record.",
    )
    share_renew_acknowledge_enable: bool = key(
        "share.renew.acknowledge.enable",
        default=True,
        use=later("share groups"),
        doc="Let members renew the lock on a record.",
    )
    share_session_timeout_ms: Int = key(
        "share.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        use=later("share groups"),
        synonyms=(Synonym("group.share.session.timeout.ms"),),
        doc="Silence after which a member is removed.",
    )
    streams_assignment_interval_ms: Int = key(
        "streams.assignment.interval.ms",
        default=1000,
        check=at_least(0),
        use=later("Streams groups"),
        synonyms=(Synonym("group.streams.assignment.interval.ms"),),
        doc="Shortest time between two assignments.",
    )
    streams_heartbeat_interval_ms: Int = key(
        "streams.heartbeat.interval.ms",
        default=5000,
        check=at_least(1),
        use=later("Streams groups"),
        synonyms=(Synonym("group.streams.heartbeat.interval.ms"),),
        doc="Pace of heartbeats that members are told.",
    )
    streams_initial_rebalance_delay_ms: Int = key(
        "streams.initial.rebalance.delay.ms",
        default=3000,
        check=at_least(0),
        use=later("Streams groups"),
        synonyms=(Synonym("group.streams.initial.rebalance.delay.ms"),),
        doc="Wait this long for more members before the first assignment.",
    )
    streams_num_standby_replicas: Int = key(
        "streams.num.standby.replicas",
        default=0,
        check=at_least(0),
        use=later("Streams groups"),
        synonyms=(Synonym("group.streams.num.standby.replicas"),),
        doc="Standby copies of each task.",
    )
    streams_session_timeout_ms: Int = key(
        "streams.session.timeout.ms",
        default=45_000,
        check=at_least(1),
        use=later("Streams groups"),
        synonyms=(Synonym("group.streams.session.timeout.ms"),),
        doc="Silence after which a member is removed.",
    )
