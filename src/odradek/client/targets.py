"""Which broker a request is for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
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


class CoordinatorKind(IntEnum):
    """What is coordinated, with its code on the wire."""

    GROUP = 0
    TRANSACTION = 1


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The broker that coordinates a group or a transactional id."""

    key: str
    kind: CoordinatorKind = CoordinatorKind.GROUP


Target: TypeAlias = AnyBroker | Controller | Node | Leader | Coordinator

ANY_BROKER: Final = AnyBroker()
CONTROLLER: Final = Controller()
