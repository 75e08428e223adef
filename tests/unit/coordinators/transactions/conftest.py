"""Transaction shards at every level of transaction.version."""

from __future__ import annotations

import pytest
from tests.unit.coordinators.transactions.shell import Shell


@pytest.fixture
def v2() -> Shell:
    """transaction.version 2."""
    shell = Shell(version=2)
    shell.start()
    return shell


@pytest.fixture
def v1() -> Shell:
    """transaction.version 1, with clients that do not count on raised epochs."""
    shell = Shell(version=1)
    shell.start()
    return shell


@pytest.fixture(params=[0, 1, 2])
def shell(request: pytest.FixtureRequest) -> Shell:
    """Every transaction.version, with clients of it."""
    made = Shell(version=request.param)
    made.start()
    return made
