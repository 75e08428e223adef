"""DescribeGroups (15). Shows classic groups with their members."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    bytes_,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


@message(key=15, versions=range(7), flexible_from=5)
class DescribeGroupsRequest(Message):
    """Group ids.

    v3 adds include_authorized_operations.
    """

    groups: list[str] = array_of(string)
    include_authorized_operations: bool = boolean(since=3)


class DescribedGroupMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=4, default=None, ignorable=True)
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = bytes_()
    member_assignment: bytes = bytes_()


class DescribedGroup(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string(since=6, default=None)
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array_of(DescribedGroupMember)
    authorized_operations: int = int32(since=3, default=-2147483648)


@message(key=15, versions=range(7), flexible_from=5)
class DescribeGroupsResponse(Message):
    """State, protocol and members per group.

    v1 adds throttle_time_ms. v3 adds authorized_operations. v4 adds group_instance_id. v6 adds
    error_message.
    """

    throttle_time_ms: int = int32(since=1, ignorable=True)
    groups: list[DescribedGroup] = array_of(DescribedGroup)
