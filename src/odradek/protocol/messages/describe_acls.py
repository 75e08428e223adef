"""DescribeAcls (29). Lists access rules that match a filter."""

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


@message(key=29, versions=range(1, 4), flexible_from=2)
class DescribeAclsRequest(Message):
    """The filter; null matches anything."""

    resource_type_filter: int = int8()
    resource_name_filter: str | None = nullable_string()
    pattern_type_filter: int = int8(default=3)
    principal_filter: str | None = nullable_string()
    host_filter: str | None = nullable_string()
    operation: int = int8()
    permission_type: int = int8()


class AclDescription(Struct):
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class DescribeAclsResource(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8(default=3)
    acls: list[AclDescription] = array_of(AclDescription)


@message(key=29, versions=range(1, 4), flexible_from=2)
class DescribeAclsResponse(Message):
    """Rules by resource."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    resources: list[DescribeAclsResource] = array_of(DescribeAclsResource)
