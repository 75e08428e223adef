"""ListOffsets (2). Looks offsets up by time."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    int64,
    message,
    string,
)


class ListOffsetsPartition(Struct):
    partition_index: int = int32()
    current_leader_epoch: int = int32(since=4, default=-1, ignorable=True)
    timestamp: int = int64()


class ListOffsetsTopic(Struct):
    name: str = string()
    partitions: list[ListOffsetsPartition] = array_of(ListOffsetsPartition)


@message(key=2, versions=range(1, 12), flexible_from=6)
class ListOffsetsRequest(Message):
    """A timestamp, or a special value for earliest, latest and so on, per partition.

    v2 adds isolation_level. v4 adds current_leader_epoch. v10 adds timeout_ms.
    """

    replica_id: int = int32()
    isolation_level: int = int8(since=2)
    topics: list[ListOffsetsTopic] = array_of(ListOffsetsTopic)
    timeout_ms: int = int32(since=10, ignorable=True)


class ListOffsetsPartitionResponse(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    timestamp: int = int64(default=-1)
    offset: int = int64(default=-1)
    leader_epoch: int = int32(since=4, default=-1)


class ListOffsetsTopicResponse(Struct):
    name: str = string()
    partitions: list[ListOffsetsPartitionResponse] = array_of(ListOffsetsPartitionResponse)


@message(key=2, versions=range(1, 12), flexible_from=6)
class ListOffsetsResponse(Message):
    """The offset found per partition.

    v2 adds throttle_time_ms. v4 adds leader_epoch.
    """

    throttle_time_ms: int = int32(since=2, ignorable=True)
    topics: list[ListOffsetsTopicResponse] = array_of(ListOffsetsTopicResponse)
