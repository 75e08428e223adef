"""Pytest plug-in: the fixture `odradek_broker`, a real broker for one test.

    def test_orders(odradek_broker):
        producer = Producer({"bootstrap.servers": odradek_broker.bootstrap_servers})

Broker keys are given with a marker: `@pytest.mark.odradek({"num.partitions": "3"})`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from odradek.testing.embedded import EmbeddedBroker


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "odradek(config): broker keys for `odradek_broker`")


@pytest.fixture
def odradek_broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """A broker of this test's own, with its data in a temporary folder."""
    from odradek.testing.embedded import EmbeddedBroker  # the plug-in itself must load in a blink

    marker = request.node.get_closest_marker("odradek")
    with EmbeddedBroker(marker.args[0] if marker else None) as broker:
        yield broker
