"""Batches round-trip for any records and codec, and no bytes whatever make the reader crash."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.errors import ApiError
from odradek.records.batch import read_header
from odradek.records.builder import build_batch
from odradek.records.compression import Codec, compress, decompress
from odradek.records.record import Record, read_records
from odradek.records.validation import AppendRules, check_batches
from odradek.records.varint import read_varint, varint_bytes, write_varint

timestamps = st.integers(-1, 2**62)
maybe_bytes = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=5), maybe_bytes), max_size=3).map(tuple)


@st.composite
def record_lists(draw: st.DrawFn) -> list[Record]:
    gaps = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=10))
    offset, records = draw(st.integers(0, 2**40)), []
    for gap in gaps:
        records.append(
            Record(offset, draw(timestamps), draw(maybe_bytes), draw(maybe_bytes), draw(headers))
        )
        offset += gap
    return records


@given(record_lists(), st.sampled_from(Codec))
def test_batches_round_trip(records: list[Record], codec: Codec) -> None:
    """What is built is read, for any records with rising offsets."""
    batch = build_batch(records, base_offset=records[0].offset, codec=codec)
    assert list(read_records(batch)) == records
    assert read_header(batch).last_offset == records[-1].offset


@given(st.binary(max_size=3000), st.sampled_from(Codec))
def test_compression_round_trips(data: bytes, codec: Codec) -> None:
    """Any bytes, any codec."""
    assert decompress(codec, compress(codec, data), max(1, len(data))) == data


@given(st.binary(max_size=200), st.sampled_from(Codec))
def test_garbage_decompresses_within_its_bound_or_not_at_all(data: bytes, codec: Codec) -> None:
    """Nothing but an ApiError comes out of garbage, and never more than the bound."""
    try:
        assert len(decompress(codec, data, 1000)) <= 1000
    except ApiError:
        pass


@given(st.integers(-(2**63), 2**63 - 1))
def test_varints_round_trip(value: int) -> None:
    """Every int64."""
    output = bytearray()
    write_varint(output, value)
    assert read_varint(bytes(output), 0) == (value, len(output))
    assert varint_bytes(value) == len(output)


@given(record_lists(), st.data())
def test_garbled_batches_are_refused_by_the_crc(records: list[Record], data: st.DataObject) -> None:
    """No change after the CRC goes unnoticed; changes before it are refused or harmless."""
    shifted = [record._replace(offset=index) for index, record in enumerate(records)]
    batch = build_batch(shifted)
    garbled = bytearray(batch)
    position = data.draw(st.integers(0, len(batch) - 1))
    garbled[position] ^= data.draw(st.integers(1, 255))
    try:
        check_batches(memoryview(garbled), AppendRules(timestamp_after_max_ms=2**62), 0)
    except ApiError:
        return
    # Only the leader epoch, which the leader stamps, may have changed.
    assert 12 <= position < 16


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    """No bytes whatever make validation crash."""
    try:
        check_batches(memoryview(data), AppendRules(), 0)
    except ApiError:
        pass
