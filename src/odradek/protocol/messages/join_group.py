"""JoinGroup (11). Enters a group of the classic protocol, or re-enters it for a rebalance."""

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


class JoinGroupRequestProtocol(Struct):
    name: str = string()
    metadata: bytes = bytes_()


@message(key=11, versions=range(10), flexible_from=6)
class JoinGroupRequest(Message):
    """The member, its timeouts, and the assignors it knows.

    v1 adds rebalance_timeout_ms. v5 adds group_instance_id. v8 adds reason.
    """

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32(since=1, default=-1, ignorable=True)
    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=5, default=None)
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array_of(JoinGroupRequestProtocol)
    reason: str | None = nullable_string(since=8, default=None, ignorable=True)


class JoinGroupResponseMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=5, default=None, ignorable=True)
    metadata: bytes = bytes_()


@message(key=11, versions=range(10), flexible_from=6)
class JoinGroupResponse(Message):
    """Generation, leader and, for the leader, all members.

    v2 adds throttle_time_ms. v5 adds group_instance_id. v7 adds protocol_type. v9 adds
    skip_assignment.
    """

    throttle_time_ms: int = int32(since=2, ignorable=True)
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = nullable_string(since=7, default=None, ignorable=True)
    protocol_name: str | None = nullable_string(nullable_since=7)
    leader: str = string()
    skip_assignment: bool = boolean(since=9)
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array_of(JoinGroupResponseMember)
