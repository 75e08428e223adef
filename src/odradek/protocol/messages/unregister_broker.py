"""UnregisterBroker (64). Removes a broker from the cluster for good."""

from __future__ import annotations

from odradek.protocol.fields import Message, int16, int32, message, nullable_string


@message(key=64, versions=range(1), flexible_from=0)
class UnregisterBrokerRequest(Message):
    """The broker's id."""

    broker_id: int = int32()


@message(key=64, versions=range(1), flexible_from=0)
class UnregisterBrokerResponse(Message):
    """Whether it was removed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
