"""What the configuration page says about a key's use is true: the code reads the effective keys only.

A key counts as read where its attribute is read (`config.log_segment_bytes`), or where a topic's or
group's key is that inherits it. So a capability that begins to use a key must also say so in its
declaration.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import odradek
from odradek.config.broker import BrokerConfig
from odradek.config.declare import Settings
from odradek.config.group import GroupConfig
from odradek.config.topic import TopicConfig

SOURCE = Path(odradek.__file__).parent
#: Packages that read a broker's configuration.
READERS = (
    "broker",
    "controller",
    "coordination",
    "coordinators",
    "replication",
    "server",
    "storage",
    "testing",
)


def attributes_read() -> set[str]:
    files = [path for name in READERS for path in (SOURCE / name).rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return set(re.findall(r"\.([a-z_0-9]+)\b", text))


def names_settled_by_the_configuration_itself() -> set[str]:
    """Keys that the reading of listeners, node ids and folders turns into others."""
    files = [SOURCE / "config" / name for name in ("broker.py", "listeners.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return set(re.findall(r"[a-z]+(?:_[a-z0-9]+)+", text)) | set(re.findall(r"config\.(\w+)", text))


@pytest.mark.parametrize("settings", [TopicConfig, GroupConfig])
def test_effective_keys_of_topics_and_groups_are_read_and_others_are_not(
    settings: type[Settings],
) -> None:
    read = attributes_read()
    for declared in settings.KEYS.values():
        effective = declared.use.status == "effective"
        assert (declared.attribute in read) == effective, declared


def test_effective_broker_keys_are_read_and_others_are_not() -> None:
    read = attributes_read()
    settled = names_settled_by_the_configuration_itself()
    inherited = {
        synonym.name
        for inheriting in (*TopicConfig.KEYS.values(), *GroupConfig.KEYS.values())
        if inheriting.attribute in read
        for synonym in inheriting.synonyms
    }
    wrong = [
        f"{declared.name} is declared {declared.use.status}"
        for declared in BrokerConfig.KEYS.values()
        if (
            declared.attribute in read
            or declared.attribute in settled
            or declared.name in inherited
        )
        != (declared.use.status == "effective")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        "message.max.bytes",
        "queued.max.requests",
        "socket.send.buffer.bytes",
        "socket.receive.buffer.bytes",
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
        "log.retention.bytes",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "default.replication.factor",
        "replica.lag.time.max.ms",
        "replica.fetch.max.bytes",
        "num.replica.fetchers",
        "controlled.shutdown.enable",
        "auto.leader.rebalance.enable",
        "leader.imbalance.per.broker.percentage",
        "num.io.threads",
    ],
)
def test_a_key_works_or_says_why_not(name: str) -> None:
    """D3-10: each of these is effective, or setting it gives a note with the reason."""
    declared = BrokerConfig.KEYS[name]
    text = declared.format(declared.default) or "1"
    _, notes = BrokerConfig.from_strings({name: text})
    noted = [note for note in notes if note.key == name]
    assert bool(noted) is (declared.use.status != "effective")
