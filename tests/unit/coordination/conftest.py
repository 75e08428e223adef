"""The drivers that the conformance suite runs on; a further driver is one more row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from odradek.coordination.contract import Store
from odradek.coordination.embedded import EmbeddedStore
from odradek.coordination.faults import FaultyStore
from odradek.runtime.clock import SystemClock

StoreFactory = Callable[[], Awaitable[Store]]


@pytest.fixture(params=["embedded", "embedded behind faults"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreFactory:
    """Opens a new session on one tree; the session before it is over by then."""

    async def embedded() -> Store:
        return await EmbeddedStore.open(tmp_path, SystemClock())

    async def faulty() -> Store:
        return FaultyStore(await embedded())

    return embedded if request.param == "embedded" else faulty
