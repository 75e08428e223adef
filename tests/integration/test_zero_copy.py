"""Records leave the broker without passing through Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.server import session
from odradek.testing import EmbeddedBroker


def test_large_fetches_are_sent_from_the_page_cache(
    embedded: EmbeddedBroker, make_topic_on: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """D0-04: of a large fetch all but a few header bytes go out by sendfile."""
    sent_by_sendfile = 0
    sendfile = os.sendfile

    def counted(out: int, file: int, position: int, size: int) -> int:
        nonlocal sent_by_sendfile
        sent = sendfile(out, file, position, size)
        sent_by_sendfile += sent
        return sent

    monkeypatch.setattr(session.os, "sendfile", counted)
    topic = make_topic_on(embedded.bootstrap_servers)()
    producer = Producer({"bootstrap.servers": embedded.bootstrap_servers, "linger.ms": 50})
    count, size = 2000, 1000
    for _ in range(count):
        producer.produce(topic, os.urandom(size))
    assert producer.flush(60) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": embedded.bootstrap_servers,
            "group.id": "zero-copy",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    got = 0
    while got < count:
        messages = consumer.consume(500, timeout=30)
        assert messages
        got += len(messages)
    consumer.close()
    assert sent_by_sendfile > 0.9 * count * size
