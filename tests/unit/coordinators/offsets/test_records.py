"""Records of the offsets topic are Apache Kafka's, byte for byte; unknown ones are skipped."""

from __future__ import annotations

from uuid import UUID

import pytest

from odradek.coordinators.group_coordinator import java_hash, partition_for
from odradek.coordinators.groups.records import GROUP_RECORDS, offset_commit, offset_tombstone
from odradek.coordinators.record_format import encode_record
from odradek.protocol.codec import DecodeError

# Taken from the __consumer_offsets log of an Apache Kafka 4.3.1.
KEY = bytes.fromhex("000100016700017400000000")
VALUE = bytes.fromhex(
    "00040000000000000005ffffffff0278000001a1dd8a93e2010010d1ab3ea827af42cbbc45e163fcb43f1f"
)
TOPIC_ID = UUID("d1ab3ea8-27af-42cb-bc45-e163fcb43f1f")
TIMESTAMP = 0x01A1DD8A93E2


def test_a_commit_is_written_as_kafka_writes_it() -> None:
    record = offset_commit("g", "t", 0, 5, "x", TIMESTAMP, topic_id=TOPIC_ID)
    assert encode_record(record) == (KEY, VALUE)


def test_what_kafka_wrote_is_read() -> None:
    record = GROUP_RECORDS.decode(KEY, VALUE)
    assert record is not None
    assert record == offset_commit("g", "t", 0, 5, "x", TIMESTAMP, topic_id=TOPIC_ID)


def test_a_tombstone_has_no_value() -> None:
    assert encode_record(offset_tombstone("g", "t", 0)) == (KEY, None)
    assert GROUP_RECORDS.decode(KEY, None) == offset_tombstone("g", "t", 0)


def test_a_commit_with_its_own_expiry_has_the_only_version_that_holds_one() -> None:
    _, value = encode_record(offset_commit("g", "t", 0, 5, "x", 1, expire_timestamp_ms=9))
    assert value is not None
    assert value.hex() == "0001000000000000000500017800000000000000010000000000000009"


def test_types_of_newer_brokers_are_skipped_and_garbage_is_not() -> None:
    assert GROUP_RECORDS.decode(b"\x7f\x00", None) is None
    for key in (None, b"", b"\x00", KEY[:-1], KEY + b"x"):
        with pytest.raises(DecodeError):
            GROUP_RECORDS.decode(key, None)
    for value in (b"", b"\x00", b"\x00\x63", VALUE[:-1]):
        with pytest.raises(DecodeError):
            GROUP_RECORDS.decode(KEY, value)


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("g", 103),
        ("test-consumer-group", 1_793_216_381),
        ("polygenelubricants", 0),  # Java's hash is the smallest int, whose absolute value is none
        ("grüße", 98_768_023),
        ("🦆", 1_772_808),
    ],
)
def test_groups_are_hashed_as_java_does(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed
    assert partition_for(text, 50) == hashed % 50
