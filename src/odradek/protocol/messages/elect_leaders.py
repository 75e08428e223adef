"""ElectLeaders (43). Elects preferred or unclean leaders."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_string,
    string,
)


class TopicPartitions(Struct):
    topic: str = string()
    partitions: list[int] = array_of(int32)


@message(key=43, versions=range(3), flexible_from=2)
class ElectLeadersRequest(Message):
    """The kind of election, and partitions; null stands for all.

    v1 adds election_type.
    """

    election_type: int = int8(since=1)
    topic_partitions: list[TopicPartitions] | None = nullable_array_of(TopicPartitions)
    timeout_ms: int = int32(default=60000)


class PartitionResult(Struct):
    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()


class ReplicaElectionResult(Struct):
    topic: str = string()
    partition_result: list[PartitionResult] = array_of(PartitionResult)


@message(key=43, versions=range(3), flexible_from=2)
class ElectLeadersResponse(Message):
    """The result per partition.

    v1 adds error_code.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16(since=1)
    replica_election_results: list[ReplicaElectionResult] = array_of(ReplicaElectionResult)
