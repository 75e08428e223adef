"""InitProducerId (22). Gives a producer its id and epoch, and fences its predecessors."""

from __future__ import annotations

from odradek.protocol.fields import Message, int16, int32, int64, message, nullable_string


@message(key=22, versions=range(6), flexible_from=2)
class InitProducerIdRequest(Message):
    """The transactional id, or null for idempotence only.

    v3 adds producer_id, producer_epoch.
    """

    transactional_id: str | None = nullable_string()
    transaction_timeout_ms: int = int32()
    producer_id: int = int64(since=3, default=-1)
    producer_epoch: int = int16(since=3, default=-1)


@message(key=22, versions=range(6), flexible_from=2)
class InitProducerIdResponse(Message):
    """Producer id and epoch."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
