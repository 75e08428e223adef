"""Records of ``__consumer_offsets`` that hold groups of the consumer protocol (KIP-848)."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    bytes_,
    int8,
    int32,
    int64,
    message,
    nullable_array_of,
    nullable_nested,
    nullable_string,
    string,
    uuid,
)


@message(key=3, versions=range(1))
class ConsumerGroupMetadataKey(Message):
    """The group."""

    group_id: str = string()


@message(key=3, versions=range(1), flexible_from=0)
class ConsumerGroupMetadataValue(Message):
    """The group's epoch."""

    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


@message(key=4, versions=range(1))
class ConsumerGroupPartitionMetadataKey(Message):
    """The group."""

    group_id: str = string()


class PartitionMetadata(Struct):
    partition: int = int32()
    racks: list[str] = array_of(string)


class TopicMetadata(Struct):
    topic_id: UUID = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: list[PartitionMetadata] = array_of(PartitionMetadata)


@message(key=4, versions=range(1), flexible_from=0)
class ConsumerGroupPartitionMetadataValue(Message):
    """The topics a group reads, as older brokers stored them."""

    topics: list[TopicMetadata] = array_of(TopicMetadata)


@message(key=5, versions=range(1))
class ConsumerGroupMemberMetadataKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class ClassicProtocol(Struct):
    name: str = string()
    metadata: bytes = bytes_()


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array_of(ClassicProtocol)


@message(key=5, versions=range(1), flexible_from=0)
class ConsumerGroupMemberMetadataValue(Message):
    """A member's subscription and client."""

    instance_id: str | None = nullable_string()
    rack_id: str | None = nullable_string()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array_of(string)
    subscribed_topic_regex: str | None = nullable_string()
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = nullable_string()
    classic_member_metadata: ClassicMemberMetadata | None = nullable_nested(
        ClassicMemberMetadata, tag=0
    )


@message(key=6, versions=range(1))
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    """The group."""

    group_id: str = string()


@message(key=6, versions=range(1), flexible_from=0)
class ConsumerGroupTargetAssignmentMetadataValue(Message):
    """The epoch of the target assignment."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


@message(key=7, versions=range(1))
class ConsumerGroupTargetAssignmentMemberKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class TopicPartition(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)


@message(key=7, versions=range(1), flexible_from=0)
class ConsumerGroupTargetAssignmentMemberValue(Message):
    """What the member shall own."""

    topic_partitions: list[TopicPartition] = array_of(TopicPartition)


@message(key=8, versions=range(1))
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class TopicPartitions(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)
    assignment_epochs: list[int] | None = nullable_array_of(int32, tag=0)


@message(key=8, versions=range(1), flexible_from=0)
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    """What the member owns now."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[TopicPartitions] = array_of(TopicPartitions)
    partitions_pending_revocation: list[TopicPartitions] = array_of(TopicPartitions)


@message(key=16, versions=range(1))
class ConsumerGroupRegularExpressionKey(Message):
    """A pattern that a group subscribes to."""

    group_id: str = string()
    regular_expression: str = string()


@message(key=16, versions=range(1), flexible_from=0)
class ConsumerGroupRegularExpressionValue(Message):
    """The topics that match the pattern."""

    topics: list[str] = array_of(string)
    version: int = int64()
    timestamp: int = int64()
