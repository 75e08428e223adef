"""What the logs report, as metrics."""

from __future__ import annotations

import logging

from odradek.metrics.declare import Probe, counter, histogram
from odradek.metrics.registry import Registry

log = logging.getLogger(__name__)


class LogProbe(Probe):
    """`storage.probe.StorageProbe`, counted."""

    slow_appends = counter(
        "odradek_slow_appends_total",
        doc="Appends that took longer than odradek.slow.append.ms.",
    )
    flush_ms = histogram(
        "kafka_log_logflushstats_logflushrateandtimems", doc="Milliseconds per sync of a log."
    )
    rolled_segments = counter(
        "odradek_log_segments_rolled_total", labels=("topic",), doc="Segments begun."
    )
    deleted_segments = counter(
        "odradek_log_segments_deleted_total",
        labels=("topic",),
        doc="Segments deleted by retention or DeleteRecords.",
    )
    recovered_logs = counter(
        "odradek_logs_recovered_total", doc="Logs checked after an unclean stop."
    )
    truncated_bytes = counter(
        "odradek_log_truncated_bytes_total", doc="Bytes cut off torn logs at start."
    )
    failed_dirs = counter("odradek_log_dirs_failed_total", doc="Log dirs that went offline.")

    def __init__(self, registry: Registry, slow_append_ms: float) -> None:
        super().__init__(registry)
        self._slow_append_ms = slow_append_ms

    def appended(self, topic: str, record_count: int, size_bytes: int, write_ms: float) -> None:
        """Batches were appended."""
        if write_ms >= self._slow_append_ms:
            self.slow_appends += 1
            log.warning("slow append to %s: %.0f ms for %d bytes", topic, write_ms, size_bytes)

    def flushed(self, duration_ms: float) -> None:
        """A log was synced."""
        self.flush_ms.observe(duration_ms)

    def rolled(self, topic: str) -> None:
        """A log began a new segment."""
        self.rolled_segments[topic] += 1

    def deleted(self, topic: str, segment_count: int, size_bytes: int) -> None:
        """Segments went."""
        self.deleted_segments[topic] += segment_count

    def recovered(self, topic: str, truncated_bytes: int) -> None:
        """A log was checked after an unclean stop."""
        self.recovered_logs += 1
        self.truncated_bytes += truncated_bytes

    def dir_failed(self, path: str) -> None:
        """A log dir went offline."""
        self.failed_dirs += 1
