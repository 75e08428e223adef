"""DeleteAcls (31). Deletes the access rules that match filters."""

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


class DeleteAclsFilter(Struct):
    resource_type_filter: int = int8()
    resource_name_filter: str | None = nullable_string()
    pattern_type_filter: int = int8(default=3)
    principal_filter: str | None = nullable_string()
    host_filter: str | None = nullable_string()
    operation: int = int8()
    permission_type: int = int8()


@message(key=31, versions=range(1, 4), flexible_from=2)
class DeleteAclsRequest(Message):
    """The filters."""

    filters: list[DeleteAclsFilter] = array_of(DeleteAclsFilter)


class DeleteAclsMatchingAcl(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string()
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8(default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class DeleteAclsFilterResult(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string()
    matching_acls: list[DeleteAclsMatchingAcl] = array_of(DeleteAclsMatchingAcl)


@message(key=31, versions=range(1, 4), flexible_from=2)
class DeleteAclsResponse(Message):
    """What each filter deleted."""

    throttle_time_ms: int = int32()
    filter_results: list[DeleteAclsFilterResult] = array_of(DeleteAclsFilterResult)
