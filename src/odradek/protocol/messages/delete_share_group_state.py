"""DeleteShareGroupState (86). Deletes the stored state of share partitions."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    message,
    nullable_string,
    string,
    uuid,
)


class PartitionData(Struct):
    partition: int = int32()


class DeleteStateData(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array_of(PartitionData)


@message(key=86, versions=range(1), flexible_from=0)
class DeleteShareGroupStateRequest(Message):
    """Share partitions."""

    group_id: str = string()
    topics: list[DeleteStateData] = array_of(DeleteStateData)


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


class DeleteStateResult(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array_of(PartitionResult)


@message(key=86, versions=range(1), flexible_from=0)
class DeleteShareGroupStateResponse(Message):
    """The result per partition."""

    results: list[DeleteStateResult] = array_of(DeleteStateResult)
