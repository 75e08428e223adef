"""DescribeShareGroupOffsets (90). Shows where share groups start reading."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    int64,
    message,
    nullable_array_of,
    nullable_string,
    string,
    uuid,
)


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = string()
    partitions: list[int] = array_of(int32)


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = nullable_array_of(
        DescribeShareGroupOffsetsRequestTopic
    )


@message(key=90, versions=range(2), flexible_from=0)
class DescribeShareGroupOffsetsRequest(Message):
    """Groups and partitions; a null list asks for all."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = array_of(
        DescribeShareGroupOffsetsRequestGroup
    )


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = int32()
    start_offset: int = int64()
    leader_epoch: int = int32()
    lag: int = int64(since=1, default=-1, ignorable=True)
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = string()
    topic_id: UUID = uuid()
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = array_of(
        DescribeShareGroupOffsetsResponsePartition
    )


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsResponseTopic] = array_of(
        DescribeShareGroupOffsetsResponseTopic
    )
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


@message(key=90, versions=range(2), flexible_from=0)
class DescribeShareGroupOffsetsResponse(Message):
    """Start offsets per partition.

    v1 adds lag.
    """

    throttle_time_ms: int = int32()
    groups: list[DescribeShareGroupOffsetsResponseGroup] = array_of(
        DescribeShareGroupOffsetsResponseGroup
    )
