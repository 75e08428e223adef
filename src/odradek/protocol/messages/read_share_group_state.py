"""ReadShareGroupState (84). Reads the stored state of share partitions."""

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


class PartitionData(Struct):
    partition: int = int32()
    leader_epoch: int = int32()


class ReadStateData(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array_of(PartitionData)


@message(key=84, versions=range(1), flexible_from=0)
class ReadShareGroupStateRequest(Message):
    """Share partitions."""

    group_id: str = string()
    topics: list[ReadStateData] = array_of(ReadStateData)


class StateBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    state_epoch: int = int32()
    start_offset: int = int64()
    state_batches: list[StateBatch] = array_of(StateBatch)


class ReadStateResult(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array_of(PartitionResult)


@message(key=84, versions=range(1), flexible_from=0)
class ReadShareGroupStateResponse(Message):
    """State per partition."""

    results: list[ReadStateResult] = array_of(ReadStateResult)
