"""Precedence: which of several places gives a key its value, and which values may be put there.

    broker key:  dynamic for this broker > dynamic for all > static file or --set > default
    topic key:   the topic's own override > the broker keys behind it, in order > default

Overrides travel and are stored as text (`Mapping[str, str]`), as on the wire; they become typed
values here, once, when a configuration object is built. Everything is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError, Key, Settings, Update, unknown_key
from odradek.config.group import GroupConfig
from odradek.config.topic import REMOVED, TopicConfig

S = TypeVar("S", bound=Settings)


def topic_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> TopicConfig:
    """A topic's configuration: its overrides over what the broker's keys give."""
    config = _over_broker(TopicConfig, broker, overrides)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            f"min.compaction.lag.ms={config.min_compaction_lag_ms} is more than "
            f"max.compaction.lag.ms={config.max_compaction_lag_ms}: lower one or raise the other"
        )
    return config


def group_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> GroupConfig:
    """A group's configuration: its overrides over what the broker's keys give."""
    return _over_broker(GroupConfig, broker, overrides)


def broker_config(
    static: BrokerConfig, *, cluster: Mapping[str, str], broker: Mapping[str, str]
) -> BrokerConfig:
    """A broker's configuration with what was set while it ran, for all brokers and for this one."""
    dynamic = {**cluster, **broker}
    if not dynamic:
        return static
    values = {declared.attribute: value for declared, value in static.items()}
    for name, text in dynamic.items():
        declared = BrokerConfig.KEYS[name]
        values[declared.attribute] = declared.parse(text)
    return BrokerConfig.assemble(values, {**static.given, **dynamic})


def validate_topic_overrides(
    overrides: Mapping[str, str], broker: BrokerConfig | None = None
) -> None:
    """ConfigError unless a topic could have these overrides (on this broker, else on any)."""
    for name in overrides:
        if name in REMOVED:
            raise ConfigError(f"{name} is no longer a topic key: {REMOVED[name]}")
    _known(overrides, TopicConfig.KEYS)
    topic_config(broker or BrokerConfig(), overrides)


def validate_group_overrides(
    overrides: Mapping[str, str], broker: BrokerConfig | None = None
) -> None:
    """ConfigError unless a group could have these overrides (on this broker, else on any)."""
    _known(overrides, GroupConfig.KEYS)
    group_config(broker or BrokerConfig(), overrides)


def validate_broker_dynamic(overrides: Mapping[str, str], *, per_broker: bool = True) -> None:
    """ConfigError unless these keys can be changed on a running broker, or on all of them."""
    _known(overrides, BrokerConfig.KEYS)
    for name, text in overrides.items():
        declared = BrokerConfig.KEYS[name]
        if declared.dynamic is Update.READ_ONLY:
            raise ConfigError(f"{name} cannot change while a broker runs: set it in its file")
        if declared.dynamic is Update.PER_BROKER and not per_broker:
            raise ConfigError(f"{name} differs from broker to broker: name the broker to change")
        declared.parse(text)


def inherited(declared: Key, broker: BrokerConfig) -> Any:
    """What the broker gives a topic or group that does not say anything itself."""
    for synonym in declared.synonyms:
        value = broker.value(synonym.name)
        if value is not None:
            return scaled(value, synonym.scale)
    return declared.default


def scaled(value: Any, scale: int) -> Any:
    """Hours and minutes in milliseconds; a negative time means "no limit" in any unit."""
    return value if scale == 1 else value * scale if value >= 0 else -1


def _over_broker(cls: type[S], broker: BrokerConfig, overrides: Mapping[str, str]) -> S:
    values: dict[str, Any] = {}
    for name, declared in cls.KEYS.items():
        text = overrides.get(name)
        values[declared.attribute] = (
            inherited(declared, broker) if text is None else declared.parse(text)
        )
    return cls.assemble(values, overrides)


def _known(names: Iterable[str], known: Mapping[str, Key]) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(unknown_key(name, known))
