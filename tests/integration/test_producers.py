"""Producers as people write them: partitioners, serialisers, callbacks, idempotence, batching.

Scenarios S-4.2 to S-4.8 (the alert, health and audit producers), S-4.0b, S-4.0f, D1-05.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from odradek.errors import Err
from odradek.protocol import codec, headers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.records.batch import walk_headers
from odradek.records.builder import build_batch
from odradek.records.record import Record


class Alert(NamedTuple):
    """What the stages of a plant report."""

    alert_id: int
    stage_id: str
    level: str
    message: str


def stage_key(alert: Alert) -> bytes:
    return alert.stage_id.encode()


def batch_of(*values: bytes, producer_id=-1, epoch=-1, sequence=-1) -> bytes:
    """A batch of records with offsets from 0."""
    records = [
        Record(i, time.time_ns() // 1_000_000, None, value, ()) for i, value in enumerate(values)
    ]
    return bytes(
        build_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    )


def request_of(topic: str, *batches: bytes, acks: int = -1) -> ProduceRequest:
    """A Produce of one batch for each partition from 0."""
    data = [PartitionProduceData(index=i, records=batch) for i, batch in enumerate(batches)]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=topics)


# -- as the listings have them --------------------------------------------------------------------


def test_a_key_serialiser_gives_the_key_bytes(broker, topic, confluent):
    """S-4.2: the key of an alert is its stage id in UTF-8."""
    from kafka import KafkaProducer
    from kafka.serializer import Serializer

    class AlertKey(Serializer):
        def serialize(self, topic, headers, data):
            return stage_key(data)

    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, key_serializer=AlertKey())
    alert = Alert(1, "Stage 1", "CRITICAL", "Stage 1 stopped")
    producer.send(topic, value=alert.message.encode(), key=alert).get(30)
    producer.close()
    (record,) = confluent.read(topic, 1)
    assert (record.key, record.value) == (b"Stage 1", b"Stage 1 stopped")


def test_a_partitioner_keeps_critical_alerts_apart(broker, make_topic, confluent):
    """S-4.3, S-4.8: CRITICAL goes to the last partition and nothing else does."""
    from kafka import KafkaProducer
    from kafka.partitioner import Partitioner

    class ByLevel(Partitioner):
        def partition(self, topic, key, serialized_key, value, serialized_value, cluster):
            *others, critical = sorted(cluster.partitions_for_topic(topic))
            if serialized_key == b"CRITICAL":
                return critical
            return others[len(serialized_key) % len(others)]

    topic = make_topic(partitions=3)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, partitioner=ByLevel())
    errors = []
    levels = ["CRITICAL", "WARNING", "INFO", "CRITICAL", "WARNING", "MINOR", "MAJOR"]
    futures = [
        producer.send(topic, key=level.encode(), value=b"%d" % i).add_errback(errors.append)
        for i, level in enumerate(levels)
    ]
    metadata = [future.get(30) for future in futures]
    producer.close()
    assert not errors
    for level, sent in zip(levels, metadata, strict=True):
        assert (sent.partition == 2) == (level == "CRITICAL")
    assert [record.key for record in confluent.read(topic, 2, 2)] == [b"CRITICAL"] * 2


def test_a_send_tells_topic_partition_offset_and_timestamp(broker, topic):
    """S-4.6: `send().get()` returns where the record is, and when it was made."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    first, second = (producer.send(topic, value=b"audit event").get(30) for _ in range(2))
    producer.close()
    assert (first.topic, first.partition, first.offset, second.offset) == (topic, 0, 0, 1)
    assert first.timestamp > 1_600_000_000_000


def test_the_same_stage_always_lands_in_the_same_partition(client, broker, make_topic):
    """S-4.7: records of one key share a partition, whichever client asks for the default."""
    from aiokafka import AIOKafkaProducer

    topic = make_topic(partitions=5)

    async def run():
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers,
            value_serializer=lambda alert: json.dumps(alert._asdict()).encode(),
            key_serializer=str.encode,
        ) as producer:
            return [
                await producer.send_and_wait(topic, Alert(n, stage, "INFO", "fine"), stage)
                for n in range(4)
                for stage in ("Stage 0", "Stage 1", "Stage 2")
            ]

    sent = asyncio.run(run())
    places = {(index % 3, result.partition) for index, result in enumerate(sent)}
    assert len(places) == 3
    stored = [
        (json.loads(record.value)["stage_id"].encode(), record.key)
        for _, partition in places
        for record in client.read(topic, 4, partition)
    ]
    assert all(stage == key for stage, key in stored)


