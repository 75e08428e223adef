"""CreatePartitions (37). Adds partitions to topics."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_string,
    string,
)


class CreatePartitionsAssignment(Struct):
    broker_ids: list[int] = array_of(int32)


class CreatePartitionsTopic(Struct):
    name: str = string()
    count: int = int32()
    assignments: list[CreatePartitionsAssignment] | None = nullable_array_of(
        CreatePartitionsAssignment
    )


@message(key=37, versions=range(4), flexible_from=2)
class CreatePartitionsRequest(Message):
    """New partition counts, with placements if wanted."""

    topics: list[CreatePartitionsTopic] = array_of(CreatePartitionsTopic)
    timeout_ms: int = int32()
    validate_only: bool = boolean()


class CreatePartitionsTopicResult(Struct):
    name: str = string()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


@message(key=37, versions=range(4), flexible_from=2)
class CreatePartitionsResponse(Message):
    """The result per topic."""

    throttle_time_ms: int = int32()
    results: list[CreatePartitionsTopicResult] = array_of(CreatePartitionsTopicResult)
