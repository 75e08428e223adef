"""Broker keys about client and replication quotas."""

from __future__ import annotations

from odradek.config.checks import at_least
from odradek.config.declare import Settings, key, key_family, later, no_use
from odradek.config.kinds import LONG_MAX, ClassName, Int, Long


@key_family("Quotas", use=later("quotas"))
class QuotaKeys(Settings):
    """Broker keys about client and replication quotas."""

    quota_window_num: Int = key(
        "quota.window.num",
        default=11,
        check=at_least(1),
        doc="Samples a client's rate is measured over.",
    )
    quota_window_size_seconds: Int = key(
        "quota.window.size.seconds",
        default=1,
        check=at_least(1),
        doc="Length of one sample of a client's rate.",
    )
    replication_quota_window_num: Int = key(
        "replication.quota.window.num",
        default=11,
        check=at_least(1),
        doc="Samples the replication rate is measured over.",
    )
    replication_quota_window_size_seconds: Int = key(
        "replication.quota.window.size.seconds",
        default=1,
        check=at_least(1),
        doc="Length of one sample of the replication rate.",
    )
    alter_log_dirs_replication_quota_window_num: Int = key(
        "alter.log.dirs.replication.quota.window.num",
        default=11,
        check=at_least(1),
        doc="Samples the rate of moves between folders is measured over.",
    )
    alter_log_dirs_replication_quota_window_size_seconds: Int = key(
        "alter.log.dirs.replication.quota.window.size.seconds",
        default=1,
        check=at_least(1),
        doc="Length of one sample of that rate.",
    )
    controller_quota_window_num: Int = key(
        "controller.quota.window.num",
        default=11,
        check=at_least(1),
        doc="Samples the rate of topic changes is measured over.",
    )
    controller_quota_window_size_seconds: Int = key(
        "controller.quota.window.size.seconds",
        default=1,
        check=at_least(1),
        doc="Length of one sample of that rate.",
    )
    client_quota_callback_class: ClassName | None = key(
        "client.quota.callback.class",
        default=None,
        use=no_use("a Java class cannot run here"),
        doc="Class that decides clients' quotas.",
    )
    quota_producer_default: Long = key(
        "quota.producer.default",
        default=LONG_MAX,
        check=at_least(1),
        doc="Bytes per second of a producer without a quota of its own; dropped in Kafka 3.0.",
    )
    quota_consumer_default: Long = key(
        "quota.consumer.default",
        default=LONG_MAX,
        check=at_least(1),
        doc="Bytes per second of a consumer without a quota of its own; dropped in Kafka 3.0.",
    )
