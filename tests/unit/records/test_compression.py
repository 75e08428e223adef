"""Codecs: what clients write is read, what we write they read, nothing exceeds its bound."""

import gzip
import os
import resource
import struct

import cramjam
import pytest

from odradek.errors import ApiError, Err
from odradek.records.compression import Codec, codec_of, compress, decompress

SAMPLES = [b"", b"x", b"abc" * 1000, os.urandom(100_000), bytes(300_000)]
CODECS = list(Codec)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", SAMPLES, ids=["empty", "one", "text", "random", "zeros"])
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    """Every codec gives back what it was given, from any kind of buffer."""
    packed = compress(codec, memoryview(data))
    assert decompress(codec, packed, len(data)) == data
    assert decompress(codec, memoryview(bytearray(packed)), len(data) + 1) == data


@pytest.mark.parametrize("codec", CODECS)
def test_one_byte_more_than_the_bound_is_refused(codec: Codec) -> None:
    """The bound is exact."""
    packed = compress(codec, bytes(200_000))
    with pytest.raises(ApiError) as caught:
        decompress(codec, packed, 199_999)
    assert caught.value.err is Err.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", CODECS[1:])
def test_every_truncation_is_refused(codec: Codec) -> None:
    """Data that ends too early is never taken for whole, wherever it ends."""
    data = os.urandom(300) * 3
    packed = compress(codec, data)
    for end in range(len(packed)):
        # A snappy stream has no end mark: whole blocks are a legal end.
        try:
            assert decompress(codec, packed[:end], 10_000) != data
        except ApiError:
            pass


@pytest.mark.parametrize("codec", CODECS[1:])
@pytest.mark.parametrize("garbage", [b"garbage garbage garbage", b"\xff" * 64, bytes(64)])
def test_garbage_is_refused(codec: Codec, garbage: bytes) -> None:
    """Garbage is an operating error, not a crash."""
    with pytest.raises(ApiError) as caught:
        decompress(codec, garbage, 1_000_000)
    assert caught.value.err is Err.CORRUPT_MESSAGE


def bomb(codec: Codec) -> bytes:
    """A few megabytes at most that hold gigabytes of zeros."""
    match codec:
        case Codec.GZIP:
            return gzip.compress(bytes(1_000_000_000), 9) * 10
        case Codec.LZ4:
            return compress(codec, bytes(250_000_000)) * 40
        case Codec.ZSTD:
            return compress(codec, bytes(1_000_000_000)) * 10
        case _:
            return compress(codec, bytes(100_000_000))


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_neither_allocates_nor_takes_long(codec: Codec) -> None:
    """Ten gigabytes in a small batch cost no more than the bound."""
    packed = bomb(codec)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ApiError) as caught:
        decompress(codec, packed, 16 * 1024 * 1024)
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    assert caught.value.err is Err.CORRUPT_MESSAGE
    assert grown_kb < 64 * 1024


def test_a_gzip_bomb_is_cut_off() -> None:
    """Gzip of many members, each a bomb: the first stops it."""
    member = gzip.compress(bytes(50_000_000), 9)
    with pytest.raises(ApiError):
        decompress(Codec.GZIP, member * 200, 1_000_000)


def test_a_snappy_block_that_promises_gigabytes_is_refused_before_it_is_allocated() -> None:
    """The length in front of a raw block is a promise, not a fact."""
    with pytest.raises(ApiError, match="promises"):
        decompress(Codec.SNAPPY, b"\x80\x80\x80\x20" + b"\x00" * 8, 100_000_000)


def test_raw_snappy_is_read() -> None:
    """Some clients send a raw block without xerial's frame."""
    data = b"raw" * 100
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(data)), 1000) == data


def test_snappy_is_written_in_xerial_blocks() -> None:
    """The Java client's frame: magic, versions, then blocks of 32 KiB before compression."""
    packed = compress(Codec.SNAPPY, os.urandom(70_000))
    assert packed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    position, sizes = 16, []
    while position < len(packed):
        (length,) = struct.unpack_from(">i", packed, position)
        block = packed[position + 4 : position + 4 + length]
        sizes.append(cramjam.snappy.decompress_raw_len(block))
        position += 4 + length
    assert sizes == [32768, 32768, 70_000 - 65536]


def test_joined_snappy_streams_are_read() -> None:
    """A second header in the middle is skipped."""
    packed = compress(Codec.SNAPPY, b"one") + compress(Codec.SNAPPY, b"two")
    assert decompress(Codec.SNAPPY, packed, 100) == b"onetwo"


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("checksum", [True, False])
def test_lz4_frames_of_all_kinds_are_read(linked: bool, checksum: bool) -> None:
    """Linked or independent blocks, with or without checksum, more than one block."""
    data = (b"abcdefgh" * 1000 + os.urandom(1000)) * 20
    lz4 = cramjam.lz4.Compressor(level=1, content_checksum=checksum, block_linked=linked)
    lz4.compress(data)
    assert decompress(Codec.LZ4, bytes(lz4.finish()), len(data)) == data


def test_lz4_is_written_with_independent_blocks() -> None:
    """Bit 5 of the frame's flags; the Java client refuses linked blocks."""
    packed = compress(Codec.LZ4, b"x" * 1000)
    assert packed[:4] == b"\x04\x22\x4d\x18"
    assert packed[4] & 0x20
    assert packed[4] >> 6 == 1


def test_zstd_without_content_size_is_read() -> None:
    """Streaming writers do not know the size beforehand."""
    data = b"stream" * 50_000
    zstd = cramjam.zstd.Compressor(level=3)
    zstd.compress(data)
    assert decompress(Codec.ZSTD, bytes(zstd.finish()), len(data)) == data


def test_unknown_codecs_are_named() -> None:
    """Numbers 5 to 7 have no codec; names are those of compression.type."""
    for number in (5, 6, 7):
        with pytest.raises(ApiError) as caught:
            decompress(number, b"", 10)
        assert caught.value.err is Err.UNSUPPORTED_COMPRESSION_TYPE
    assert codec_of("uncompressed") is Codec.NONE
    assert codec_of("zstd") is Codec.ZSTD
