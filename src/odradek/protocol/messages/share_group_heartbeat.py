"""ShareGroupHeartbeat (76). Carries all of a member's life in a share group (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_nested,
    nullable_string,
    string,
    uuid,
)


@message(key=76, versions=range(1, 2), flexible_from=0)
class ShareGroupHeartbeatRequest(Message):
    """What changed for the member since the last beat."""

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    rack_id: str | None = nullable_string(default=None)
    subscribed_topic_names: list[str] | None = nullable_array_of(string, default=None)


class TopicPartitions(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = array_of(TopicPartitions)


@message(key=76, versions=range(1, 2), flexible_from=0)
class ShareGroupHeartbeatResponse(Message):
    """Member epoch, and the assignment when it changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    member_id: str | None = nullable_string(default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = nullable_nested(Assignment, default=None)
