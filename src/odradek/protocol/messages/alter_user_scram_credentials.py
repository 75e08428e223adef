"""AlterUserScramCredentials (51). Changes SCRAM credentials."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    bytes_,
    int8,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


class ScramCredentialDeletion(Struct):
    name: str = string()
    mechanism: int = int8()


class ScramCredentialUpsertion(Struct):
    name: str = string()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = bytes_()
    salted_password: bytes = bytes_()


@message(key=51, versions=range(1), flexible_from=0)
class AlterUserScramCredentialsRequest(Message):
    """Credentials to write and to delete."""

    deletions: list[ScramCredentialDeletion] = array_of(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = array_of(ScramCredentialUpsertion)


class AlterUserScramCredentialsResult(Struct):
    user: str = string()
    error_code: int = int16()
    error_message: str | None = nullable_string()


@message(key=51, versions=range(1), flexible_from=0)
class AlterUserScramCredentialsResponse(Message):
    """The result per user."""

    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = array_of(AlterUserScramCredentialsResult)
