"""PushTelemetry (72). Takes a client's metrics (KIP-714)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import Message, boolean, bytes_, int8, int16, int32, message, uuid


@message(key=72, versions=range(1), flexible_from=0)
class PushTelemetryRequest(Message):
    """Metrics in OTLP, perhaps compressed."""

    client_instance_id: UUID = uuid()
    subscription_id: int = int32()
    terminating: bool = boolean()
    compression_type: int = int8()
    metrics: bytes = bytes_()


@message(key=72, versions=range(1), flexible_from=0)
class PushTelemetryResponse(Message):
    """Whether they were taken."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
