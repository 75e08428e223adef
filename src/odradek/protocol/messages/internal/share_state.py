"""Records of ``__share_group_state``: how far share partitions are delivered."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    int64,
    message,
    string,
    uuid,
)


@message(key=0, versions=range(1))
class ShareSnapshotKey(Message):
    """A share partition."""

    group_id: str = string()
    topic_id: UUID = uuid()
    partition: int = int32()


class ShareSnapshotValueStateBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


@message(key=0, versions=range(1), flexible_from=0)
class ShareSnapshotValue(Message):
    """The whole state of the share partition."""

    snapshot_epoch: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(default=-1, tag=0)
    create_timestamp: int = int64()
    write_timestamp: int = int64()
    state_batches: list[ShareSnapshotValueStateBatch] = array_of(ShareSnapshotValueStateBatch)


@message(key=1, versions=range(1))
class ShareUpdateKey(Message):
    """A share partition."""

    group_id: str = string()
    topic_id: UUID = uuid()
    partition: int = int32()


class ShareUpdateValueStateBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


@message(key=1, versions=range(1), flexible_from=0)
class ShareUpdateValue(Message):
    """What changed since the last snapshot."""

    snapshot_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(default=-1, tag=0)
    state_batches: list[ShareUpdateValueStateBatch] = array_of(ShareUpdateValueStateBatch)
