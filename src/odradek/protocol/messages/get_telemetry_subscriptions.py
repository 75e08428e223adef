"""GetTelemetrySubscriptions (71). Tells a client which metrics to push (KIP-714)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    array_of,
    boolean,
    int8,
    int16,
    int32,
    message,
    string,
    uuid,
)


@message(key=71, versions=range(1), flexible_from=0)
class GetTelemetrySubscriptionsRequest(Message):
    """The client's instance id, zero at first."""

    client_instance_id: UUID = uuid()


@message(key=71, versions=range(1), flexible_from=0)
class GetTelemetrySubscriptionsResponse(Message):
    """The subscription."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_instance_id: UUID = uuid()
    subscription_id: int = int32()
    accepted_compression_types: list[int] = array_of(int8)
    push_interval_ms: int = int32()
    telemetry_max_bytes: int = int32()
    delta_temporality: bool = boolean()
    requested_metrics: list[str] = array_of(string)
