"""End-transaction markers: built as Kafka's, read back; other control records are told apart."""

import pytest

from odradek.errors import ApiError
from odradek.records.batch import read_header
from odradek.records.builder import build_batch
from odradek.records.control import EndMarker, build_end_marker, control_type, parse_end_marker
from odradek.records.record import Record, read_records


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_says_how_the_transaction_ended(commit: bool) -> None:
    """Commit or abort, the coordinator's epoch, and the producer's id are all there."""
    batch = build_end_marker(
        producer_id=7, producer_epoch=3, commit=commit, coordinator_epoch=9, timestamp=100
    )
    header = read_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, -1)
    assert parse_end_marker(batch) == EndMarker(commit, 9)


def test_the_marker_has_kafkas_bytes() -> None:
    """Key (version 0, type 1), value (version 0, coordinator epoch)."""
    batch = build_end_marker(
        producer_id=7, producer_epoch=3, commit=True, coordinator_epoch=9, timestamp=100
    )
    (record,) = read_records(batch)
    assert record.key == b"\x00\x00\x00\x01"
    assert record.value == b"\x00\x00\x00\x00\x00\x09"


def test_other_control_records_are_not_markers() -> None:
    """A leader change, and the empty batch that compaction leaves."""
    key = b"\x00\x00\x00\x02"
    assert parse_end_marker(build_batch([Record(0, 0, key, b"")], control=True)) is None
    assert parse_end_marker(build_batch([], last_offset=0, control=True)) is None


def test_garbled_control_records_are_refused() -> None:
    """A key or a value that is too short."""
    with pytest.raises(ApiError):
        control_type(b"\x00")
    with pytest.raises(ApiError):
        parse_end_marker(build_batch([Record(0, 0, b"\x00\x00\x00\x01", b"\x00")], control=True))
