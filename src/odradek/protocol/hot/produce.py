"""The reply to a Produce in which every partition took its records, packed from templates.

It is what every producer gets all day, and a third of the cost of the declared `ProduceResponse`, which
is its reference in property tests and serves the replies with an error. Requests are decoded by the
declared codec: a hand-written one was measured to be no faster.

    [topic (name; from v13 id), [index int32, error_code int16, base_offset int64,
     log_append_time_ms int64, log_start_offset int64 (v5), [record errors] (v8), message (v8)]],
    throttle_time_ms int32
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from odradek.protocol.primitives import uvarint

FLEXIBLE_FROM: Final = 9
TOPIC_IDS_FROM: Final = 13

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_PARTITION_V3 = struct.Struct(">ihqq")  # index, error_code, base_offset, log_append_time_ms
_PARTITION_V5 = struct.Struct(">ihqqq")  # ... log_start_offset
_PARTITION_V8 = struct.Struct(">ihqqqih")  # ... no record errors, no message
_PARTITION_V9 = struct.Struct(">ihqqqBBB")  # the same, compact, and no tagged fields
_INT32_TAGS = struct.Struct(">iB")

# A partition that took its records: index, base offset, append time or -1, log start offset.
PartitionDone = tuple[int, int, int, int]
# A topic: its name, or from v13 the 16 bytes of its id.
TopicDone = tuple[str | bytes, Sequence[PartitionDone]]


def encode_success(version: int, topics: Sequence[TopicDone]) -> bytes:
    """The body of a reply in which every partition took its records."""
    if version >= FLEXIBLE_FROM:
        return _encode_flexible(topics)
    out = [_INT32.pack(len(topics))]
    for topic, partitions in topics:
        assert isinstance(topic, str)
        name = topic.encode()
        out += (_INT16.pack(len(name)), name, _INT32.pack(len(partitions)))
        for partition in partitions:
            index, base_offset, append_time_ms, log_start_offset = partition
            if version >= 8:
                out.append(
                    _PARTITION_V8.pack(
                        index, 0, base_offset, append_time_ms, log_start_offset, 0, -1
                    )
                )
            elif version >= 5:
                out.append(
                    _PARTITION_V5.pack(index, 0, base_offset, append_time_ms, log_start_offset)
                )
            else:
                out.append(_PARTITION_V3.pack(index, 0, base_offset, append_time_ms))
    out.append(_INT32.pack(0))  # throttle_time_ms
    return b"".join(out)


def _encode_flexible(topics: Sequence[TopicDone]) -> bytes:
    out = [uvarint(len(topics) + 1)]
    for topic, partitions in topics:
        if isinstance(topic, bytes):
            out.append(topic)
        else:
            name = topic.encode()
            out += (uvarint(len(name) + 1), name)
        out.append(uvarint(len(partitions) + 1))
        out += [
            # no record errors: an empty compact array (1); no message: null (0); no tags (0)
            _PARTITION_V9.pack(index, 0, base_offset, append_time_ms, log_start_offset, 1, 0, 0)
            for index, base_offset, append_time_ms, log_start_offset in partitions
        ]
        out.append(b"\0")
    out.append(_INT32_TAGS.pack(0, 0))  # throttle_time_ms, no tags
    return b"".join(out)
