"""WriteTxnMarkers (27).

Writes commit and abort markers into partitions; sent by transaction coordinators.
"""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int8,
    int16,
    int32,
    int64,
    message,
    string,
)


class WritableTxnMarkerTopic(Struct):
    name: str = string()
    partition_indexes: list[int] = array_of(int32)


class WritableTxnMarker(Struct):
    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_result: bool = boolean()
    topics: list[WritableTxnMarkerTopic] = array_of(WritableTxnMarkerTopic)
    coordinator_epoch: int = int32()
    transaction_version: int = int8(since=2, ignorable=True)


@message(key=27, versions=range(1, 3), flexible_from=1)
class WriteTxnMarkersRequest(Message):
    """Markers by producer, with their partitions.

    v2 adds transaction_version.
    """

    markers: list[WritableTxnMarker] = array_of(WritableTxnMarker)


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class WritableTxnMarkerTopicResult(Struct):
    name: str = string()
    partitions: list[WritableTxnMarkerPartitionResult] = array_of(WritableTxnMarkerPartitionResult)


class WritableTxnMarkerResult(Struct):
    producer_id: int = int64()
    topics: list[WritableTxnMarkerTopicResult] = array_of(WritableTxnMarkerTopicResult)


@message(key=27, versions=range(1, 3), flexible_from=1)
class WriteTxnMarkersResponse(Message):
    """The result per producer and partition."""

    markers: list[WritableTxnMarkerResult] = array_of(WritableTxnMarkerResult)
