"""Which broker a request is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class AnyBroker:
    """Whoever is connected."""


@dataclass(frozen=True, slots=True)
class Controller:
    """The broker that Metadata names as controller; any, when it names none."""


@dataclass(frozen=True, slots=True)
class Node:
    """The broker with this id."""

    node_id: int


@dataclass(frozen=True, slots=True)
class Leader:
    """The leader of a partition."""

    topic: str
    partition: int


Target: TypeAlias = AnyBroker | Controller | Node | Leader

ANY_BROKER: Final = AnyBroker()
CONTROLLER: Final = Controller()