def test_a_callback_hears_of_a_failure(broker):
    """S-4.8: what cannot be delivered is told to the callback, with the reason."""
    heard = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "allow.auto.create.topics": False,
            "topic.metadata.propagation.max.ms": 0,
            "message.timeout.ms": 5000,
        }
    )
    producer.produce("no such/topic", b"lost", on_delivery=lambda error, _: heard.append(error))
    producer.flush(30)
    assert heard
    assert heard[0].name() in ("TOPIC_EXCEPTION", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")


def test_a_console_line_is_a_record(broker, topic, confluent):
    """S-2.4: each line typed becomes one record, in order."""
    lines = [b"first line", b"second line", b""]
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for line in lines:
        producer.produce(topic, line)
    assert producer.flush(30) == 0
    assert [record.value for record in confluent.read(topic, 3)] == lines


# -- batches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "batches"),
    [
        pytest.param({"linger.ms": 5000, "batch.num.messages": 1000}, {1}, id="linger"),
        pytest.param({"linger.ms": 5000, "batch.num.messages": 10}, {10}, id="small-batches"),
        pytest.param({"linger.ms": 50000, "batch.size": 2000}, set(range(3, 20)), id="batch-size"),
    ],
)
def test_batching_settings_decide_how_many_batches(broker, topic, wire, settings, batches):
    """D1-05: batch.size and linger.ms shape the batches; the broker stores them as they came."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    # A first flush learns the topic, so that all that follows waits in one queue.
    producer.produce(topic, b"first")
    producer.flush(30)
    for i in range(100):
        producer.produce(topic, b"%060d" % i)
    assert producer.flush(30) == 0
    stored = bytes(wire.fetch(topic, 1).records)
    found = [header for _, header in walk_headers(stored)]
    assert len(found) in batches
    assert sum(header.record_count for header in found) == 100


def test_a_full_buffer_is_the_producers_affair(broker, topic, confluent):
    """D1-05: with a tiny buffer the producer says "full"; after a flush everything is there."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "queue.buffering.max.messages": 10,
            "linger.ms": 100,
        }
    )
    waits = 0
    for i in range(50):
        while True:
            try:
                producer.produce(topic, b"%d" % i)
                break
            except BufferError:
                waits += 1
                producer.flush(30)
    assert producer.flush(30) == 0
    assert waits
    assert [record.value for record in confluent.read(topic, 50)] == [b"%d" % i for i in range(50)]


# -- idempotence -----------------------------------------------------------------------------------


def new_producer_id(wire):
    """A producer id and its epoch."""
    answer = wire.ask(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4
    )
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch


def test_a_repeated_batch_gets_its_first_offset_and_is_stored_once(wire, topic, confluent):
    """S-4.0f: a producer that lost an answer sends again; no duplicate, the same offset."""
    pid, epoch = new_producer_id(wire)
    batches = [
        batch_of(b"%d" % i, b"and", producer_id=pid, epoch=epoch, sequence=2 * i) for i in range(6)
    ]
    for i, batch in enumerate(batches):
        answer = wire.produce(topic, batch)
        assert (answer.error_code, answer.base_offset) == (0, 2 * i)
    for i in range(1, 6):  # a broker remembers the last five batches
        answer = wire.produce(topic, batches[i])
        assert (answer.error_code, answer.base_offset) == (0, 2 * i)
    assert wire.fetch(topic).high_watermark == 12
    assert [record.value for record in confluent.read(topic, 12)][::2] == [
        b"%d" % i for i in range(6)
    ]


def test_a_gap_in_the_sequence_is_refused(wire, topic):
    """S-4.0f: order is kept, since what follows a lost batch is refused."""
    pid, epoch = new_producer_id(wire)
    assert (
        wire.produce(topic, batch_of(b"a", producer_id=pid, epoch=epoch, sequence=0)).error_code
        == 0
    )
    gap = wire.produce(topic, batch_of(b"c", producer_id=pid, epoch=epoch, sequence=2))
    assert gap.error_code == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert wire.fetch(topic).high_watermark == 1


