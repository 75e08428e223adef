"""The settings of one consumer group: the broker's keys, the group's own overrides, and the bounds.

Read at every heartbeat, so what was worked out is kept until the broker's configuration or the group's
overrides are other objects (both are immutable).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError
from odradek.config.resolve import group_config
from odradek.metadata.image import ConfigResource, MetadataImage, ResourceType

_NO_OVERRIDES: Final[Mapping[str, str]] = {}
# Groups with overrides that are remembered.
MAX_REMEMBERED: Final = 10_000


class ConsumerSettings(NamedTuple):
    """What holds for a group now."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


class GroupSettings:
    """Finds the settings of a group."""

    __slots__ = ("_broker", "_config", "_default", "_known")

    def __init__(self, config: Callable[[], BrokerConfig]) -> None:
        self._config = config
        self._broker = config()
        self._default = _bounded(self._broker, _NO_OVERRIDES)
        self._known: dict[str, tuple[Mapping[str, str], ConsumerSettings]] = {}

    def of(self, group_id: str, image: MetadataImage) -> ConsumerSettings:
        """The settings of this group, whose overrides are in the metadata."""
        broker = self._config()
        if broker is not self._broker:
            self._broker = broker
            self._default = _bounded(broker, _NO_OVERRIDES)
            self._known.clear()
        all_overrides = image.resource_overrides
        if not all_overrides:
            return self._default
        overrides = all_overrides.get(ConfigResource(ResourceType.GROUP, group_id))
        if not overrides:
            return self._default
        known = self._known.get(group_id)
        if known is None or known[0] is not overrides:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            known = self._known[group_id] = (overrides, _bounded(broker, overrides))
        return known[1]


def _bounded(broker: BrokerConfig, overrides: Mapping[str, str]) -> ConsumerSettings:
    try:
        group = group_config(broker, overrides)
    except ConfigError:
        # Checked when it was set; a value that a newer release accepted must not stop a group.
        group = group_config(broker, _NO_OVERRIDES)
    return ConsumerSettings(
        session_timeout_ms=_within(
            group.consumer_session_timeout_ms,
            broker.group_consumer_min_session_timeout_ms,
            broker.group_consumer_max_session_timeout_ms,
        ),
        heartbeat_interval_ms=_within(
            group.consumer_heartbeat_interval_ms,
            broker.group_consumer_min_heartbeat_interval_ms,
            broker.group_consumer_max_heartbeat_interval_ms,
        ),
        assignment_interval_ms=_within(
            group.consumer_assignment_interval_ms,
            broker.group_consumer_min_assignment_interval_ms,
            broker.group_consumer_max_assignment_interval_ms,
        ),
    )


def _within(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
