"""ConsumerGroupHeartbeat (68).

Carries all of a member's life in the consumer protocol (KIP-848).
"""

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


class ConsumerGroupHeartbeatRequestTopicPartitions(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)


@message(key=68, versions=range(2), flexible_from=0)
class ConsumerGroupHeartbeatRequest(Message):
    """What changed for the member since the last beat.

    v1 adds subscribed_topic_regex.
    """

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = nullable_string(default=None)
    rack_id: str | None = nullable_string(default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    subscribed_topic_names: list[str] | None = nullable_array_of(string, default=None)
    subscribed_topic_regex: str | None = nullable_string(since=1, default=None)
    server_assignor: str | None = nullable_string(default=None)
    topic_partitions: list[ConsumerGroupHeartbeatRequestTopicPartitions] | None = nullable_array_of(
        ConsumerGroupHeartbeatRequestTopicPartitions, default=None
    )


class ConsumerGroupHeartbeatResponseTopicPartitions(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)


class Assignment(Struct):
    topic_partitions: list[ConsumerGroupHeartbeatResponseTopicPartitions] = array_of(
        ConsumerGroupHeartbeatResponseTopicPartitions
    )


@message(key=68, versions=range(2), flexible_from=0)
class ConsumerGroupHeartbeatResponse(Message):
    """Member epoch, and the assignment when it changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    member_id: str | None = nullable_string(default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = nullable_nested(Assignment, default=None)
