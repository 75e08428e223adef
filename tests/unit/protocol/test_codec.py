"""The codec writes the encodings of the protocol guide, refuses what a version cannot carry, and
never believes a length."""

from __future__ import annotations

import tracemalloc
from uuid import UUID

import pytest

from odradek.protocol.codec import (
    DecodeError,
    EncodeError,
    decode,
    decode_from,
    encode,
    encode_part,
    encode_parts,
)
from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    bytes_,
    int8,
    int16,
    int32,
    int64,
    message,
    nested,
    nullable_array_of,
    nullable_bytes,
    nullable_nested,
    nullable_records,
    nullable_string,
    string,
    uuid,
)
from odradek.protocol.messages.fetch import FetchRequest, FetchTopic
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.metadata import MetadataResponseTopic as ResponseTopic
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")


class Point(Struct):
    x: int = int16()
    y: int = int16(since=1)


class Nothing(Struct):
    later: int = int8(since=1)


@message(versions=range(3), flexible_from=2)
class Sample(Message):
    number: int = int32(default=7)
    name: str | None = nullable_string(nullable_since=1)
    blob: bytes = bytes_()
    flag: bool = boolean(since=1)
    points: list[Point] = array_of(Point)
    maybe: Point | None = nullable_nested(Point, since=1, default=None)
    words: list[str] | None = nullable_array_of(string, since=1, default=None, ignorable=True)
    tagged: int = int64(since=2, default=-1, tag=0)
    marked: Point = nested(Point, since=2, tag=3)


@message(versions=range(2), flexible_from=1)
class Small(Message):
    text: str = string()


@message(versions=range(1))
class Hollow(Message):
    items: list[Nothing] = array_of(Nothing)


@message(versions=range(1), flexible_from=0)
class Blobs(Message):
    ids: list[UUID] = array_of(uuid)
    data: bytes | None = nullable_bytes(default=None)
    records: bytes | bytearray | memoryview | None = nullable_records()


def test_classic_encoding_byte_by_byte() -> None:
    sample = Sample(number=1, name="ab", blob=b"\x09", points=[Point(x=2)])
    assert encode(sample, 0).hex(" ") == (
        "00 00 00 01 00 02 61 62 00 00 00 01 09 00 00 00 01 00 02"
    )


def test_nulls_are_minus_one_in_classic_versions() -> None:
    sample = Sample(number=1, name=None, flag=True)
    assert encode(sample, 1).hex(" ") == (
        "00 00 00 01 ff ff 00 00 00 00 01 00 00 00 00 ff ff ff ff ff"
    )


def test_flexible_encoding_byte_by_byte() -> None:
    sample = Sample(name="a", points=[Point(x=1, y=2)], maybe=Point(), words=["b"], tagged=5)
    assert encode(sample, 2).hex(" ") == (
        "00 00 00 07 02 61 01 00 "  # number, name, blob, flag
        "02 00 01 00 02 00 "  # points, each with its tagged section
        "01 00 00 00 00 00 02 02 62 "  # maybe, words
        "01 00 08 00 00 00 00 00 00 00 05"  # one tagged field: tag 0, 8 bytes
    )


def test_tagged_fields_at_their_default_are_left_out() -> None:
    assert encode(Sample(), 2)[-1] == 0
    marked = encode(Sample(marked=Point(x=1)), 2)
    assert marked.hex(" ").endswith("01 03 05 00 01 00 00 00")
    assert decode(Sample, marked, 2).marked == Point(x=1)


def test_unknown_tagged_fields_are_skipped() -> None:
    assert decode(Small, bytes.fromhex("02 61 02 05 01 ff 81 01 00"), 1) == Small(text="a")


@pytest.mark.parametrize("tags", ["02 05 00 05 00", "02 05 00 04 00"], ids=["twice", "descending"])
def test_tags_must_ascend(tags: str) -> None:
    with pytest.raises(DecodeError, match="tag"):
        decode(Small, bytes.fromhex("01" + tags), 1)


def test_a_tagged_field_must_have_the_size_it_states() -> None:
    data = encode(Sample(tagged=5), 2)
    longer = data.replace(bytes.fromhex("01 00 08"), bytes.fromhex("01 00 09")) + b"\x00"
    with pytest.raises(DecodeError, match="tagged"):
        decode(Sample, longer, 2)


def test_fields_of_other_versions_get_their_defaults() -> None:
    decoded = decode(Sample, encode(Sample(name="x"), 0), 0)
    assert (decoded.flag, decoded.words, decoded.tagged) == (False, None, -1)


def test_a_value_that_the_version_cannot_carry_is_refused_unless_ignorable() -> None:
    with pytest.raises(EncodeError, match=r"Sample\.flag is not part of version 0"):
        encode(Sample(flag=True), 0)
    with pytest.raises(EncodeError, match=r"Sample\.points\.y is not part of version 0"):
        encode(Sample(points=[Point(y=1)]), 0)
    assert encode(Sample(words=["dropped"]), 0) == encode(Sample(), 0)


