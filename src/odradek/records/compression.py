"""The five codecs of a record batch, each with a bound on what it may expand to.

What compresses well can be a bomb: ten megabytes of gzip may hold ten gigabytes of zeros. So
nothing here ever gives out, or allocates, more than the `max_bytes` of its caller: the output
buffer starts near the size of the input and grows fourfold until the data fits or the bound is
reached.

The frames on the wire, as the clients write them:

- gzip: one member or several; the header's fields are ignored.
- snappy: the frame of xerial's Java library, a 16-byte header and then blocks of (int32 length,
  raw snappy). librdkafka and others may send one raw block without the frame; both are read, the
  frame is written.
- lz4: the standard frame. Linked blocks, checksums and content size are all read. Written are
  independent blocks, because the Java client refuses linked ones.
- zstd: one frame or several, with or without the content size.

Pure functions; any thread may call them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from typing import Final

import cramjam

from odradek.errors import ApiError, Err

Buffer = bytes | bytearray | memoryview


class Codec(IntEnum):
    """The number in the three low bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# What a broker accepts as one batch's records. A producer's request is at most 100 MiB by default
# (`socket.request.max.bytes`); no honest batch was larger than that before it was compressed.
DECOMPRESSED_BYTES_MAX: Final = 128 * 1024 * 1024

# What Kafka's own clients and brokers use when no level is set.
GZIP_LEVEL: Final = 6
ZSTD_LEVEL: Final = 3
LZ4_LEVEL: Final = 0
# How Kafka spells "no level" in its configuration. With lz4 that takes its fast compressor, not the
# ninth step of the thorough one.
_GZIP_DEFAULT: Final = -1
_LZ4_DEFAULT: Final = 9

_FIRST_GUESS_BYTES: Final = 64 * 1024
_GROWTH: Final = 4
# What the library (Rust's standard one, in fact) says when only the output buffer was too small.
_NO_ROOM: Final = "failed to write whole buffer"

# Magic, version 1, compatible with 1.
_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
# xerial's own block size.
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
# A snappy copy turns 3 bytes into 64 at most, so a block that promises more than this factor lies.
_SNAPPY_EXPANSION_MAX: Final = 64
_INT32 = Struct(">i")
# zlib's window size for "gzip header and trailer".
_GZIP_WBITS: Final = 31


def codec_of(name: str) -> Codec:
    """The codec of a `compression.type`; `uncompressed` is Kafka's word for none."""
    return Codec.NONE if name == "uncompressed" else Codec[name.upper()]


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """`data` in the frame that every Kafka client can read; `level` as in Kafka's configuration."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            if level is None or level == _GZIP_DEFAULT:
                level = GZIP_LEVEL
            return bytes(cramjam.gzip.compress(data, level=level))
        case Codec.SNAPPY:
            return _compress_snappy(memoryview(data))
        case Codec.LZ4:
            if level is None or level == _LZ4_DEFAULT:
                level = LZ4_LEVEL
            lz4 = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
            lz4.compress(bytes(data))
            return bytes(lz4.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=ZSTD_LEVEL if level is None else level))
        case _:
            raise _unknown(codec)


def decompress(codec: int, data: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """What was compressed; ApiError when it is garbage or would be more than `max_bytes`."""
    match codec:
        case Codec.NONE:
            if len(data) > max_bytes:
                raise _too_large(max_bytes)
            return bytes(data)
        case Codec.GZIP:
            return _decompress_gzip(data, max_bytes)
        case Codec.SNAPPY:
            return _decompress_snappy(memoryview(data), max_bytes)
        case Codec.LZ4:
            return _decompress_growing(cramjam.lz4.decompress_into, data, max_bytes)
        case Codec.ZSTD:
            return _decompress_growing(cramjam.zstd.decompress_into, data, max_bytes)
        case _:
            raise _unknown(codec)


def _unknown(codec: int) -> ApiError:
    return ApiError(Err.UNSUPPORTED_COMPRESSION_TYPE, f"there is no codec with number {codec}")


def _too_large(max_bytes: int) -> ApiError:
    return ApiError(
        Err.CORRUPT_MESSAGE,
        f"the records expand to more than {max_bytes} bytes; send smaller batches",
    )


def _decompress_growing(
    decompress_into: Callable[[Buffer, bytearray], int], data: Buffer, max_bytes: int
) -> bytes:
    """Try with a larger and larger buffer, as long as room is all that lacks."""
    size = max(_FIRST_GUESS_BYTES, _GROWTH * len(data))
    while True:
        size = min(size, max_bytes)
        output = bytearray(size)
        try:
            written = decompress_into(data, output)
        except cramjam.DecompressionError as error:
            if size >= max_bytes or str(error) != _NO_ROOM:
                raise ApiError(
                    Err.CORRUPT_MESSAGE,
                    f"the records do not decompress within {max_bytes} bytes: {error}",
                ) from error
            size *= _GROWTH
            continue
        return bytes(memoryview(output)[:written])


def _decompress_gzip(data: Buffer, max_bytes: int) -> bytes:
    """Member after member, through zlib's bounded output."""
    parts: list[bytes] = []
    room = max_bytes
    while True:
        member = zlib.decompressobj(_GZIP_WBITS)
        try:
            part = member.decompress(data, room + 1)
        except zlib.error as error:
            raise ApiError(Err.CORRUPT_MESSAGE, f"the records are not gzip: {error}") from error
        room -= len(part)
        if room < 0:
            raise _too_large(max_bytes)
        if not member.eof:
            raise ApiError(Err.CORRUPT_MESSAGE, "the gzip data ends too early")
        parts.append(part)
        data = member.unused_data
        if not data:
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _compress_snappy(data: memoryview) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts.append(_INT32.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    if bytes(data[:8]) != _XERIAL_MAGIC:
        return _decompress_snappy_block(data, max_bytes)
    parts: list[bytes] = []
    room, position, end = max_bytes, 0, len(data)
    while position < end:
        # The header comes again where streams were joined.
        if bytes(data[position : position + 8]) == _XERIAL_MAGIC:
            position += len(_XERIAL_HEADER)
            continue
        if end - position < 4:
            raise ApiError(Err.CORRUPT_MESSAGE, "the snappy data ends inside a block's length")
        length: int = _INT32.unpack_from(data, position)[0]
        position += 4
        if not 0 < length <= end - position:
            raise ApiError(Err.CORRUPT_MESSAGE, f"a snappy block says it has {length} bytes")
        part = _decompress_snappy_block(data[position : position + length], room)
        parts.append(part)
        room -= len(part)
        position += length
    if position > end:
        raise ApiError(Err.CORRUPT_MESSAGE, "the snappy data ends inside its header")
    return b"".join(parts)


def _decompress_snappy_block(block: memoryview, max_bytes: int) -> bytes:
    try:
        size: int = cramjam.snappy.decompress_raw_len(block)
        if size > max_bytes:
            raise _too_large(max_bytes)
        if size > _SNAPPY_EXPANSION_MAX * len(block):
            raise ApiError(Err.CORRUPT_MESSAGE, "a snappy block promises more than it can hold")
        output = bytearray(size)
        written: int = cramjam.snappy.decompress_raw_into(block, output)
    except cramjam.DecompressionError as error:
        raise ApiError(Err.CORRUPT_MESSAGE, f"the records are not snappy: {error}") from error
    return bytes(memoryview(output)[:written])
