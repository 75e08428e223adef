"""DescribeDelegationToken (41). Lists delegation tokens."""

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
    nullable_array_of,
    string,
)


class DescribeDelegationTokenOwner(Struct):
    principal_type: str = string()
    principal_name: str = string()


@message(key=41, versions=range(1, 4), flexible_from=2)
class DescribeDelegationTokenRequest(Message):
    """Owners; null asks for all."""

    owners: list[DescribeDelegationTokenOwner] | None = nullable_array_of(
        DescribeDelegationTokenOwner
    )


class DescribedDelegationTokenRenewer(Struct):
    principal_type: str = string()
    principal_name: str = string()


class DescribedDelegationToken(Struct):
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string(since=3)
    token_requester_principal_name: str = string(since=3)
    issue_timestamp: int = int64()
    expiry_timestamp: int = int64()
    max_timestamp: int = int64()
    token_id: str = string()
    hmac: bytes = bytes_()
    renewers: list[DescribedDelegationTokenRenewer] = array_of(DescribedDelegationTokenRenewer)


@message(key=41, versions=range(1, 4), flexible_from=2)
class DescribeDelegationTokenResponse(Message):
    """Tokens with owners and times.

    v3 adds token_requester_principal_type, token_requester_principal_name.
    """

    error_code: int = int16()
    tokens: list[DescribedDelegationToken] = array_of(DescribedDelegationToken)
    throttle_time_ms: int = int32()
