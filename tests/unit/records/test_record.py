"""Records: read strictly; every lie in a batch is an ApiError, never a wrong record or a crash."""

import struct

import pytest

from odradek.errors import ApiError, Err
from odradek.records.batch import crc_of, read_header
from odradek.records.builder import build_batch, encode_records, record_bytes
from odradek.records.compression import Codec, compress
from odradek.records.record import Record, header_of, payload_of, read_records, scan_records
from odradek.records.varint import read_varint, varint_bytes, write_varint

RECORDS = [
    Record(10, 1000, b"k", b"v"),
    Record(11, 999, None, b"x" * 300, (("h", b"1"), ("ünï", None), ("", b""))),
    Record(12, 5000, b"", None),
]


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_built_is_read(codec: Codec) -> None:
    """Offsets, timestamps, nulls and headers come back, whatever the codec."""
    batch = build_batch(RECORDS, base_offset=10, codec=codec)
    assert list(read_records(batch)) == RECORDS
    header = read_header(batch)
    assert header.codec == codec
    assert (header.base_timestamp, header.max_timestamp) == (1000, 5000)
    assert (header.base_offset, header.last_offset, header.record_count) == (10, 12, 3)
    assert header.crc == crc_of(batch)


def test_gaps_are_read() -> None:
    """Compaction leaves gaps, also at the end of a batch."""
    records = [Record(5, 1, b"a", b"1"), Record(9, 2, b"b", b"2")]
    batch = build_batch(records, base_offset=3, last_offset=20)
    assert list(read_records(batch)) == records
    assert read_header(batch).last_offset == 20


def test_an_empty_batch_has_no_records() -> None:
    """What compaction leaves of a producer's last batch."""
    batch = build_batch([], base_offset=3, last_offset=7, producer_id=1, base_sequence=2)
    assert list(read_records(batch)) == []


def test_append_time_is_every_records_time() -> None:
    """With LogAppendTime the header's max timestamp is each record's."""
    batch = build_batch(RECORDS, base_offset=10, append_time_ms=7777)
    assert {record.timestamp for record in read_records(batch)} == {7777}


def test_the_delete_horizon_does_not_change_timestamps() -> None:
    """The horizon takes the place of the base timestamp; deltas follow it (KIP-534)."""
    batch = build_batch(RECORDS, base_offset=10, delete_horizon_ms=123_456)
    assert read_header(batch).base_timestamp == 123_456
    assert list(read_records(batch)) == RECORDS


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_every_truncation_is_refused(codec: Codec) -> None:
    """A batch cut anywhere, with or without a header that admits it, is refused."""
    batch = build_batch(RECORDS, base_offset=10, codec=codec)
    for end in range(len(batch)):
        with pytest.raises(ApiError):
            list(read_records(batch[:end]))
        if end >= 61:
            cut = batch[:end]
            struct.pack_into(">i", cut, 8, end - 12)
            with pytest.raises(ApiError):
                list(read_records(cut))


def test_every_flipped_byte_is_harmless() -> None:
    """Without the CRC's protection a garbled payload gives records or an ApiError, nothing else."""
    batch = build_batch(RECORDS, base_offset=10)
    for position in range(61, len(batch)):
        for flip in (0x01, 0x80, 0xFF):
            garbled = bytearray(batch)
            garbled[position] ^= flip
            try:
                list(read_records(garbled))
            except ApiError:
                pass


def payload_lies() -> list[tuple[str, bytes, int]]:
    """(what is wrong, payload, record count) for a batch whose last offset delta is 2."""
    good = bytes(encode_records(RECORDS, 10, 1000))
    one = bytes(encode_records(RECORDS[:1], 10, 1000))
    repeated = one + one
    return [
        ("bytes after the last record", good + b"\0", 3),
        ("fewer records than counted", good, 2),
        ("more records than counted", one, 3),
        ("negative count", b"", -1),
        ("a count no payload can hold", one, 2**31 - 1),
        ("deltas that repeat", repeated, 2),
        ("a delta past the last", bytes(encode_records([Record(13, 0, b"", b"")], 10, 0)), 1),
        ("a varint without end", b"\xff" * 40, 1),
        ("a record of no bytes", b"\x00" * 7, 1),
    ]


@pytest.mark.parametrize(("what", "payload", "count"), payload_lies())
def test_lies_are_refused(what: str, payload: bytes, count: int) -> None:
    """Each way a payload can contradict its header is INVALID_RECORD."""
    with pytest.raises(ApiError) as caught:
        list(scan_records(payload, count, 2))
    assert caught.value.err is Err.INVALID_RECORD, what


def test_header_keys_are_utf8() -> None:
    """A header key that is not UTF-8 is refused."""
    batch = build_batch([Record(0, 0, b"k", b"v", (("a", b"b"),))])
    position = batch.index(b"\x02a\x02b")
    batch[position + 1] = 0xFF
    with pytest.raises(ApiError):
        list(read_records(batch))


def test_old_formats_are_not_read() -> None:
    """Formats 0 and 1 are reported, not served."""
    batch = build_batch(RECORDS, base_offset=10)
    batch[16] = 1
    with pytest.raises(ApiError, match="format 1"):
        header_of(batch)


def test_a_compressed_payload_is_bounded() -> None:
    """`max_bytes` bounds what a batch may expand to."""
    batch = build_batch([Record(0, 0, None, bytes(100_000))], codec=Codec.ZSTD)
    with pytest.raises(ApiError):
        payload_of(batch, header_of(batch), 50_000)


@pytest.mark.parametrize("value", [0, -1, 1, 63, 64, -64, -65, 8191, 8192, 2**31 - 1, -(2**63)])
def test_varints(value: int) -> None:
    """Written and read back; the size is foretold."""
    output = bytearray()
    write_varint(output, value)
    assert read_varint(bytes(output), 0) == (value, len(output))
    assert varint_bytes(value) == len(output)


def test_the_size_of_a_record_is_foretold() -> None:
    """`record_bytes` is what encoding spends, headers included."""
    for record in RECORDS:
        assert record_bytes(record, 10, 1000) == len(encode_records([record], 10, 1000))


def test_zstd_levels_are_taken() -> None:
    """A level changes the size, not the content."""
    data = b"".join(b"%d" % i for i in range(20_000))
    assert len(compress(Codec.ZSTD, data, 19)) < len(compress(Codec.ZSTD, data, 1))
