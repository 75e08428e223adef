"""OffsetFetch (9). Reads a group's stored positions."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    int64,
    message,
    nullable_array_of,
    nullable_string,
    string,
    uuid,
)


class OffsetFetchRequestTopic(Struct):
    name: str = string()
    partition_indexes: list[int] = array_of(int32)


class OffsetFetchRequestTopics(Struct):
    name: str = string(until=9, ignorable=True)
    topic_id: UUID = uuid(since=10, ignorable=True)
    partition_indexes: list[int] = array_of(int32)


class OffsetFetchRequestGroup(Struct):
    group_id: str = string()
    member_id: str | None = nullable_string(since=9, default=None, ignorable=True)
    member_epoch: int = int32(since=9, default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = nullable_array_of(OffsetFetchRequestTopics)


@message(key=9, versions=range(1, 11), flexible_from=6)
class OffsetFetchRequest(Message):
    """Groups and partitions; a null list of topics asks for all of a group.

    v7 adds require_stable. v8 adds groups; drops group_id, topics. v9 adds member_id,
    member_epoch. v10 adds topic_id; drops name.
    """

    group_id: str = string(until=7)
    topics: list[OffsetFetchRequestTopic] | None = nullable_array_of(
        OffsetFetchRequestTopic, until=7, nullable_since=2
    )
    groups: list[OffsetFetchRequestGroup] = array_of(OffsetFetchRequestGroup, since=8)
    require_stable: bool = boolean(since=7)


class OffsetFetchResponsePartition(Struct):
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(since=5, default=-1, ignorable=True)
    metadata: str | None = nullable_string()
    error_code: int = int16()


class OffsetFetchResponseTopic(Struct):
    name: str = string()
    partitions: list[OffsetFetchResponsePartition] = array_of(OffsetFetchResponsePartition)


class OffsetFetchResponsePartitions(Struct):
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(default=-1)
    metadata: str | None = nullable_string()
    error_code: int = int16()


class OffsetFetchResponseTopics(Struct):
    name: str = string(until=9, ignorable=True)
    topic_id: UUID = uuid(since=10, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = array_of(OffsetFetchResponsePartitions)


class OffsetFetchResponseGroup(Struct):
    group_id: str = string()
    topics: list[OffsetFetchResponseTopics] = array_of(OffsetFetchResponseTopics)
    error_code: int = int16()


@message(key=9, versions=range(1, 11), flexible_from=6)
class OffsetFetchResponse(Message):
    """The stored positions; -1 where there is none.

    v2 adds error_code. v3 adds throttle_time_ms. v5 adds committed_leader_epoch. v8 adds
    groups; drops topics, error_code. v10 adds topic_id; drops name.
    """

    throttle_time_ms: int = int32(since=3, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = array_of(OffsetFetchResponseTopic, until=7)
    error_code: int = int16(since=2, until=7, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = array_of(OffsetFetchResponseGroup, since=8)
