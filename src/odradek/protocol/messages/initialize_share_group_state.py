"""InitializeShareGroupState (83). Creates the stored state of share partitions."""

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


class PartitionData(Struct):
    partition: int = int32()
    state_epoch: int = int32()
    start_offset: int = int64()


class InitializeStateData(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array_of(PartitionData)


@message(key=83, versions=range(1), flexible_from=0)
class InitializeShareGroupStateRequest(Message):
    """Share partitions and their start offsets."""

    group_id: str = string()
    topics: list[InitializeStateData] = array_of(InitializeStateData)


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


class InitializeStateResult(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array_of(PartitionResult)


@message(key=83, versions=range(1), flexible_from=0)
class InitializeShareGroupStateResponse(Message):
    """The result per partition."""

    results: list[InitializeStateResult] = array_of(InitializeStateResult)
