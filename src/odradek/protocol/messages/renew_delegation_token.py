"""RenewDelegationToken (39). Prolongs a delegation token."""

from __future__ import annotations

from odradek.protocol.fields import Message, bytes_, int16, int32, int64, message


@message(key=39, versions=range(1, 3), flexible_from=2)
class RenewDelegationTokenRequest(Message):
    """The token's key and for how long."""

    hmac: bytes = bytes_()
    renew_period_ms: int = int64()


@message(key=39, versions=range(1, 3), flexible_from=2)
class RenewDelegationTokenResponse(Message):
    """When it expires now."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()
