"""flush.messages: an acknowledged record is on the disk."""

from __future__ import annotations

from confluent_kafka import Producer

from odradek.testing import EmbeddedBroker


def test_an_acknowledged_record_is_synced(embedded: EmbeddedBroker, make_topic_on) -> None:
    """With flush.messages=1 the recovery point has passed a record when it is acknowledged."""
    topic = make_topic_on(embedded.bootstrap_servers)(config={"flush.messages": "1"})
    producer = Producer({"bootstrap.servers": embedded.bootstrap_servers, "linger.ms": 0})
    told = []
    for number in range(5):
        producer.produce(topic, b"x", on_delivery=lambda error, _: told.append(error))
        assert producer.flush(30) == 0
        assert told == [None] * (number + 1)
        log = embedded.call(lambda broker: broker.services.logs.get(topic, 0))
        assert log is not None
        assert log.recovery_point >= number + 1


def test_without_it_nothing_waits_for_the_disk(embedded: EmbeddedBroker, make_topic_on) -> None:
    """By default an acknowledged record is in the page cache, as with Apache Kafka."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    producer = Producer({"bootstrap.servers": embedded.bootstrap_servers, "linger.ms": 0})
    producer.produce(topic, b"x")
    assert producer.flush(30) == 0
    log = embedded.call(lambda broker: broker.services.logs.get(topic, 0))
    assert log is not None
    assert (log.log_end_offset, log.recovery_point) == (1, 0)
