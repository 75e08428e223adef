"""ListPartitionReassignments (46). Lists the moves under way."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_string,
    string,
)


class ListPartitionReassignmentsTopics(Struct):
    name: str = string()
    partition_indexes: list[int] = array_of(int32)


@message(key=46, versions=range(1), flexible_from=0)
class ListPartitionReassignmentsRequest(Message):
    """Partitions; null asks for all."""

    timeout_ms: int = int32(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = nullable_array_of(
        ListPartitionReassignmentsTopics, default=None
    )


class OngoingPartitionReassignment(Struct):
    partition_index: int = int32()
    replicas: list[int] = array_of(int32)
    adding_replicas: list[int] = array_of(int32)
    removing_replicas: list[int] = array_of(int32)


class OngoingTopicReassignment(Struct):
    name: str = string()
    partitions: list[OngoingPartitionReassignment] = array_of(OngoingPartitionReassignment)


@message(key=46, versions=range(1), flexible_from=0)
class ListPartitionReassignmentsResponse(Message):
    """Current, coming and going replicas."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    topics: list[OngoingTopicReassignment] = array_of(OngoingTopicReassignment)
