"""Segments roll by time while the broker runs, follow their topic's settings, and go with the topic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from odradek.testing import EmbeddedBroker

MINUTE_MS = 60_000


def _send(broker: EmbeddedBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"tick", timestamp=broker.clock.now_ms())
    assert producer.flush(30) == 0


def _segments(broker: EmbeddedBroker, topic: str) -> list[str]:
    return sorted(p.stem for p in (broker.data_dir / f"{topic}-0").glob("*.log"))


def _alter(broker: EmbeddedBroker, topic: str, operation: Any, value: str | None) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entry = ConfigEntry("segment.ms", value, incremental_operation=operation)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(30)


def test_a_new_set_of_files_each_minute(
    embedded: EmbeddedBroker, make_topic_on: Callable[..., Any]
) -> None:
    """S-7.8, S-7.9: segment.ms=60000 makes a set of files a minute, named by their first offset;
    taking the setting back stops it, without a restart."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    _alter(embedded, topic, AlterConfigOpType.SET, str(MINUTE_MS))
    for _ in range(4):
        _send(embedded, topic)
        embedded.clock.advance(MINUTE_MS + 1)
    expected = [f"{offset:020d}" for offset in range(4)]
    assert _segments(embedded, topic) == expected
    folder = embedded.data_dir / f"{topic}-0"
    for stem in expected:
        assert {(folder / f"{stem}{end}").exists() for end in (".log", ".index", ".timeindex")} == {
            True
        }
    _alter(embedded, topic, AlterConfigOpType.DELETE, None)
    for _ in range(3):
        _send(embedded, topic)
        embedded.clock.advance(MINUTE_MS + 1)
    assert _segments(embedded, topic) == expected


def test_a_deleted_topic_leaves_the_disk(
    embedded: EmbeddedBroker, make_topic_on: Callable[..., Any]
) -> None:
    """S-7.6: the folder is renamed at once and gone after file.delete.delay.ms."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    _send(embedded, topic)
    admin = AdminClient({"bootstrap.servers": embedded.bootstrap_servers})
    admin.delete_topics([topic])[topic].result(30)
    assert topic not in admin.list_topics(timeout=30).topics
    assert not (embedded.data_dir / f"{topic}-0").exists()
    embedded.clock.advance(2 * MINUTE_MS)
    embedded.call(lambda broker: None)
    embedded.broker.services.background.close()  # what was begun in the pool is done
    assert _folders_of(embedded.data_dir, topic) == []


def _folders_of(data_dir: Path, topic: str) -> list[str]:
    return [p.name for p in data_dir.iterdir() if p.name.startswith(topic)]
