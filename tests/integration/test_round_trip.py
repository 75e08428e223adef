"""What one client writes, every client reads: values, keys, headers, timestamps, order, offsets.

Scenarios D0-07 (a partition is ordered, offsets are dense), D1-01 (a record's parts), D1-07 and S-4.0e
(compression end to end, stored as received), S-2.8 (a null key), S-4.0d (CreateTime, LogAppendTime).
"""

from __future__ import annotations

import gzip
import time

import pytest

from odradek.records.batch import HEADER_BYTES, read_header

CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
# Recent, since retention removes what is older than a week at any moment.
T0 = time.time_ns() // 1_000_000 - 3_600_000


def first_batch(wire, topic):
    """The first batch of a partition, as the broker hands it out."""
    records = bytes(wire.fetch(topic).records)
    return records[: read_header(records).size_bytes]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_comes_back_and_is_stored_as_received(client, codec, topic, sent, wire):
    """A batch of any codec is stored under that codec, and its records come back in order."""
    if codec not in client.codecs:
        pytest.skip("this client lacks the codec's library")
    values = [b"%03d " % i + b"to be compressed " * 20 for i in range(50)]
    offsets = client.produce(topic, [sent(value) for value in values], codec=codec)
    assert sorted(offsets) == list(range(50))
    batch = first_batch(wire, topic)
    header = read_header(batch)
    assert header.codec == CODECS[codec]
    if codec != "none":
        assert len(batch) < header.record_count * len(values[0]) / 3
    assert [record.value for record in client.read(topic, 50)] == values


@pytest.mark.parametrize("codec", CODECS)
def test_one_clients_batches_are_read_by_the_others(broker, open_client, codec, topic, sent):
    """What librdkafka compresses, aiokafka reads, and the other way round."""
    one = open_client("confluent-kafka", broker.bootstrap_servers)
    two = open_client("aiokafka", broker.bootstrap_servers)
    one.produce(topic, [sent(b"from one " * 30)], codec=codec)
    two.produce(topic, [sent(b"from two " * 30)], codec=codec)
    for reader in (one, two):
        found = reader.read(topic, 2)
        assert [record.value for record in found] == [b"from one " * 30, b"from two " * 30]
        assert [record.offset for record in found] == [0, 1]


def test_all_parts_of_a_record_come_back(client, topic, sent):
    """Keys, null and empty keys and values, repeated headers, timestamps: nothing is changed."""
    records = [
        sent(b"value", b"key", (("a", b"1"), ("b", b""), ("a", b"2")), T0 + 0),
        sent(None, b"tombstone", (), T0 + 1),
        sent(b"", b"", (), T0 + 2),
        sent("żółw 🐢".encode(), None, (("ключ", "значение".encode()),), T0 + 3),
    ]
    client.produce(topic, records)
    found = client.read(topic, len(records))
    assert [(r.value, r.key, r.headers, r.timestamp) for r in found] == [
        (r.value, r.key, r.headers, r.timestamp) for r in records
    ]
    assert {record.timestamp_type for record in found} == {0}
    assert [record.offset for record in found] == [0, 1, 2, 3]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_each_level_of_acks_delivers(client, acks, topic, sent):
    """acks 0, 1 and all: a healthy broker has the record (S-2.8: with a null key)."""
    client.produce(topic, [sent(b"hello world again!")], acks=acks)
    (record,) = client.read(topic, 1)
    assert (record.value, record.key) == (b"hello world again!", None)


def test_log_append_time_is_the_brokers(client, make_topic, sent):
    """S-4.0d: on a LogAppendTime topic readers get the broker's time, whatever the client says."""
    topic = make_topic(config={"message.timestamp.type": "LogAppendTime"})
    client.produce(topic, [sent(b"a", timestamp=1), sent(b"b", timestamp=2)])
    found = client.read(topic, 2)
    assert {record.timestamp_type for record in found} == {1}
    assert all(record.timestamp > T0 for record in found)


def test_offsets_are_dense_per_partition(client, make_topic, sent):
    """D0-07: each partition counts from 0 and keeps the order in which it was written."""
    topic = make_topic(partitions=3)
    client.produce(topic, [sent(b"%d" % i, partition=i % 3) for i in range(30)])
    for partition in range(3):
        found = client.read(topic, 10, partition)
        assert [record.offset for record in found] == list(range(10))
        assert [record.value for record in found] == [b"%d" % i for i in range(partition, 30, 3)]


def test_a_topic_may_ask_for_another_codec(make_topic, confluent, sent, wire):
    """compression.type=gzip on the topic: the broker recompresses what came as zstd."""
    topic = make_topic(config={"compression.type": "gzip"})
    values = [b"%d " % i + b"again and again " * 20 for i in range(10)]
    confluent.produce(topic, [sent(value) for value in values], codec="zstd")
    batch = first_batch(wire, topic)
    assert read_header(batch).codec == CODECS["gzip"]
    assert values[0] in gzip.decompress(batch[HEADER_BYTES:])
    assert [record.value for record in confluent.read(topic, 10)] == values
