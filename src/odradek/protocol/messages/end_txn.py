"""EndTxn (26). Commits or aborts a transaction."""

from __future__ import annotations

from odradek.protocol.fields import Message, boolean, int16, int32, int64, message, string


@message(key=26, versions=range(6), flexible_from=3)
class EndTxnRequest(Message):
    """The transaction and its outcome."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


@message(key=26, versions=range(6), flexible_from=3)
class EndTxnResponse(Message):
    """The result, and at transaction version 2 the next epoch.

    v5 adds producer_id, producer_epoch.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id: int = int64(since=5, default=-1, ignorable=True)
    producer_epoch: int = int16(since=5, default=-1, ignorable=True)
