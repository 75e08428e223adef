"""OffsetForLeaderEpoch (23). Finds where a leader epoch ends in a log (KIP-101, KIP-320)."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, int64, message, string


class OffsetForLeaderPartition(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32(default=-1)
    leader_epoch: int = int32()


class OffsetForLeaderTopic(Struct):
    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array_of(OffsetForLeaderPartition)


@message(key=23, versions=range(2, 5), flexible_from=4)
class OffsetForLeaderEpochRequest(Message):
    """Partitions and the epochs asked about.

    v3 adds replica_id.
    """

    replica_id: int = int32(since=3, default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = array_of(OffsetForLeaderTopic)


class EpochEndOffset(Struct):
    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: str = string()
    partitions: list[EpochEndOffset] = array_of(EpochEndOffset)


@message(key=23, versions=range(2, 5), flexible_from=4)
class OffsetForLeaderEpochResponse(Message):
    """The end offset of each epoch."""

    throttle_time_ms: int = int32()
    topics: list[OffsetForLeaderTopicResult] = array_of(OffsetForLeaderTopicResult)
