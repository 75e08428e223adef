"""What a broker refuses, and that it says why: sizes, null keys, timestamps, deleted records."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import KafkaError, Producer

from odradek.errors import Err
from odradek.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.records.builder import build_batch
from odradek.records.record import Record

HOUR_MS = 3_600_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def batch_of(*records: tuple[int, bytes | None, bytes], codec: int = 0) -> bytes:
    """A batch of (timestamp, key, value) records."""
    return bytes(
        build_batch([Record(i, t, k, v, ()) for i, (t, k, v) in enumerate(records)], codec=codec)
    )


# -- sizes -----------------------------------------------------------------------------------------


def test_a_record_larger_than_the_topic_allows_is_refused(broker, make_topic, confluent, sent):
    """max.message.bytes: the producer gets a clear error, smaller records go on."""
    topic = make_topic(config={"max.message.bytes": "2000"})
    errors = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"x" * 5000, on_delivery=lambda error, _: errors.append(error))
    producer.produce(topic, b"small", on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)
    # Both in one batch, or each in its own: the large one is refused in any case.
    assert errors[0] is not None
    assert errors[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert confluent.produce(topic, [sent(b"small")])[0] >= 0


def test_the_limit_is_on_the_batch_as_it_came(wire, make_topic):
    """max.message.bytes counts the compressed batch with its header, to the byte."""
    batch = batch_of((now_ms(), b"k", b"v" * 10_000), codec=1)
    exact = make_topic(config={"max.message.bytes": str(len(batch))})
    assert wire.produce(exact, batch).error_code == Err.NONE
    less = make_topic(config={"max.message.bytes": str(len(batch) - 1)})
    assert wire.produce(less, batch).error_code == Err.MESSAGE_TOO_LARGE


def test_a_batch_must_fit_a_segment(wire, make_topic):
    """A batch larger than segment.bytes has no place in the log."""
    topic = make_topic(config={"segment.bytes": str(1 << 20), "max.message.bytes": str(1 << 22)})
    answer = wire.produce(topic, batch_of((now_ms(), None, b"x" * (1 << 20))))
    assert answer.error_code == Err.RECORD_LIST_TOO_LARGE


# -- keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", [0, 3], ids=["plain", "lz4"])
def test_a_compacted_topic_needs_keys(wire, make_topic, codec):
    """KIP-467: the batch is refused, and each record without a key is named."""
    topic = make_topic(config={"cleanup.policy": "compact"})
    t = now_ms()
    batch = batch_of(
        (t, b"k", b"0"), (t, None, b"1"), (t, b"k", b"2"), (t, None, b"3"), codec=codec
    )
    answer = wire.produce(topic, batch)
    assert answer.error_code == Err.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1, 3]
    assert all("key" in error.batch_index_error_message for error in answer.record_errors)
    assert answer.error_message
    assert wire.fetch(topic).high_watermark == 0
    assert wire.produce(topic, batch_of((t, b"", b"0"))).error_code == Err.NONE


def test_a_producer_without_keys_learns_it(broker, make_topic):
    """The same through a client: INVALID_RECORD, at once."""
    topic = make_topic(config={"cleanup.policy": "compact"})
    errors = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"no key", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(30) == 0
    assert errors[0] is not None
    assert errors[0].name() == "INVALID_RECORD"


# -- timestamps ------------------------------------------------------------------------------------


def test_timestamps_have_bounds(wire, make_topic):
    """message.timestamp.before/after.max.ms: what is outside is refused, record by record."""
    topic = make_topic(
        config={
            "message.timestamp.before.max.ms": str(HOUR_MS),
            "message.timestamp.after.max.ms": str(HOUR_MS),
        }
    )
    t = now_ms()
    assert wire.produce(topic, batch_of((t - HOUR_MS // 2, None, b"fine"))).error_code == Err.NONE
    for wrong in (t - 2 * HOUR_MS, t + 2 * HOUR_MS):
        answer = wire.produce(topic, batch_of((t, None, b"fine"), (wrong, None, b"not fine")))
        assert answer.error_code == Err.INVALID_TIMESTAMP
        assert [error.batch_index for error in answer.record_errors] == [1]


def test_the_far_future_is_refused_by_default(wire, topic):
    """message.timestamp.after.max.ms is one hour unless said otherwise; the past is free."""
    assert wire.produce(topic, batch_of((0, None, b"1970"))).error_code == Err.NONE
    answer = wire.produce(topic, batch_of((now_ms() + 2 * HOUR_MS, None, b"tomorrow")))
    assert answer.error_code == Err.INVALID_TIMESTAMP


# -- batches that lie ------------------------------------------------------------------------------


def patched(batch: bytes, position: int, value: bytes) -> bytes:
    """The batch with some bytes replaced, and a CRC that is right again."""
    from odradek.records.batch import crc_of

    new = bytearray(batch)
    new[position : position + len(value)] = value
    new[17:21] = crc_of(new).to_bytes(4, "big")
    return bytes(new)


def lies() -> dict[str, tuple[bytes, set[int]]]:
    batch = batch_of((now_ms(), b"k", b"v"), (now_ms(), b"k", b"w"))
    return {
        "wrong-crc": (batch[:-1] + b"!", {Err.CORRUPT_MESSAGE}),
        "cut-short": (batch[:-3], {Err.CORRUPT_MESSAGE, Err.INVALID_RECORD}),
        "control-bit": (patched(batch, 21, b"\x00\x20"), {Err.INVALID_RECORD}),
        "count-differs": (patched(batch, 57, b"\x00\x00\x00\x05"), {Err.INVALID_RECORD, Err.CORRUPT_MESSAGE}),
        "no-records": (patched(batch, 57, b"\x00\x00\x00\x00"), {Err.INVALID_RECORD, Err.CORRUPT_MESSAGE}),
        "two-batches": (batch + batch, {Err.INVALID_RECORD}),
        "nothing": (b"", {Err.INVALID_RECORD, Err.CORRUPT_MESSAGE}),
    }  # fmt: skip


@pytest.mark.parametrize("lie", list(lies()))
def test_a_batch_that_lies_is_refused(wire, topic, lie):
    """Nothing of a wrong batch is stored, and the connection goes on."""
    batch, errors = lies()[lie]
    assert wire.produce(topic, batch).error_code in errors
    assert wire.fetch(topic).high_watermark == 0
    assert wire.produce(topic, batch_of((now_ms(), None, b"fine"))).base_offset == 0


def test_zstd_needs_produce_v7(wire, topic):
    """KIP-110: older versions of Produce may not carry zstd."""
    batch = batch_of((now_ms(), None, b"x"), codec=4)
    assert wire.produce(topic, batch, version=6).error_code == Err.UNSUPPORTED_COMPRESSION_TYPE
    assert wire.produce(topic, batch, version=7).error_code == Err.NONE


# -- deleted records -------------------------------------------------------------------------------


def delete_before(wire, topic, offset):
    """(error, new first offset) of a DeleteRecords."""
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=30_000
    )
    (found,) = wire.ask(request, 2).topics[0].partitions
    return found.error_code, found.low_watermark


def test_deleted_records_are_gone(wire, topic, client, sent):
    """DeleteRecords moves the first offset; earlier ones are out of range from then on."""
    client.produce(topic, [sent(b"%d" % i) for i in range(10)])
    assert delete_before(wire, topic, 4) == (Err.NONE, 4)
    assert wire.fetch(topic, 3).error_code == Err.OFFSET_OUT_OF_RANGE
    assert client.read(topic, 6, 0, 4)[0].value == b"4"
    assert delete_before(wire, topic, 2) == (Err.NONE, 4)  # what is gone stays gone
    assert delete_before(wire, topic, 11)[0] == Err.OFFSET_OUT_OF_RANGE
    assert delete_before(wire, topic, -1) == (Err.NONE, 10)  # all
    assert wire.fetch(topic, 10).log_start_offset in (-1, 10)  # v4 has no such field
    client.produce(topic, [sent(b"next")])
    assert client.read(topic, 1, 0, 10)[0].value == b"next"


def test_records_of_a_compacted_topic_cannot_be_deleted(wire, make_topic):
    """cleanup.policy=compact alone: DeleteRecords is a policy violation."""
    topic = make_topic(config={"cleanup.policy": "compact"})
    assert delete_before(wire, topic, 0)[0] == Err.POLICY_VIOLATION
    assert delete_before(wire, "there-is-no-such-topic", 0)[0] == Err.UNKNOWN_TOPIC_OR_PARTITION
