"""AlterPartitionReassignments (45). Starts or cancels moves of partitions between brokers."""

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


class ReassignablePartition(Struct):
    partition_index: int = int32()
    replicas: list[int] | None = nullable_array_of(int32, default=None)


class ReassignableTopic(Struct):
    name: str = string()
    partitions: list[ReassignablePartition] = array_of(ReassignablePartition)


@message(key=45, versions=range(2), flexible_from=0)
class AlterPartitionReassignmentsRequest(Message):
    """Target replicas per partition; null cancels.

    v1 adds allow_replication_factor_change.
    """

    timeout_ms: int = int32(default=60000)
    allow_replication_factor_change: bool = boolean(since=1, default=True)
    topics: list[ReassignableTopic] = array_of(ReassignableTopic)


class ReassignablePartitionResponse(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()


class ReassignableTopicResponse(Struct):
    name: str = string()
    partitions: list[ReassignablePartitionResponse] = array_of(ReassignablePartitionResponse)


@message(key=45, versions=range(2), flexible_from=0)
class AlterPartitionReassignmentsResponse(Message):
    """The result per partition.

    v1 adds allow_replication_factor_change.
    """

    throttle_time_ms: int = int32()
    allow_replication_factor_change: bool = boolean(since=1, default=True, ignorable=True)
    error_code: int = int16()
    error_message: str | None = nullable_string()
    responses: list[ReassignableTopicResponse] = array_of(ReassignableTopicResponse)
