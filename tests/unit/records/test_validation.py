"""What a leader accepts from clients and how it refuses; codes as Apache Kafka 4.3 answers them."""

import struct
from collections.abc import Callable

import pytest

from odradek.errors import ApiError, Err
from odradek.records.batch import crc_of, read_header
from odradek.records.builder import build_batch
from odradek.records.compression import Codec
from odradek.records.control import build_end_marker
from odradek.records.record import Record, read_records
from odradek.records.validation import APPEND_TIME, AppendRules, check_batches

NOW = 1_700_000_000_000
RULES = AppendRules()
HOUR_MS = 3_600_000


def records(count: int = 3, timestamp: int = NOW, key: bytes | None = b"k") -> list[Record]:
    return [Record(i, timestamp, key, b"v%d" % i) for i in range(count)]


def with_field(offset: int, fmt: str, value: int, *, fix_crc: bool = True) -> bytearray:
    batch = build_batch(records())
    struct.pack_into(fmt, batch, offset, value)
    if fix_crc:
        struct.pack_into(">I", batch, 17, crc_of(batch))
    return batch


def refused(data: bytes | bytearray, rules: AppendRules = RULES) -> ApiError:
    with pytest.raises(ApiError) as caught:
        check_batches(memoryview(data), rules, NOW)
    assert caught.value.message
    return caught.value


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_is_taken_as_it_is(codec: Codec) -> None:
    """The very same buffer comes back: nothing is copied or changed."""
    batch = build_batch(records(), codec=codec, producer_id=1, producer_epoch=0, base_sequence=0)
    data = memoryview(batch)
    out, headers = check_batches(data, RULES, NOW)
    assert out is data
    assert headers == [read_header(batch)]


def whole() -> bytes:
    return bytes(build_batch(records()))


REFUSALS: list[tuple[str, Callable[[], bytes | bytearray], Err]] = [
    ("nothing", lambda: b"", Err.INVALID_RECORD),
    ("10 bytes", lambda: whole()[:10], Err.INVALID_RECORD),
    ("20 bytes", lambda: whole()[:20], Err.INVALID_RECORD),
    ("60 bytes", lambda: whole()[:60], Err.INVALID_RECORD),
    ("one byte too few", lambda: whole()[:-1], Err.INVALID_RECORD),
    ("two batches", lambda: whole() * 2, Err.INVALID_RECORD),
    ("a wrong CRC", lambda: with_field(70, ">B", 0xFF, fix_crc=False), Err.CORRUPT_MESSAGE),
    ("format 0", lambda: with_field(16, ">b", 0), Err.INVALID_RECORD),
    ("format 1", lambda: with_field(16, ">b", 1), Err.INVALID_RECORD),
    ("format 3", lambda: with_field(16, ">b", 3), Err.CORRUPT_MESSAGE),
    ("format -1", lambda: with_field(16, ">b", -1), Err.CORRUPT_MESSAGE),
    ("length 0", lambda: with_field(8, ">i", 0, fix_crc=False), Err.CORRUPT_MESSAGE),
    ("length 20", lambda: with_field(8, ">i", 20, fix_crc=False), Err.CORRUPT_MESSAGE),
    ("length -5", lambda: with_field(8, ">i", -5, fix_crc=False), Err.CORRUPT_MESSAGE),
    ("length too large", lambda: with_field(8, ">i", 9999, fix_crc=False), Err.INVALID_RECORD),
    ("base offset 5", lambda: with_field(0, ">q", 5), Err.INVALID_RECORD),
    ("count 4 of 3", lambda: with_field(57, ">i", 4), Err.INVALID_RECORD),
    ("count 0", lambda: with_field(57, ">i", 0), Err.INVALID_RECORD),
    ("last delta -1", lambda: with_field(23, ">i", -1), Err.INVALID_RECORD),
    ("control", lambda: with_field(21, ">h", 0x20), Err.INVALID_RECORD),
    ("codec 5", lambda: with_field(21, ">h", 5), Err.UNSUPPORTED_COMPRESSION_TYPE),
    (
        "producer without sequence",
        lambda: build_batch(records(), producer_id=5, producer_epoch=0),
        Err.INVALID_RECORD,
    ),
    (
        "producer without epoch",
        lambda: build_batch(records(), producer_id=5, base_sequence=0),
        Err.INVALID_RECORD,
    ),
    (
        "transaction without producer",
        lambda: build_batch(records(), transactional=True),
        Err.INVALID_RECORD,
    ),
    (
        "a marker",
        lambda: build_end_marker(
            producer_id=1, producer_epoch=0, commit=True, coordinator_epoch=0, timestamp=NOW
        ),
        Err.INVALID_RECORD,
    ),
]


