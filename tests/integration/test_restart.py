"""A broker that stops and starts again, while clients are at work: nothing acknowledged is lost.

Scenario S-4.5: the audit producer (acks=all, retries) survives one restart of the broker.
"""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

BASE_MS = time.time_ns() // 1_000_000
QUICK = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 10}


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_an_audit_producer_survives_a_restart(embedded, make_topic_on, open_client, clean):
    """S-4.5: every acknowledged record is there once, in order, at the offset that was told."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)()
    acknowledged: dict[int, bytes] = {}
    errors = []
    half = threading.Event()

    def delivered(error, message):
        if error is not None:
            errors.append(error)
            return
        acknowledged[message.offset()] = message.value()
        if len(acknowledged) == 250:
            half.set()

    producer = Producer(
        {
            "bootstrap.servers": servers,
            "acks": "all",
            "enable.idempotence": True,
            "batch.num.messages": 10,
            **QUICK,
        }
    )

    def send():
        for i in range(1000):
            producer.produce(topic, b"%d" % i, on_delivery=delivered)
            producer.poll(0.001)
        producer.flush(60)

    sender = threading.Thread(target=send)
    sender.start()
    assert half.wait(30)
    embedded.restart(clean=clean)
    sender.join(90)
    assert not errors
    assert acknowledged == {i: b"%d" % i for i in range(1000)}
    found = open_client("kafka-python", servers).read(topic, 1000)
    assert [record.value for record in found] == [b"%d" % i for i in range(1000)]


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_everything_is_still_there(embedded, make_topic_on, open_client, sent, clean):
    """Records, offsets, settings, ids: as before."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)(partitions=2, config={"retention.ms": "123456789"})
    client = open_client("confluent-kafka", servers)
    client.produce(topic, [sent(b"%d" % i, partition=i % 2) for i in range(10)], codec="lz4")
    admin = AdminClient({"bootstrap.servers": servers})
    before = admin.describe_cluster().result(30)

    embedded.restart(clean=clean)

    admin = AdminClient({"bootstrap.servers": servers})
    assert admin.describe_cluster().result(30).cluster_id == before.cluster_id
    resource = ConfigResource(ResourceType.TOPIC, topic)
    assert (
        admin.describe_configs([resource])[resource].result(30)["retention.ms"].value == "123456789"
    )
    for partition in (0, 1):
        found = client.read(topic, 5, partition)
        assert [record.value for record in found] == [b"%d" % i for i in range(partition, 10, 2)]
    assert client.produce(topic, [sent(b"next")]) == [5]


def test_a_consumer_goes_on_after_a_restart(embedded, make_topic_on, open_client, sent):
    """The same consumer object reads on where it was."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)()
    client = open_client("confluent-kafka", servers)
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False, **QUICK}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    client.produce(topic, [sent(b"before")])
    assert next_value(consumer) == b"before"
    embedded.restart()
    client.produce(topic, [sent(b"after")])
    assert next_value(consumer) == b"after"
    consumer.close()


def next_value(consumer):
    """The next record; errors of the connection on the way are the client's affair."""
    for _ in range(60):
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            return message.value()
    raise AssertionError("nothing came")


def test_a_repeated_batch_is_known_after_a_restart(embedded, make_topic_on, connect):
    """S-4.0f: a producer's last batch is known after a restart, so its retry makes no duplicate."""
    from odradek.protocol.messages.init_producer_id import InitProducerIdRequest
    from odradek.records.builder import build_batch
    from odradek.records.record import Record

    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)()
    wire = connect(servers)
    given = wire.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)

    def batch(sequence):
        return bytes(
            build_batch(
                [Record(0, BASE_MS, None, b"%d" % sequence, ())],
                producer_id=given.producer_id,
                producer_epoch=given.producer_epoch,
                base_sequence=sequence,
            )
        )

    for sequence in range(3):
        assert wire.produce(topic, batch(sequence)).base_offset == sequence
    for clean in (True, False):
        embedded.restart(clean=clean)
        wire = connect(servers)
        assert wire.produce(topic, batch(2)).base_offset == 2
        assert wire.fetch(topic).high_watermark == 3
    assert wire.produce(topic, batch(3)).base_offset == 3
    again = wire.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
    assert again.producer_id > given.producer_id


def test_retention_follows_the_clock(embedded, make_topic_on, open_client, sent):
    """A day goes by in a moment: old segments go, the offsets stay."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)(config={"retention.ms": "3600000", "segment.ms": "60000"})
    client = open_client("confluent-kafka", servers)
    client.produce(topic, [sent(b"old")])
    embedded.clock.advance(61_000)
    admin = AdminClient({"bootstrap.servers": servers})
    embedded.clock.advance(24 * 3_600_000)
    place = TopicPartition(topic, 0)
    for _ in range(200):
        first = admin.list_offsets({place: OffsetSpec.earliest()})[place].result(30).offset
        if first == 1:
            break
        embedded.clock.advance(60_000)
    assert first == 1
    assert client.produce(topic, [sent(b"new")]) == [1]
