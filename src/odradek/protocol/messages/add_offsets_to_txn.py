"""AddOffsetsToTxn (25). Adds a group's offsets partition to a transaction."""

from __future__ import annotations

from odradek.protocol.fields import Message, int16, int32, int64, message, string


@message(key=25, versions=range(5), flexible_from=3)
class AddOffsetsToTxnRequest(Message):
    """The transaction and the group."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


@message(key=25, versions=range(5), flexible_from=3)
class AddOffsetsToTxnResponse(Message):
    """Whether it was added."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