@pytest.mark.parametrize(
    ("bad", "version"),
    [
        (Sample(name=None), 0),
        (Sample(number=2**31), 0),
        (Sample(name="x" * 40_000), 0),
        (Sample(name="x" * 40_000), 2),
        (Sample(name="\ud800"), 0),
        (Sample(blob="text"), 0),  # type: ignore[arg-type]
        (Sample(marked=None), 2),  # type: ignore[arg-type]
        (Sample(), 3),
    ],
    ids=["null", "int", "long", "long-compact", "surrogate", "type", "null-struct", "version"],
)
def test_what_cannot_be_written_is_an_encode_error(bad: Sample, version: int) -> None:
    with pytest.raises(EncodeError):
        encode(bad, version)


@pytest.mark.parametrize(
    ("data", "version"),
    [
        ("", 0),
        ("ff fe", 0),
        ("ff ff", 0),
        ("00 05 61", 0),
        ("00 01 ff", 0),
        ("00 00 00", 0),
        ("00", 1),
        ("ff ff ff ff 7f 00", 1),
        ("80 80 80 80 80 01 00", 1),
        ("81 80 04", 1),
        ("01 7f", 1),
        ("01 01 00 7f", 1),
    ],
)
def test_malformed_input_is_a_decode_error(data: str, version: int) -> None:
    with pytest.raises(DecodeError):
        decode(Small, bytes.fromhex(data), version)


def test_a_string_is_never_longer_than_an_int16_can_say() -> None:
    data = bytes.fromhex("81 80 02") + b"x" * 0x8000 + b"\x00"
    with pytest.raises(DecodeError, match="length 32768"):
        decode(Small, data, 1)


def test_an_undeclared_version_is_a_decode_error() -> None:
    with pytest.raises(DecodeError, match="no version 9"):
        decode(Small, b"", 9)


@pytest.mark.parametrize("version", [0, 9])
def test_a_huge_count_allocates_nothing(version: int) -> None:
    data = b"\x7f\xff\xff\xff" + bytes(64) if version == 0 else b"\xff\xff\xff\xff\x07" + bytes(64)
    with pytest.raises(DecodeError):
        decode(MetadataRequest, data, version)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            decode(MetadataRequest, data, version)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_elements_without_bytes_are_capped() -> None:
    assert len(decode(Hollow, bytes.fromhex("00 00 00 03"), 0).items) == 3
    with pytest.raises(DecodeError):
        decode(Hollow, bytes.fromhex("7f ff ff ff"), 0)


def test_records_are_a_view_and_other_bytes_a_copy() -> None:
    data = encode(Blobs(ids=[TOPIC_ID], data=b"copy", records=b"view"), 0)
    decoded = decode(Blobs, data, 0)
    assert decoded.ids == [TOPIC_ID]
    assert type(decoded.data) is bytes
    assert isinstance(decoded.records, memoryview)
    assert decoded.records.obj is data
    assert decoded.records == b"view"


def test_records_are_not_copied_into_the_parts() -> None:
    records = memoryview(bytearray(1000))
    request = ProduceRequest(
        topic_data=[
            TopicProduceData(
                name="t", partition_data=[PartitionProduceData(index=0, records=records)]
            )
        ]
    )
    parts = encode_parts(request, 9)
    assert any(part is records for part in parts)
    assert b"".join(parts) == encode(request, 9)


def test_one_part_of_a_message_can_be_encoded_alone() -> None:
    topics = [ResponseTopic(name="a"), ResponseTopic(name="b")]
    for version in MetadataResponse.VERSIONS:
        whole = encode(MetadataResponse(topics=topics), version)
        assert encode_part(topics[0], version, MetadataResponse) in whole
        joined = b"".join(encode_part(topic, version, MetadataResponse) for topic in topics)
        assert joined in whole


def test_decoding_starts_and_ends_where_it_is_told() -> None:
    data = b"??" + encode(Small(text="hi"), 0) + b"!"
    assert decode_from(Small, data, 2, 0) == (Small(text="hi"), 6)
    with pytest.raises(DecodeError, match="1 bytes too many"):
        decode(Small, data, 0, offset=2)


def test_instances_compare_print_and_refuse_unknown_names() -> None:
    topic = FetchTopic(topic="a")
    assert topic == FetchTopic(topic="a", partitions=[])
    assert topic != FetchTopic(topic="b")
    assert topic != "a"
    assert repr(Point(x=3)) == "Point(x=3, y=0)"
    with pytest.raises(TypeError, match="nonsense"):
        FetchTopic(nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        topic.nonsense = 1  # type: ignore[attr-defined]


def test_defaults_that_can_change_are_not_shared() -> None:
    FetchRequest().topics.append(FetchTopic(topic="a"))
    assert FetchRequest().topics == []
    Sample().marked.x = 9
    assert Sample().marked == Point()
