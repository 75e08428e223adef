"""WriteShareGroupState (85). Stores the state of share partitions."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    int64,
    message,
    nullable_string,
    string,
    uuid,
)


class StateBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


class PartitionData(Struct):
    partition: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(since=1, default=-1, ignorable=True)
    state_batches: list[StateBatch] = array_of(StateBatch)


class WriteStateData(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array_of(PartitionData)


@message(key=85, versions=range(2), flexible_from=0)
class WriteShareGroupStateRequest(Message):
    """State per partition.

    v1 adds delivery_complete_count.
    """

    group_id: str = string()
    topics: list[WriteStateData] = array_of(WriteStateData)


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


class WriteStateResult(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array_of(PartitionResult)


@message(key=85, versions=range(2), flexible_from=0)
class WriteShareGroupStateResponse(Message):
    """The result per partition."""

    results: list[WriteStateResult] = array_of(WriteStateResult)
