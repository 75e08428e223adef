"""DescribeUserScramCredentials (50). Lists which SCRAM credentials users have."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_string,
    string,
)


class UserName(Struct):
    name: str = string()


@message(key=50, versions=range(1), flexible_from=0)
class DescribeUserScramCredentialsRequest(Message):
    """Users; null asks for all."""

    users: list[UserName] | None = nullable_array_of(UserName)


class CredentialInfo(Struct):
    mechanism: int = int8()
    iterations: int = int32()


class DescribeUserScramCredentialsResult(Struct):
    user: str = string()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    credential_infos: list[CredentialInfo] = array_of(CredentialInfo)


@message(key=50, versions=range(1), flexible_from=0)
class DescribeUserScramCredentialsResponse(Message):
    """Mechanisms and iterations per user."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    results: list[DescribeUserScramCredentialsResult] = array_of(DescribeUserScramCredentialsResult)
