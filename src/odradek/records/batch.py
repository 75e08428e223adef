"""The header of a record batch, read and stamped in place.

Layout of a batch, big-endian (offset: field):

    0  base_offset int64              | not covered by the CRC: stamped by the leader
    8  batch_length int32             | bytes after this field
   12  partition_leader_epoch int32   | stamped by the leader
   16  magic int8                     | 2
   17  crc uint32                     | CRC-32C of everything from byte 21
   21  attributes int16               | 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control,
                                      | 6 base_timestamp is the delete horizon (KIP-534)
   23  last_offset_delta int32
   27  base_timestamp int64
   35  max_timestamp int64
   43  producer_id int64
   51  producer_epoch int16
   53  base_sequence int32
   57  record_count int32
   61  records

A batch stays opaque from socket to file and back: base offset and leader epoch lie outside the
CRC, so that the leader stamps them without touching the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from crc32c import crc32c

from odradek.errors import ApiError, Err

Buffer = bytes | bytearray | memoryview

# base_offset, batch_length, leader_epoch, magic, crc, attributes, last_offset_delta,
# base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, record_count
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = HEADER.size
assert HEADER_BYTES == 61
# base_offset and batch_length: enough to walk a log.
PREFIX: Final = struct.Struct(">qi")
PREFIX_BYTES: Final = PREFIX.size
CRC_START: Final = 21
MAGIC_OFFSET: Final = 16
MAGIC: Final = 2

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

_BASE_OFFSET = struct.Struct(">q")
_LEADER_EPOCH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_MAX_TIMESTAMP = struct.Struct(">q")


class BatchHeader(NamedTuple):
    """The 61 bytes before the records."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, header included."""
        return PREFIX_BYTES + self.batch_length

    @property
    def last_offset(self) -> int:
        """The offset of the last record the batch once had (compaction keeps it)."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The first offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        """The number of the compression codec."""
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        """Part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """A marker, not for consumers."""
        return bool(self.attributes & CONTROL)

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; wraps after 2**31 - 1 to 0."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Unpack the header at `position`; struct.error when fewer than 61 bytes are left."""
    return BatchHeader._make(HEADER.unpack_from(buffer, position))


def crc_of(batch: Buffer) -> int:
    """The CRC-32C that the header of this batch should carry."""
    return crc32c(memoryview(batch)[CRC_START:])


def has_valid_crc(batch: memoryview, header: BatchHeader) -> bool:
    """Whether `batch`, exactly one whole batch, is what its writer wrote."""
    return crc32c(batch[CRC_START : header.size_bytes]) == header.crc


def stamp(buffer: bytearray | memoryview, position: int, base_offset: int, epoch: int) -> None:
    """Give the batch at `position` its place in the log; the CRC does not cover either field."""
    _BASE_OFFSET.pack_into(buffer, position, base_offset)
    _LEADER_EPOCH.pack_into(buffer, position + 12, epoch)


def stamp_append_time(buffer: bytearray | memoryview, position: int, now_ms: int) -> None:
    """Turn the batch at `position` into one with LogAppendTime, and renew its CRC."""
    header = read_header(buffer, position)
    _ATTRIBUTES.pack_into(buffer, position + 21, header.attributes | LOG_APPEND_TIME)
    _MAX_TIMESTAMP.pack_into(buffer, position + 35, now_ms)
    end = position + header.size_bytes
    _CRC.pack_into(buffer, position + 17, crc32c(memoryview(buffer)[position + CRC_START : end]))


def stamp_max_timestamp(
    buffer: bytearray | memoryview, position: int, max_timestamp: int, attributes_mask: int = -1
) -> None:
    """Correct the max timestamp of the batch at `position`, mask its attributes, renew the CRC."""
    header = read_header(buffer, position)
    _ATTRIBUTES.pack_into(buffer, position + 21, header.attributes & attributes_mask)
    _MAX_TIMESTAMP.pack_into(buffer, position + 35, max_timestamp)
    end = position + header.size_bytes
    _CRC.pack_into(buffer, position + 17, crc32c(memoryview(buffer)[position + CRC_START : end]))


def walk_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each batch of `buffer`; ApiError at a torn or impossible one."""
    position, end = 0, len(buffer)
    while position < end:
        if end - position < HEADER_BYTES:
            raise ApiError(Err.CORRUPT_MESSAGE, "a batch is shorter than its header")
        header = read_header(buffer, position)
        if header.batch_length < HEADER_BYTES - PREFIX_BYTES:
            raise ApiError(Err.CORRUPT_MESSAGE, f"a batch says it has {header.batch_length} bytes")
        if header.size_bytes > end - position:
            raise ApiError(Err.CORRUPT_MESSAGE, "a batch is longer than what was sent")
        yield position, header
        position += header.size_bytes
