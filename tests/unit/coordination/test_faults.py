"""A reader may conclude: broken connections and lost sessions look as the contract says they do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from odradek.coordination.contract import OutcomeUnknown, SessionLost, SessionState
from odradek.coordination.embedded import EmbeddedStore
from odradek.coordination.faults import FaultyStore
from odradek.runtime.clock import SystemClock


def tell(folder: Path, story: Callable[[FaultyStore], Awaitable[None]]) -> None:
    async def run() -> None:
        inner = await EmbeddedStore.open(folder, SystemClock())
        try:
            await story(FaultyStore(inner))
        finally:
            await inner.close()

    asyncio.run(run())


def test_suspended_calls_fail_and_the_session_lives_on(tmp_path: Path) -> None:
    async def story(store: FaultyStore) -> None:
        heard: list[SessionState] = []
        store.add_listener(heard.append)
        await store.create("/mine", ephemeral=True)
        store.suspend()
        with pytest.raises(OutcomeUnknown):
            await store.set("/mine", b"x")
        store.resume()
        assert (await store.get("/mine")).data == b""
        assert heard == [SessionState.SUSPENDED, SessionState.CONNECTED]

    tell(tmp_path, story)


def test_a_lost_session_takes_its_ephemerals_and_wakes_watchers(tmp_path: Path) -> None:
    async def story(store: FaultyStore) -> None:
        woken: list[str] = []
        await store.create("/kept")
        await store.create("/mine", ephemeral=True)
        await store.watch_data("/kept", lambda: woken.append("kept"))
        store.suspend()
        await store.lose()
        assert store.state is SessionState.LOST
        assert woken == ["kept"]
        with pytest.raises(SessionLost):
            await store.get("/kept")
        assert await store._inner.exists("/mine") is None

    tell(tmp_path, story)


@pytest.mark.parametrize("applied", [True, False])
def test_a_write_of_unknown_outcome_is_found_out_by_reading(tmp_path: Path, applied: bool) -> None:
    async def story(store: FaultyStore) -> None:
        store.break_next_write(applied=applied)
        with pytest.raises(OutcomeUnknown):
            await store.create("/a")
        assert (await store.exists("/a") is not None) is applied

    tell(tmp_path, story)
