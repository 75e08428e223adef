"""Records of ``__consumer_offsets`` that hold classic groups."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    bytes_,
    int32,
    int64,
    message,
    nullable_string,
    string,
)


@message(key=2, versions=range(1))
class GroupMetadataKey(Message):
    """The group."""

    group: str = string()


class MemberMetadata(Struct):
    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=3, default=None, ignorable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(since=1, default=-1, ignorable=True)
    session_timeout: int = int32()
    subscription: bytes = bytes_()
    assignment: bytes = bytes_()


@message(key=2, versions=range(5), flexible_from=4)
class GroupMetadataValue(Message):
    """A generation of the group, with members and assignments.

    v1 adds rebalance_timeout. v2 adds current_state_timestamp. v3 adds group_instance_id.
    """

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = nullable_string()
    leader: str | None = nullable_string()
    current_state_timestamp: int = int64(since=2, default=-1, ignorable=True)
    members: list[MemberMetadata] = array_of(MemberMetadata)
