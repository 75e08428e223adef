"""What consumers of the classic protocol put into JoinGroup and SyncGroup.

The bytes start with an int16 version, which the user of the codec reads or writes.
"""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int32,
    message,
    nullable_bytes,
    nullable_string,
    string,
)


class ConsumerProtocolSubscriptionTopicPartition(Struct):
    topic: str = string()
    partitions: list[int] = array_of(int32)


@message(versions=range(4))
class ConsumerProtocolSubscription(Message):
    """What a member wants to read, and what it owns.

    v1 adds owned_partitions. v2 adds generation_id. v3 adds rack_id.
    """

    topics: list[str] = array_of(string)
    user_data: bytes | None = nullable_bytes(default=None)
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = array_of(
        ConsumerProtocolSubscriptionTopicPartition, since=1, ignorable=True
    )
    generation_id: int = int32(since=2, default=-1, ignorable=True)
    rack_id: str | None = nullable_string(since=3, default=None, ignorable=True)


class ConsumerProtocolAssignmentTopicPartition(Struct):
    topic: str = string()
    partitions: list[int] = array_of(int32)


@message(versions=range(4))
class ConsumerProtocolAssignment(Message):
    """What a member got."""

    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = array_of(
        ConsumerProtocolAssignmentTopicPartition
    )
    user_data: bytes | None = nullable_bytes(default=None)
