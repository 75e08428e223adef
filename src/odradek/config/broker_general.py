"""Broker keys about the node itself: its number and place, its threads, its measurements; our own."""

from __future__ import annotations

from odradek.config.checks import at_least, between
from odradek.config.declare import CLUSTER_WIDE, Settings, key, key_family, later, no_use
from odradek.config.kinds import LONG_MAX, Int, List, Long
from odradek.config.units import MIB


@key_family("The node")
class GeneralKeys(Settings):
    """The node's number, its place, its threads and measurements."""

    node_id: Int = key(
        "node.id",
        default=1,
        check=at_least(0),
        doc="Number of this node, unique in the cluster; the same as broker.id.",
    )
    broker_id: Int = key(
        "broker.id",
        default=1,
        check=at_least(0),
        doc="Older name of node.id; set one of them, or both to the same number.",
    )
    broker_rack: str | None = key(
        "broker.rack",
        default=None,
        doc="Rack of this broker, for placing replicas apart and reading nearby.",
    )
    config_providers: List = key(
        "config.providers",
        default=(),
        dynamic=CLUSTER_WIDE,
        use=later("configuration providers"),
        doc="Sources that values of the form ${provider:…} are read from.",
    )
    num_io_threads: Int = key(
        "num.io.threads",
        default=8,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        use=no_use("one thread serves all requests; see odradek.io.threads for blocking work"),
        doc="Request threads in Kafka.",
    )
    num_network_threads: Int = key(
        "num.network.threads",
        default=3,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        use=no_use("one thread owns all connections"),
        doc="Network threads in Kafka.",
    )
    background_threads: Int = key(
        "background.threads",
        default=10,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        use=no_use("see odradek.io.threads"),
        doc="Threads for background work in Kafka.",
    )
    server_max_startup_time_ms: Long = key(
        "server.max.startup.time.ms",
        default=LONG_MAX,
        check=at_least(0),
        use=no_use("a start is bounded by the recovery of the logs alone"),
        internal=True,
        doc="Give up starting after this long in Kafka.",
    )
    unstable_api_versions_enable: bool = key(
        "unstable.api.versions.enable",
        default=False,
        use=no_use("only released versions are implemented"),
        internal=True,
        doc="Serve API versions still being developed.",
    )
    unstable_feature_versions_enable: bool = key(
        "unstable.feature.versions.enable",
        default=False,
        use=no_use("only released levels are implemented"),
        internal=True,
        doc="Allow feature levels still being developed.",
    )
    metric_reporters: List = key(
        "metric.reporters",
        default=("org.apache.kafka.common.metrics.JmxReporter",),
        dynamic=CLUSTER_WIDE,
        use=no_use("metrics are served on odradek.http.listener"),
        doc="Classes that metrics are reported to.",
    )
    metrics_num_samples: Int = key(
        "metrics.num.samples",
        default=2,
        check=at_least(1),
        use=no_use("counters and histograms are not sampled"),
        doc="Samples behind each averaged metric.",
    )
    metrics_recording_level: str = key(
        "metrics.recording.level",
        default="INFO",
        use=no_use("every metric is always recorded"),
        doc="Detail of recorded metrics.",
    )
    metrics_sample_window_ms: Long = key(
        "metrics.sample.window.ms",
        default=30_000,
        check=at_least(1),
        use=no_use("counters and histograms are not sampled"),
        doc="Length of a metric's sampling window.",
    )
    kafka_metrics_polling_interval_secs: Int = key(
        "kafka.metrics.polling.interval.secs",
        default=10,
        check=at_least(1),
        use=no_use("metrics are served on odradek.http.listener"),
        doc="Pace of the older metrics reporters.",
    )
    kafka_metrics_reporters: List = key(
        "kafka.metrics.reporters",
        default=(),
        use=no_use("metrics are served on odradek.http.listener"),
        doc="Classes of the older metrics reporters.",
    )
    telemetry_max_bytes: Int = key(
        "telemetry.max.bytes",
        default=MIB,
        check=at_least(1),
        use=later("client telemetry"),
        doc="Largest metrics push accepted from a client (KIP-714).",
    )


@key_family("Odradek's own")
class OwnKeys(Settings):
    """Keys that Kafka does not have."""

    odradek_http_listener: str = key(
        "odradek.http.listener",
        default="127.0.0.1:9644",
        doc="Address of the metrics and health pages, host:port; empty turns them off.",
    )
    odradek_io_threads: Int = key(
        "odradek.io.threads",
        default=4,
        check=between(1, 64),
        doc="Threads for work that may block: fsync, deletes, recovery, cold reads.",
    )
    odradek_slow_append_ms: Int = key(
        "odradek.slow.append.ms",
        default=100,
        check=at_least(1),
        doc="Count and report an append to a log that took longer than this.",
    )
