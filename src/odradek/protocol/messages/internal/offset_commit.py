"""Records of ``__consumer_offsets`` that hold committed positions."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import Message, int32, int64, message, string, uuid


@message(key=0, versions=range(1))
class LegacyOffsetCommitKey(Message):
    """Where a position belongs, as written before 0.8.3."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


@message(key=0, versions=range(1))
class LegacyOffsetCommitValue(Message):
    """A position, as written before 0.8.3."""

    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()


@message(key=1, versions=range(1))
class OffsetCommitKey(Message):
    """Where a position belongs."""

    group: str = string()
    topic: str = string()
    partition: int = int32()


@message(key=1, versions=range(5), flexible_from=4)
class OffsetCommitValue(Message):
    """A position.

    v1 adds expire_timestamp. v2 drops expire_timestamp. v3 adds leader_epoch. v4 adds topic_id.
    """

    offset: int = int64()
    leader_epoch: int = int32(since=3, default=-1, ignorable=True)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64(since=1, until=1, default=-1, ignorable=True)
    topic_id: UUID = uuid(since=4, tag=0, ignorable=True)
