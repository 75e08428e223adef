"""OffsetCommit (8). Stores a group's positions."""

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
    nullable_string,
    string,
    uuid,
)


class OffsetCommitRequestPartition(Struct):
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(since=6, default=-1, ignorable=True)
    committed_metadata: str | None = nullable_string()


class OffsetCommitRequestTopic(Struct):
    name: str = string(until=9, ignorable=True)
    topic_id: UUID = uuid(since=10, ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = array_of(OffsetCommitRequestPartition)


@message(key=8, versions=range(2, 11), flexible_from=8)
class OffsetCommitRequest(Message):
    """Positions to store, per topic and partition.

    v5 drops retention_time_ms. v6 adds committed_leader_epoch. v7 adds group_instance_id. v10
    adds topic_id; drops name.
    """

    group_id: str = string()
    generation_id_or_member_epoch: int = int32(default=-1)
    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=7, default=None)
    retention_time_ms: int = int64(until=4, default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = array_of(OffsetCommitRequestTopic)


class OffsetCommitResponsePartition(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class OffsetCommitResponseTopic(Struct):
    name: str = string(until=9, ignorable=True)
    topic_id: UUID = uuid(since=10, ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = array_of(OffsetCommitResponsePartition)


@message(key=8, versions=range(2, 11), flexible_from=8)
class OffsetCommitResponse(Message):
    """One error code per partition.

    v3 adds throttle_time_ms. v10 adds topic_id; drops name.
    """

    throttle_time_ms: int = int32(since=3, ignorable=True)
    topics: list[OffsetCommitResponseTopic] = array_of(OffsetCommitResponseTopic)
