"""DeleteRecords (21). Moves the start of partitions forward."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, int64, message, string


class DeleteRecordsPartition(Struct):
    partition_index: int = int32()
    offset: int = int64()


class DeleteRecordsTopic(Struct):
    name: str = string()
    partitions: list[DeleteRecordsPartition] = array_of(DeleteRecordsPartition)


@message(key=21, versions=range(3), flexible_from=2)
class DeleteRecordsRequest(Message):
    """The new first offset per partition; -1 stands for the high watermark."""

    topics: list[DeleteRecordsTopic] = array_of(DeleteRecordsTopic)
    timeout_ms: int = int32()


class DeleteRecordsPartitionResult(Struct):
    partition_index: int = int32()
    low_watermark: int = int64()
    error_code: int = int16()


class DeleteRecordsTopicResult(Struct):
    name: str = string()
    partitions: list[DeleteRecordsPartitionResult] = array_of(DeleteRecordsPartitionResult)


@message(key=21, versions=range(3), flexible_from=2)
class DeleteRecordsResponse(Message):
    """The low watermark per partition."""

    throttle_time_ms: int = int32()
    topics: list[DeleteRecordsTopicResult] = array_of(DeleteRecordsTopicResult)