@pytest.mark.parametrize(("what", "make", "err"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_what_a_client_must_not_send(
    what: str, make: Callable[[], bytes | bytearray], err: Err
) -> None:
    """Each fault of a batch has Kafka's code, found from the header alone."""
    assert refused(make()).err is err


def test_every_truncation_is_refused() -> None:
    """A batch cut anywhere is never appended."""
    batch = whole()
    for end in range(len(batch)):
        refused(batch[:end])


def test_a_sequence_without_a_producer_is_ignored() -> None:
    """Some clients leave 0 in the field when they are not idempotent."""
    check_batches(memoryview(build_batch(records(), base_sequence=0)), RULES, NOW)


def test_size_is_looked_at_before_the_crc() -> None:
    """MESSAGE_TOO_LARGE tells a client to split; it must win over anything later."""
    batch = build_batch([Record(0, NOW, None, bytes(2000))])
    batch[-1] ^= 1
    assert refused(batch, RULES._replace(max_message_bytes=2000)).err is Err.MESSAGE_TOO_LARGE
    assert refused(batch).err is Err.CORRUPT_MESSAGE


def test_a_timestamp_too_far_ahead_names_the_records() -> None:
    """KIP-467: place and reason of each bad record; the good one is not named."""
    batch = build_batch(
        [
            Record(0, NOW, b"a", b""),
            Record(1, NOW + 2 * HOUR_MS, b"b", b""),
            Record(2, NOW + 3 * HOUR_MS, b"c", b""),
        ]
    )
    error = refused(batch)
    assert error.err is Err.INVALID_TIMESTAMP
    assert [record.batch_index for record in error.record_errors] == [1, 2]


def test_old_timestamps_are_refused_only_where_the_topic_says_so() -> None:
    """message.timestamp.before.max.ms is without limit by default."""
    batch = build_batch(records(timestamp=1))
    check_batches(memoryview(batch), RULES, NOW)
    error = refused(batch, RULES._replace(timestamp_before_max_ms=HOUR_MS))
    assert error.err is Err.INVALID_TIMESTAMP
    assert len(error.record_errors) == 3


def test_records_without_a_timestamp_are_taken() -> None:
    """-1 means none; no bound applies."""
    batch = build_batch(records(timestamp=-1))
    check_batches(memoryview(batch), RULES._replace(timestamp_before_max_ms=HOUR_MS), NOW)


@pytest.mark.parametrize("lie", [0, NOW + 9 * HOUR_MS])
def test_a_max_timestamp_that_lies_is_corrected(lie: int) -> None:
    """Kafka recomputes it from the records; so do we where the header cannot be true."""
    data, (header,) = check_batches(memoryview(with_field(35, ">q", lie)), RULES, NOW)
    assert header.max_timestamp == NOW
    assert read_header(data) == header
    assert header.crc == crc_of(data)


def test_append_time_is_stamped_in_place() -> None:
    """Attributes, max timestamp and CRC change; the buffer stays."""
    batch = build_batch(records(timestamp=5))
    rules = RULES._replace(timestamp_type=APPEND_TIME)
    data, (header,) = check_batches(memoryview(batch), rules, NOW)
    assert data.obj is batch
    assert {record.timestamp for record in read_records(data)} == {NOW}
    assert header.crc == crc_of(data)
    assert header == read_header(data)


def test_append_time_copies_what_is_read_only() -> None:
    """Bytes cannot be stamped in place."""
    rules = RULES._replace(timestamp_type=APPEND_TIME)
    data, _ = check_batches(memoryview(whole()), rules, NOW)
    assert {record.timestamp for record in read_records(data)} == {NOW}


def test_a_client_may_not_claim_append_time() -> None:
    """With LogAppendTime each record is named; elsewhere the bit is dropped, as in Kafka."""
    batch = with_field(21, ">h", 0x08)
    error = refused(batch, RULES._replace(timestamp_type=APPEND_TIME))
    assert error.err is Err.INVALID_TIMESTAMP
    assert [record.batch_index for record in error.record_errors] == [0, 1, 2]
    _, (header,) = check_batches(memoryview(batch), RULES, NOW)
    assert header.attributes == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_compacted_topic_needs_keys(codec: Codec) -> None:
    """S-7.18c: a record without key is refused, and every such record is named."""
    rules = RULES._replace(compacted=True)
    batch = build_batch(
        [Record(0, NOW, None, b""), Record(1, NOW, b"k", b""), Record(2, NOW, None, b"")],
        codec=codec,
    )
    error = refused(batch, rules)
    assert error.err is Err.INVALID_RECORD
    assert [record.batch_index for record in error.record_errors] == [0, 2]
    good = memoryview(build_batch(records(), codec=codec))
    assert check_batches(good, rules, NOW)[0] is good


def test_a_compacted_topic_refuses_records_that_lie() -> None:
    """Where records are decoded, a payload that contradicts its header is refused."""
    batch = with_field(57, ">i", 2)
    struct.pack_into(">i", batch, 23, 1)
    struct.pack_into(">I", batch, 17, crc_of(batch))
    assert refused(batch, RULES._replace(compacted=True)).err is Err.INVALID_RECORD


@pytest.mark.parametrize("wanted", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
@pytest.mark.parametrize("given", list(Codec))
def test_a_topics_codec_wins(given: Codec, wanted: str) -> None:
    """The batch is rebuilt with the topic's codec; records and producer fields stay."""
    before = [
        Record(0, NOW, b"k", b"v" * 100, (("h", b"x"),)),
        Record(1, NOW - 5, None, None),
    ]
    batch = build_batch(
        before, codec=given, producer_id=9, producer_epoch=2, base_sequence=40, transactional=True
    )
    rules = RULES._replace(compression=wanted)
    data, (header,) = check_batches(memoryview(batch), rules, NOW)
    assert list(read_records(data)) == before
    assert header.codec == (0 if wanted == "uncompressed" else Codec[wanted.upper()])
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 2, 40)
    assert header.is_transactional
    assert header.crc == crc_of(data)


def test_what_grows_by_recompression_is_measured_again() -> None:
    """A batch that fits compressed may not fit as the topic wants it."""
    batch = build_batch([Record(0, NOW, None, bytes(50_000))], codec=Codec.ZSTD)
    rules = RULES._replace(compression="uncompressed", max_message_bytes=10_000)
    assert refused(batch, rules).err is Err.MESSAGE_TOO_LARGE


def test_brokers_may_append_markers_and_several_batches() -> None:
    """What a broker built has only to be whole."""
    marker = build_end_marker(
        producer_id=1, producer_epoch=0, commit=True, coordinator_epoch=0, timestamp=NOW
    )
    data = memoryview(bytes(marker) + whole())
    out, headers = check_batches(data, RULES, NOW, from_client=False)
    assert out is data
    assert [header.is_control for header in headers] == [True, False]
    with pytest.raises(ApiError):
        check_batches(data[:-1], RULES, NOW, from_client=False)
