"""Every key of Kafka 4.3.1 is declared here with Kafka's type, default, bounds and update mode.

Where we differ on purpose, the difference is listed with its reason; anything else is a mistake.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError, Key, Settings
from odradek.config.group import GroupConfig
from odradek.config.topic import TopicConfig

CLASSES: dict[str, type[Settings]] = {
    "broker": BrokerConfig,
    "topic": TopicConfig,
    "group": GroupConfig,
}

OTHER_DEFAULTS = {
    "listeners": "loopback only",
    "log.dir": "the user's data folder, worked out at the start",
    "log.dirs": "the user's data folder, worked out at the start",
    "node.id": "Kafka has no default",
    "broker.id": "one fact with node.id",
    "process.roles": "Kafka has no default; no use here",
    "controller.listener.names": "Kafka has no default; no use here",
    "socket.receive.buffer.bytes": "left to the kernel",
    "socket.listen.backlog.size": "one thread accepts for everyone",
    "listener.security.protocol.map": "the same pairs in another order",
}
OTHER_BOUNDS = {
    "log.segment.bytes": "14 as before Kafka 4, to watch segments roll",
    "segment.bytes": "14 as before Kafka 4, to watch segments roll",
}


class Fact(NamedTuple):
    kind: str
    name: str
    type: str
    default: str
    validator: str
    internal: str
    dynamic: str


def facts() -> list[Fact]:
    lines = Path(__file__).with_name("kafka_keys.tsv").read_text().splitlines()
    return [Fact(*line.split("\t")) for line in lines if not line.startswith("#")]


def declared_of(fact: Fact) -> Key:
    return CLASSES[fact.kind].KEYS[fact.name]


def ids(fact: Fact) -> str:
    return f"{fact.kind}:{fact.name}"


def test_nothing_is_missing() -> None:
    missing = [ids(f) for f in facts() if f.name not in CLASSES[f.kind].KEYS]
    assert not missing


def test_topic_and_group_keys_are_kafkas_alone() -> None:
    for kind in ("topic", "group"):
        assert set(CLASSES[kind].KEYS) == {f.name for f in facts() if f.kind == kind}


def test_types() -> None:
    assert [ids(f) for f in facts() if declared_of(f).type.name != f.type] == []


def test_defaults() -> None:
    different = []
    for fact in facts():
        if fact.name in OTHER_DEFAULTS:
            continue
        default = declared_of(fact).format(declared_of(fact).default)
        if default != (None if fact.default == "<null>" else fact.default):
            different.append((fact, default))
    assert different == []


def test_the_protocol_map_has_kafkas_pairs() -> None:
    fact = next(f for f in facts() if f.name == "listener.security.protocol.map")
    ours = BrokerConfig().listener_security_protocol_map
    assert set(ours.split(",")) == set(fact.default.split(","))


def test_update_modes_and_internal_keys() -> None:
    for fact in facts():
        declared = declared_of(fact)
        assert declared.internal == (fact.internal == "true"), fact
        if fact.kind == "broker":
            assert declared.dynamic.value == fact.dynamic, fact


def test_passwords_are_sensitive() -> None:
    assert all(declared_of(f).sensitive == (f.type == "PASSWORD") for f in facts())


RANGE = re.compile(r"\[(-?[\d.]+?),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?")


@pytest.mark.parametrize("fact", [f for f in facts() if RANGE.fullmatch(f.validator)], ids=ids)
def test_bounds(fact: Fact) -> None:
    if fact.name in OTHER_BOUNDS:
        return
    match = RANGE.fullmatch(fact.validator)
    assert match is not None
    low, high, special = match.groups()
    declared = declared_of(fact)
    declared.parse(low)
    with pytest.raises(ConfigError, match=re.escape(fact.name)):
        declared.parse(str(float(low) - 1 if "." in low else int(low) - 1))
    if high is not None:
        declared.parse(high)
        with pytest.raises(ConfigError):
            declared.parse(str(float(high) + 1 if "." in high else int(high) + 1))
    if special is not None:
        declared.parse(special)


WORDS = re.compile(r"(?:\(case insensitive\) )?\[([^.\d]*)\]")


@pytest.mark.parametrize("fact", [f for f in facts() if WORDS.fullmatch(f.validator)], ids=ids)
def test_words(fact: Fact) -> None:
    match = WORDS.fullmatch(fact.validator)
    assert match is not None
    declared = declared_of(fact)
    for word in match[1].split(", "):
        declared.parse(word)
        if fact.validator.startswith("("):
            declared.parse(word.lower())
    with pytest.raises(ConfigError, match="nonsense"):
        declared.parse("nonsense")


@pytest.mark.parametrize("cls", CLASSES.values())
def test_every_default_reads_back_from_its_text(cls: type[Settings]) -> None:
    for declared in cls.KEYS.values():
        text = declared.format(declared.default)
        if text is not None and text != "":
            assert declared.kind.read(text) == declared.default, declared
        if declared.default is not None:
            declared.validate(declared.default)


@pytest.mark.parametrize("cls", CLASSES.values())
def test_every_key_is_documented_in_a_sentence(cls: type[Settings]) -> None:
    for declared in cls.KEYS.values():
        assert declared.doc[0].isupper(), declared
        assert declared.doc.endswith("."), declared
        assert declared.use.status == "effective" or declared.use.reason, declared
