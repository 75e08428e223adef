"""CreateDelegationToken (38). Creates a delegation token."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    bytes_,
    int16,
    int32,
    int64,
    message,
    nullable_string,
    string,
)


class CreatableRenewers(Struct):
    principal_type: str = string()
    principal_name: str = string()


@message(key=38, versions=range(1, 4), flexible_from=2)
class CreateDelegationTokenRequest(Message):
    """Owner, renewers and lifetime.

    v3 adds owner_principal_type, owner_principal_name.
    """

    owner_principal_type: str | None = nullable_string(since=3)
    owner_principal_name: str | None = nullable_string(since=3)
    renewers: list[CreatableRenewers] = array_of(CreatableRenewers)
    max_lifetime_ms: int = int64()


@message(key=38, versions=range(1, 4), flexible_from=2)
class CreateDelegationTokenResponse(Message):
    """The token and its key.

    v3 adds token_requester_principal_type, token_requester_principal_name.
    """

    error_code: int = int16()
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string(since=3)
    token_requester_principal_name: str = string(since=3)
    issue_timestamp_ms: int = int64()
    expiry_timestamp_ms: int = int64()
    max_timestamp_ms: int = int64()
    token_id: str = string()
    hmac: bytes = bytes_()
    throttle_time_ms: int = int32()
