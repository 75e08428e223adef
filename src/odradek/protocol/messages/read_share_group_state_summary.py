"""ReadShareGroupStateSummary (87). Reads offsets and epochs of share partitions only."""

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
    leader_epoch: int = int32()


class ReadStateSummaryData(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array_of(PartitionData)


@message(key=87, versions=range(2), flexible_from=0)
class ReadShareGroupStateSummaryRequest(Message):
    """Share partitions."""

    group_id: str = string()
    topics: list[ReadStateSummaryData] = array_of(ReadStateSummaryData)


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(since=1, default=-1, ignorable=True)


class ReadStateSummaryResult(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionResult] = array_of(PartitionResult)


@message(key=87, versions=range(2), flexible_from=0)
class ReadShareGroupStateSummaryResponse(Message):
    """A summary per partition.

    v1 adds delivery_complete_count.
    """

    results: list[ReadStateSummaryResult] = array_of(ReadStateSummaryResult)
