"""ExpireDelegationToken (40). Ends a delegation token."""

from __future__ import annotations

from odradek.protocol.fields import Message, bytes_, int16, int32, int64, message


@message(key=40, versions=range(1, 3), flexible_from=2)
class ExpireDelegationTokenRequest(Message):
    """The token's key and when it shall end."""

    hmac: bytes = bytes_()
    expiry_time_period_ms: int = int64()


@message(key=40, versions=range(1, 3), flexible_from=2)
class ExpireDelegationTokenResponse(Message):
    """When it expires now."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
