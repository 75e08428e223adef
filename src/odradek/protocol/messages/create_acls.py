"""CreateAcls (30). Creates access rules."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


class AclCreation(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    resource_pattern_type: int = int8(default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@message(key=30, versions=range(1, 4), flexible_from=2)
class CreateAclsRequest(Message):
    """The rules."""

    creations: list[AclCreation] = array_of(AclCreation)


class AclCreationResult(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string()


@message(key=30, versions=range(1, 4), flexible_from=2)
class CreateAclsResponse(Message):
    """The result per rule, in order."""

    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = array_of(AclCreationResult)
