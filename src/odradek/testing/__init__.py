"""Tools for tests of Kafka applications: a real broker in this process, faults, a movable clock.

    from odradek.testing import EmbeddedBroker

    with EmbeddedBroker() as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})

The pytest plug-in, active once odradek is installed, offers the same as the fixture
`odradek_broker`. Names are loaded on first use, since pytest imports this package in every run of every
project that has odradek installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.testing.embedded import EmbeddedBroker
    from odradek.testing.movable_clock import MovableClock

__all__ = ["EmbeddedBroker", "MovableClock"]

_HOMES = {"EmbeddedBroker": "embedded", "MovableClock": "movable_clock"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
