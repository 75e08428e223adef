"""SyncGroup (14). Distributes the leader's assignment in a classic group."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    bytes_,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


class SyncGroupRequestAssignment(Struct):
    member_id: str = string()
    assignment: bytes = bytes_()


@message(key=14, versions=range(6), flexible_from=4)
class SyncGroupRequest(Message):
    """From the leader the assignments, from the others nothing but who they are.

    v3 adds group_instance_id. v5 adds protocol_type, protocol_name.
    """

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=3, default=None)
    protocol_type: str | None = nullable_string(since=5, default=None, ignorable=True)
    protocol_name: str | None = nullable_string(since=5, default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = array_of(SyncGroupRequestAssignment)


@message(key=14, versions=range(6), flexible_from=4)
class SyncGroupResponse(Message):
    """The member's own assignment.

    v1 adds throttle_time_ms. v5 adds protocol_type, protocol_name.
    """

    throttle_time_ms: int = int32(since=1, ignorable=True)
    error_code: int = int16()
    protocol_type: str | None = nullable_string(since=5, default=None, ignorable=True)
    protocol_name: str | None = nullable_string(since=5, default=None, ignorable=True)
    assignment: bytes = bytes_()
