"""Records of ``__consumer_offsets`` that hold share groups (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int32,
    int64,
    message,
    nullable_string,
    string,
    uuid,
)


@message(key=10, versions=range(1))
class ShareGroupMemberMetadataKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


@message(key=10, versions=range(1), flexible_from=0)
class ShareGroupMemberMetadataValue(Message):
    """A member's subscription and client."""

    rack_id: str | None = nullable_string()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array_of(string)


@message(key=11, versions=range(1))
class ShareGroupMetadataKey(Message):
    """The group."""

    group_id: str = string()


@message(key=11, versions=range(1), flexible_from=0)
class ShareGroupMetadataValue(Message):
    """The group's epoch."""

    epoch: int = int32()
    metadata_hash: int = int64()


@message(key=12, versions=range(1))
class ShareGroupTargetAssignmentMetadataKey(Message):
    """The group."""

    group_id: str = string()


@message(key=12, versions=range(1), flexible_from=0)
class ShareGroupTargetAssignmentMetadataValue(Message):
    """The epoch of the target assignment."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


@message(key=13, versions=range(1))
class ShareGroupTargetAssignmentMemberKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class TopicPartition(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)


@message(key=13, versions=range(1), flexible_from=0)
class ShareGroupTargetAssignmentMemberValue(Message):
    """What the member shall own."""

    topic_partitions: list[TopicPartition] = array_of(TopicPartition)


@message(key=14, versions=range(1))
class ShareGroupCurrentMemberAssignmentKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class TopicPartitions(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)


@message(key=14, versions=range(1), flexible_from=0)
class ShareGroupCurrentMemberAssignmentValue(Message):
    """What the member owns now."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[TopicPartitions] = array_of(TopicPartitions)


@message(key=15, versions=range(1))
class ShareGroupStatePartitionMetadataKey(Message):
    """The group."""

    group_id: str = string()


class TopicPartitionsInfo(Struct):
    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: list[int] = array_of(int32)


class TopicInfo(Struct):
    topic_id: UUID = uuid()
    topic_name: str = string()


@message(key=15, versions=range(1), flexible_from=0)
class ShareGroupStatePartitionMetadataValue(Message):
    """Which share partitions are being or are initialised, or deleted."""

    initializing_topics: list[TopicPartitionsInfo] = array_of(TopicPartitionsInfo)
    initialized_topics: list[TopicPartitionsInfo] = array_of(TopicPartitionsInfo)
    deleting_topics: list[TopicInfo] = array_of(TopicInfo)
