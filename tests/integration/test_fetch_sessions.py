"""Incremental fetch sessions (KIP-227): after the first full fetch only changes travel."""

from __future__ import annotations

import time

import pytest

from odradek.errors import Err
from odradek.protocol.messages import fetch as f
from odradek.records.builder import build_batch
from odradek.records.record import Record

PARTITIONS = 40


@pytest.fixture
def topic(make_topic):
    """A topic with many partitions."""
    return make_topic(partitions=PARTITIONS)


def ask(wire, topic, session_id, epoch, positions, forgotten=(), version=11):
    """One fetch in a session; returns (error, session id, {partition: records})."""
    partitions = [
        f.FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=1 << 16)
        for p, offset in positions.items()
    ]
    request = f.FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=epoch,
        topics=[f.FetchTopic(topic=topic, partitions=partitions)] if partitions else [],
        forgotten_topics_data=[f.ForgottenTopic(topic=topic, partitions=list(forgotten))]
        if forgotten
        else [],
    )
    answer = wire.ask(request, version)
    found = {
        p.partition_index: bytes(p.records or b"") for t in answer.responses for p in t.partitions
    }
    return answer.error_code, answer.session_id, found


def write(wire, topic, partition, value=b"new"):
    batch = bytes(build_batch([Record(0, time.time_ns() // 1_000_000, None, value, ())]))
    assert wire.produce(topic, batch, partition=partition).error_code == 0


def test_only_changes_are_sent(wire, connect, topic):
    """A full fetch lists all partitions, later ones only those with news."""
    writer = connect()
    everything = dict.fromkeys(range(PARTITIONS), 0)
    error, session, found = ask(wire, topic, 0, 0, everything)
    assert (error, len(found)) == (0, PARTITIONS)
    assert session > 0

    assert ask(wire, topic, session, 1, {}) == (0, session, {})
    write(writer, topic, 7)
    error, again, found = ask(wire, topic, session, 2, {})
    assert (error, again, list(found)) == (0, session, [7])
    assert found[7]
    # Until the client moves its position the same records come again.
    assert ask(wire, topic, session, 3, {})[2] == found
    assert ask(wire, topic, session, 4, {7: 1})[2] in ({}, {7: b""})


def test_partitions_join_and_leave_a_session(wire, topic):
    """Added partitions are answered from now on, forgotten ones no more."""
    write(wire, topic, 1)
    write(wire, topic, 2)
    _, session, found = ask(wire, topic, 0, 0, {0: 0, 1: 0})
    assert set(found) == {0, 1}
    _, _, found = ask(wire, topic, session, 1, {2: 0}, forgotten=[1])
    assert {p for p, records in found.items() if records} == {2}
    _, _, found = ask(wire, topic, session, 2, {})
    assert {p for p, records in found.items() if records} == {2}


def test_a_wrong_epoch_or_session_is_refused(wire, topic):
    """The client is told to start over: the epoch must follow, the session must exist."""
    _, session, _ = ask(wire, topic, 0, 0, {0: 0})
    assert ask(wire, topic, session, 5, {})[0] == Err.INVALID_FETCH_SESSION_EPOCH
    assert ask(wire, topic, session + 1_000_000, 1, {})[0] == Err.FETCH_SESSION_ID_NOT_FOUND


def test_a_final_epoch_closes_the_session(wire, topic):
    """Epoch -1 ends the session: a last full answer, then the session is unknown."""
    _, session, _ = ask(wire, topic, 0, 0, {0: 0})
    error, closed, found = ask(wire, topic, session, -1, {0: 0})
    assert (error, closed, set(found)) == (0, 0, {0})
    assert ask(wire, topic, session, 1, {})[0] == Err.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("name", ["kafka-python", "confluent-kafka"])
def test_clients_read_many_partitions(broker, make_topic, open_client, sent, name):
    """Clients with (kafka-python) and without sessions read records of many partitions."""
    from kafka import KafkaConsumer, TopicPartition

    topic = make_topic(partitions=PARTITIONS)
    client = open_client(name, broker.bootstrap_servers)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    consumer.assign([TopicPartition(topic, p) for p in range(PARTITIONS)])
    consumer.seek_to_beginning()
    for round_ in range(3):
        client.produce(
            topic, [sent(b"%d" % p, partition=p) for p in range(0, PARTITIONS, round_ + 1)]
        )
        found = []
        while len(found) < len(range(0, PARTITIONS, round_ + 1)):
            polled = consumer.poll(30_000)
            assert polled
            found += [(r.partition, r.offset) for records in polled.values() for r in records]
        assert sorted(p for p, _ in found) == list(range(0, PARTITIONS, round_ + 1))
    consumer.close()
