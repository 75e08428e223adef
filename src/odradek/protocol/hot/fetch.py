"""The Fetch reply, packed by hand around records that never pass through Python.

A reply is a list of byte pieces with gaps; into each gap the caller puts the records, from a file by
`sendfile` or from memory. The declared `FetchResponse` is the reference in property tests.

    throttle_time_ms int32, error_code int16 (v7), session_id int32 (v7),
    [topic (name; from v13 id), [partition_index int32, error_code int16, high_watermark int64,
     last_stable_offset int64, log_start_offset int64 (v5), [aborted transactions],
     preferred_read_replica int32 (v11), records, tags (v12)]]
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.protocol.primitives import uvarint

FLEXIBLE_FROM: Final = 12
TOPIC_IDS_FROM: Final = 13

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_HEAD_V7 = struct.Struct(">ihi")  # throttle_time_ms, error_code, session_id
_PARTITION_V4 = struct.Struct(">ihqq")  # index, error, high watermark, last stable offset
_PARTITION_V5 = struct.Struct(">ihqqq")  # ... log start offset
_ABORTED = struct.Struct(">qq")  # producer id, first offset
_EPOCH_AND_OFFSET = struct.Struct(">iqB")  # epoch, end offset, no tags
_LEADER = struct.Struct(">iiB")  # leader id, leader epoch, no tags


class PartitionHead(NamedTuple):
    """Everything about a partition in the reply except the records themselves."""

    partition_index: int
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: Sequence[tuple[int, int]] | None
    records_size: int
    preferred_read_replica: int = -1
    diverging_epoch: tuple[int, int] | None = None
    current_leader: tuple[int, int] | None = None


def encode_head(version: int, error_code: int, session_id: int, topic_count: int) -> bytes:
    """The start of the reply, up to the first topic."""
    head = _HEAD_V7.pack(0, error_code, session_id) if version >= 7 else _INT32.pack(0)
    if version >= FLEXIBLE_FROM:
        return head + uvarint(topic_count + 1)
    return head + _INT32.pack(topic_count)


def encode_topic(version: int, topic: str | bytes, partition_count: int) -> bytes:
    """The start of a topic, up to its first partition."""
    if version >= FLEXIBLE_FROM:
        if isinstance(topic, bytes):
            return topic + uvarint(partition_count + 1)
        name = topic.encode()
        return uvarint(len(name) + 1) + name + uvarint(partition_count + 1)
    assert isinstance(topic, str)
    name = topic.encode()
    return _INT16.pack(len(name)) + name + _INT32.pack(partition_count)


def encode_partition(version: int, head: PartitionHead) -> tuple[bytes, bytes]:
    """What stands before and after the records of a partition."""
    if version >= FLEXIBLE_FROM:
        return _encode_flexible(head)
    before = _PARTITION_V5.pack(*head[:5]) if version >= 5 else _PARTITION_V4.pack(*head[:4])
    if head.aborted is None:
        before += b"\xff\xff\xff\xff"
    else:
        before += _INT32.pack(len(head.aborted))
        before += b"".join(_ABORTED.pack(*aborted) for aborted in head.aborted)
    if version >= 11:
        before += _INT32.pack(head.preferred_read_replica)
    return before + _INT32.pack(head.records_size), b""


def _encode_flexible(head: PartitionHead) -> tuple[bytes, bytes]:
    before = _PARTITION_V5.pack(*head[:5])
    if head.aborted is None:
        before += b"\0"
    else:
        before += uvarint(len(head.aborted) + 1)
        before += b"".join(_ABORTED.pack(*aborted) + b"\0" for aborted in head.aborted)
    before += _INT32.pack(head.preferred_read_replica) + uvarint(head.records_size + 1)
    tags = []
    if head.diverging_epoch is not None:
        tags.append((0, _EPOCH_AND_OFFSET.pack(*head.diverging_epoch, 0)))
    if head.current_leader is not None:
        tags.append((1, _LEADER.pack(*head.current_leader, 0)))
    if not tags:
        return before, b"\0"
    after = uvarint(len(tags))
    for tag, value in tags:
        after += uvarint(tag) + uvarint(len(value)) + value
    return before, after


def topic_end(version: int) -> bytes:
    """What closes a topic, and the reply."""
    return b"\0" if version >= FLEXIBLE_FROM else b""
