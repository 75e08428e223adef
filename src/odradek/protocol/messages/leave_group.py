"""LeaveGroup (13). Takes members out of a classic group."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


class MemberIdentity(Struct):
    member_id: str = string()
    group_instance_id: str | None = nullable_string(default=None)
    reason: str | None = nullable_string(since=5, default=None, ignorable=True)


@message(key=13, versions=range(6), flexible_from=4)
class LeaveGroupRequest(Message):
    """The members that leave.

    v3 adds members; drops member_id. v5 adds reason.
    """

    group_id: str = string()
    member_id: str = string(until=2)
    members: list[MemberIdentity] = array_of(MemberIdentity, since=3)


class MemberResponse(Struct):
    member_id: str = string()
    group_instance_id: str | None = nullable_string()
    error_code: int = int16()


@message(key=13, versions=range(6), flexible_from=4)
class LeaveGroupResponse(Message):
    """One error code per member.

    v1 adds throttle_time_ms. v3 adds members.
    """

    throttle_time_ms: int = int32(since=1, ignorable=True)
    error_code: int = int16()
    members: list[MemberResponse] = array_of(MemberResponse, since=3)
