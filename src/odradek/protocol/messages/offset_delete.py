"""OffsetDelete (47). Deletes a group's stored positions."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, message, string


class OffsetDeleteRequestPartition(Struct):
    partition_index: int = int32()


class OffsetDeleteRequestTopic(Struct):
    name: str = string()
    partitions: list[OffsetDeleteRequestPartition] = array_of(OffsetDeleteRequestPartition)


@message(key=47, versions=range(1))
class OffsetDeleteRequest(Message):
    """Topics and partitions."""

    group_id: str = string()
    topics: list[OffsetDeleteRequestTopic] = array_of(OffsetDeleteRequestTopic)


class OffsetDeleteResponsePartition(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class OffsetDeleteResponseTopic(Struct):
    name: str = string()
    partitions: list[OffsetDeleteResponsePartition] = array_of(OffsetDeleteResponsePartition)


@message(key=47, versions=range(1))
class OffsetDeleteResponse(Message):
    """The result per partition."""

    error_code: int = int16()
    throttle_time_ms: int = int32()
    topics: list[OffsetDeleteResponseTopic] = array_of(OffsetDeleteResponseTopic)