def test_an_old_epoch_is_fenced(wire, topic):
    """A batch with an older epoch than the partition has seen is refused."""
    pid, _ = new_producer_id(wire)
    assert (
        wire.produce(topic, batch_of(b"new", producer_id=pid, epoch=1, sequence=0)).error_code == 0
    )
    old = wire.produce(topic, batch_of(b"old", producer_id=pid, epoch=0, sequence=0))
    assert old.error_code == Err.INVALID_PRODUCER_EPOCH


def test_a_new_epoch_starts_at_sequence_zero(wire, topic):
    """KIP-360: after a bump of the epoch the sequence starts again; anything else is refused."""
    pid, _ = new_producer_id(wire)
    assert wire.produce(topic, batch_of(b"a", producer_id=pid, epoch=0, sequence=0)).error_code == 0
    wrong = wire.produce(topic, batch_of(b"b", producer_id=pid, epoch=1, sequence=7))
    assert wrong.error_code == Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    right = wire.produce(topic, batch_of(b"b", producer_id=pid, epoch=1, sequence=0))
    assert (right.error_code, right.base_offset) == (0, 1)


def test_producer_ids_are_never_given_twice(wire):
    """Each InitProducerId without a transactional id gets a new id with epoch 0."""
    given = [new_producer_id(wire) for _ in range(20)]
    assert len({pid for pid, _ in given}) == 20
    assert {epoch for _, epoch in given} == {0}


def test_the_broker_tells_what_it_knows_of_producers(wire, topic):
    """DescribeProducers lists the active producer with its last sequence."""
    pid, epoch = new_producer_id(wire)
    wire.produce(topic, batch_of(b"a", b"b", b"c", producer_id=pid, epoch=epoch, sequence=0))
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])])
    (partition,) = wire.ask(request, 0).topics[0].partitions
    (producer,) = partition.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (
        pid,
        epoch,
        2,
    )
    assert producer.current_txn_start_offset == -1


def test_acks_0_is_answered_with_silence(wire, topic):
    """S-4.0b: nothing is sent back for acks=0, and the connection goes on."""
    quiet = request_of(topic, batch_of(b"quiet"), acks=0)
    wire.send(headers.encode_request_header(0, 9, 777, "wire") + codec.encode(quiet, 9))
    assert wire.produce(topic, batch_of(b"loud")).base_offset == 1


def test_acks_must_be_0_1_or_all(wire, topic):
    """Other numbers of acks are refused, as they make no sense."""
    answer = wire.ask(request_of(topic, batch_of(b"x"), acks=2), 9)
    assert answer.responses[0].partition_responses[0].error_code == Err.INVALID_REQUIRED_ACKS


def test_a_corrupt_batch_is_refused_alone(wire, make_topic):
    """S-4.0e: a batch whose CRC is wrong fails; other partitions of the request do not."""
    topic = make_topic(partitions=2)
    bad = bytearray(batch_of(b"bad"))
    bad[-1] ^= 1
    answer = wire.ask(request_of(topic, bytes(bad), batch_of(b"good")), 9)
    codes = {p.index: p.error_code for p in answer.responses[0].partition_responses}
    assert codes == {0: Err.CORRUPT_MESSAGE, 1: Err.NONE}


# -- faults ----------------------------------------------------------------------------------------


def test_lost_answers_make_no_duplicates(embedded, make_topic_on, open_client):
    """S-4.0f: connections die after the write, five batches in flight: each record once, in order."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    producer = Producer(
        {
            "bootstrap.servers": embedded.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 0,
            "batch.num.messages": 5,
            "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10,
        }
    )
    errors = []
    for i in range(200):
        if i % 40 == 20:
            embedded.drop_next(ApiKey.PRODUCE)
        producer.produce(topic, b"%d" % i, on_delivery=lambda e, _: errors.append(e) if e else None)
        producer.poll(0)
    assert producer.flush(60) == 0
    assert not errors
    found = open_client("aiokafka", embedded.bootstrap_servers).read(topic, 200)
    assert [record.value for record in found] == [b"%d" % i for i in range(200)]
    assert found[-1].offset == 199


def test_a_retriable_error_is_retried_by_the_client(embedded, make_topic_on, open_client, sent):
    """An error that the protocol calls retriable never reaches the application."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    client = open_client("confluent-kafka", embedded.bootstrap_servers)
    embedded.fail_next(ApiKey.PRODUCE, Err.NOT_ENOUGH_REPLICAS, count=2)
    assert client.produce(topic, [sent(b"v")]) == [0]
