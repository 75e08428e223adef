"""What DescribeConfigs answers: every key with its value, where the value comes from, and what else
could have given it.

The places are walked in the order of precedence (`resolve`); the first that has the key is its
source, all of them together are its synonyms. A secret's value is never among the answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from odradek.config.broker import BrokerConfig
from odradek.config.declare import Key, Settings, Synonym, Update
from odradek.config.group import GroupConfig
from odradek.config.kinds import Type, read_list
from odradek.config.resolve import scaled
from odradek.config.topic import TopicConfig


class ConfigSource(IntEnum):
    """Where a value comes from, by its number on the wire."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigSynonym(NamedTuple):
    """One place that has a value for a key."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One key of an answer."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: Type
    documentation: str

    @property
    def is_default(self) -> bool:
        """Whether nobody set the key."""
        return self.source is ConfigSource.DEFAULT


class BrokerLayers(NamedTuple):
    """A broker's configuration in its places: what it was started with, and what was set since."""

    static: BrokerConfig
    cluster: Mapping[str, str] = {}
    broker: Mapping[str, str] = {}


def describe_broker(
    layers: BrokerLayers, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """One broker's keys; only those in `names` when given (unknown ones are left out)."""
    return [
        _entry(declared, _broker_places(layers, (Synonym(declared.name),)), layers.static)
        for declared in _chosen(BrokerConfig, names)
    ]


def describe_cluster(
    cluster: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The keys set dynamically for all brokers: what describing the broker "" shows."""
    return [
        _entry(
            declared,
            iter(
                (_synonym(declared, cluster[declared.name], ConfigSource.DYNAMIC_DEFAULT_BROKER),)
            ),
            None,
        )
        for declared in _chosen(BrokerConfig, names)
        if declared.name in cluster
    ]


def describe_topic(
    layers: BrokerLayers, overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """One topic's keys."""
    return _describe_over_broker(TopicConfig, ConfigSource.DYNAMIC_TOPIC, layers, overrides, names)


def describe_group(
    layers: BrokerLayers, overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """One group's keys."""
    return _describe_over_broker(GroupConfig, ConfigSource.GROUP, layers, overrides, names)


def _describe_over_broker(
    cls: type[Settings],
    source: ConfigSource,
    layers: BrokerLayers,
    overrides: Mapping[str, str],
    names: Collection[str] | None,
) -> list[ConfigEntry]:
    entries = []
    for declared in _chosen(cls, names):
        places = _broker_places(layers, declared.synonyms)
        if (text := overrides.get(declared.name)) is not None:
            places = _first(_synonym(declared, text, source), places)
        entries.append(_entry(declared, places, None))
    return entries


def _chosen(cls: type[Settings], names: Collection[str] | None) -> Iterator[Key]:
    for declared in cls.KEYS.values():
        if not declared.internal and (names is None or declared.name in names):
            yield declared


def _entry(
    declared: Key, places: Iterator[ConfigSynonym], broker: BrokerConfig | None
) -> ConfigEntry:
    found = tuple(places)
    value = found[0].value if found else declared.format(declared.default)
    if found and not declared.sensitive and (scale := _scale_of(declared, found[0].name)) != 1:
        value = str(scaled(int(value or 0), scale))
    source = found[0].source if found else ConfigSource.DEFAULT
    if source is ConfigSource.DEFAULT and broker is not None:
        # Some defaults are worked out at the start (log.dirs), so ask the object, not the table.
        value = None if declared.sensitive else declared.format(broker.value(declared.name))
    return ConfigEntry(
        declared.name,
        value,
        source,
        broker is not None and declared.dynamic is Update.READ_ONLY,
        declared.sensitive,
        found,
        declared.type,
        declared.doc,
    )


def _scale_of(declared: Key, synonym_name: str) -> int:
    return next((s.scale for s in declared.synonyms if s.name == synonym_name), 1)


def _broker_places(layers: BrokerLayers, synonyms: tuple[Synonym, ...]) -> Iterator[ConfigSynonym]:
    """Every place that has one of these broker keys, most important first."""
    for name, _ in synonyms:
        declared = BrokerConfig.KEYS[name]
        for texts, source in (
            (layers.broker, ConfigSource.DYNAMIC_BROKER),
            (layers.cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (layers.static.given, ConfigSource.STATIC_BROKER),
        ):
            if name in texts:
                yield _synonym(declared, texts[name], source)
    for name, _ in synonyms:
        declared = BrokerConfig.KEYS[name]
        if (text := declared.format(declared.default)) is not None:
            yield _synonym(declared, text, ConfigSource.DEFAULT)


def _synonym(declared: Key, text: str, source: ConfigSource) -> ConfigSynonym:
    return ConfigSynonym(
        declared.name, None if declared.sensitive else _shown(declared, text), source
    )


def _shown(declared: Key, text: str) -> str | None:
    """A text as its type writes it; the order of a list is the author's."""
    value = declared.parse(text)
    return ",".join(read_list(text)) if declared.type is Type.LIST else declared.format(value)


def _first(head: ConfigSynonym, rest: Iterator[ConfigSynonym]) -> Iterator[ConfigSynonym]:
    yield head
    yield from rest
