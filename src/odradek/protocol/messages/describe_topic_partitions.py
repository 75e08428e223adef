"""DescribeTopicPartitions (75). Shows topics page by page."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_nested,
    nullable_string,
    string,
    uuid,
)


class TopicRequest(Struct):
    name: str = string()


class DescribeTopicPartitionsRequestCursor(Struct):
    topic_name: str = string()
    partition_index: int = int32()


@message(key=75, versions=range(1), flexible_from=0)
class DescribeTopicPartitionsRequest(Message):
    """Topics, a page size and where to go on."""

    topics: list[TopicRequest] = array_of(TopicRequest)
    response_partition_limit: int = int32(default=2000)
    cursor: DescribeTopicPartitionsRequestCursor | None = nullable_nested(
        DescribeTopicPartitionsRequestCursor, default=None
    )


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1)
    replica_nodes: list[int] = array_of(int32)
    isr_nodes: list[int] = array_of(int32)
    eligible_leader_replicas: list[int] | None = nullable_array_of(int32, default=None)
    last_known_elr: list[int] | None = nullable_array_of(int32, default=None)
    offline_replicas: list[int] = array_of(int32)


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int = int16()
    name: str | None = nullable_string()
    topic_id: UUID = uuid()
    is_internal: bool = boolean()
    partitions: list[DescribeTopicPartitionsResponsePartition] = array_of(
        DescribeTopicPartitionsResponsePartition
    )
    topic_authorized_operations: int = int32(default=-2147483648)


class DescribeTopicPartitionsResponseCursor(Struct):
    topic_name: str = string()
    partition_index: int = int32()


@message(key=75, versions=range(1), flexible_from=0)
class DescribeTopicPartitionsResponse(Message):
    """Partitions, and where the next page starts."""

    throttle_time_ms: int = int32()
    topics: list[DescribeTopicPartitionsResponseTopic] = array_of(
        DescribeTopicPartitionsResponseTopic
    )
    next_cursor: DescribeTopicPartitionsResponseCursor | None = nullable_nested(
        DescribeTopicPartitionsResponseCursor, default=None
    )
