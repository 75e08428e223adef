"""A shard of consumer groups on a virtual clock."""

from __future__ import annotations

import pytest

from odradek.testing.virtual_consumers import VirtualConsumerGroups


@pytest.fixture
def groups() -> VirtualConsumerGroups:
    """A shard, and a topic `t` of six partitions."""
    return VirtualConsumerGroups({"t": 6})
