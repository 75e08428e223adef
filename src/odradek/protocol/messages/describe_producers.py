"""DescribeProducers (61). Shows the producers that a partition remembers."""

from __future__ import annotations

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
)


class TopicRequest(Struct):
    name: str = string()
    partition_indexes: list[int] = array_of(int32)


@message(key=61, versions=range(1), flexible_from=0)
class DescribeProducersRequest(Message):
    """Partitions."""

    topics: list[TopicRequest] = array_of(TopicRequest)


class ProducerState(Struct):
    producer_id: int = int64()
    producer_epoch: int = int32()
    last_sequence: int = int32(default=-1)
    last_timestamp: int = int64(default=-1)
    coordinator_epoch: int = int32()
    current_txn_start_offset: int = int64(default=-1)


class PartitionResponse(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    active_producers: list[ProducerState] = array_of(ProducerState)


class TopicResponse(Struct):
    name: str = string()
    partitions: list[PartitionResponse] = array_of(PartitionResponse)


@message(key=61, versions=range(1), flexible_from=0)
class DescribeProducersResponse(Message):
    """Producers with epochs, sequences and open transactions."""

    throttle_time_ms: int = int32()
    topics: list[TopicResponse] = array_of(TopicResponse)
