"""AlterShareGroupOffsets (91). Moves where a share group starts reading."""

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


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int = int32()
    start_offset: int = int64()


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = string()
    partitions: list[AlterShareGroupOffsetsRequestPartition] = array_of(
        AlterShareGroupOffsetsRequestPartition
    )


@message(key=91, versions=range(1), flexible_from=0)
class AlterShareGroupOffsetsRequest(Message):
    """The new start offsets."""

    group_id: str = string()
    topics: list[AlterShareGroupOffsetsRequestTopic] = array_of(AlterShareGroupOffsetsRequestTopic)


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = string()
    topic_id: UUID = uuid()
    partitions: list[AlterShareGroupOffsetsResponsePartition] = array_of(
        AlterShareGroupOffsetsResponsePartition
    )


@message(key=91, versions=range(1), flexible_from=0)
class AlterShareGroupOffsetsResponse(Message):
    """The result per partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = array_of(
        AlterShareGroupOffsetsResponseTopic
    )
