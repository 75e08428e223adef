"""The broker's metrics, under the names that dashboards for Apache Kafka look for where there is one.

The names starting with `kafka_` are those that the usual rules of the JMX exporter give to Kafka's
MBeans; what Kafka does not have starts with `odradek_`.
"""

from __future__ import annotations

from time import perf_counter

from odradek.errors import Err
from odradek.metrics.declare import Probe, counter, histogram, sampled_gauge
from odradek.metrics.registry import Registry
from odradek.protocol.api_keys import ApiKey
from odradek.server.registry import api_name


class ServerProbe(Probe):
    """Requests, connections, bytes in and out."""

    requests = counter(
        "kafka_network_requestmetrics_requests_total", labels=("request",), doc="Requests by API."
    )
    request_errors = counter(
        "kafka_network_requestmetrics_errors_total",
        labels=("request", "error"),
        doc="Partitions that a Produce or Fetch answered with an error.",
    )
    request_ms = histogram(
        "odradek_request_milliseconds",
        labels=("request",),
        doc="From a request's last byte to its reply, or until it was parked.",
    )
    bytes_in = counter(
        "kafka_server_brokertopicmetrics_bytesin_total",
        labels=("topic",),
        doc="Bytes of record batches appended by clients.",
    )
    messages_in = counter(
        "kafka_server_brokertopicmetrics_messagesin_total",
        labels=("topic",),
        doc="Records appended by clients.",
    )
    bytes_out = counter(
        "kafka_server_brokertopicmetrics_bytesout_total",
        labels=("topic",),
        doc="Bytes of record batches sent to consumers.",
    )
    unexpected_errors = counter(
        "odradek_unexpected_errors_total", doc="Requests that failed for a reason nobody foresaw."
    )
    cold_reads = counter(
        "odradek_cold_reads_total", doc="Reads of old data that had to wait for a disk."
    )
    connections = sampled_gauge(
        "kafka_server_socket_server_metrics_connection_count", doc="Open connections."
    )
    connections_accepted = sampled_gauge(
        "odradek_connections_accepted_total", doc="Connections accepted.", type="counter"
    )
    connections_refused = sampled_gauge(
        "odradek_connections_refused_total",
        doc="Connections refused by a limit on their number.",
        type="counter",
    )
    fetch_sessions = sampled_gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        doc="Incremental fetch sessions.",
    )
    partitions = sampled_gauge(
        "kafka_server_replicamanager_partitioncount", doc="Partitions with a replica here."
    )
    leaders = sampled_gauge(
        "kafka_server_replicamanager_leadercount", doc="Partitions that this broker leads."
    )
    log_sizes = sampled_gauge(
        "kafka_log_log_size", labels=("topic", "partition"), doc="Bytes of a partition on disk."
    )
    log_end_offsets = sampled_gauge(
        "kafka_log_log_logendoffset",
        labels=("topic", "partition"),
        doc="The offset that the next record will get.",
    )
    log_start_offsets = sampled_gauge(
        "kafka_log_log_logstartoffset",
        labels=("topic", "partition"),
        doc="The oldest offset that can be read.",
    )

    def __init__(self, registry: Registry | None = None) -> None:
        super().__init__(registry)
        # What a request needs, found by one look-up instead of four.
        self._by_key = {int(key): (api_name(key), self.request_ms[api_name(key)]) for key in ApiKey}
        self.request_ms.clear()

    def request_done(self, api_key: int, started: float) -> None:
        """A request was answered or parked; `started` is when it came, by `perf_counter`."""
        name, times = self._by_key[api_key]
        self.requests[name] += 1
        times.observe((perf_counter() - started) * 1000.0)
        if name not in self.request_ms:
            self.request_ms[name] = times

    def fetched(self, topic: str, size_bytes: int) -> None:
        """Records go out."""
        self.bytes_out[topic] += size_bytes

    def appended(self, topic: str, record_count: int, size_bytes: int) -> None:
        """Records came in."""
        self.messages_in[topic] += record_count
        self.bytes_in[topic] += size_bytes

    def produce_failed(self, err: Err) -> None:
        """A partition refused its batch."""
        self.request_errors["Produce", err.name] += 1

    def fetch_failed(self, err: Err) -> None:
        """A partition could not be read."""
        self.request_errors["Fetch", err.name] += 1
