"""Background work comes back on the loop's thread, with its result or its exception."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from odradek.runtime.loop import LoopTimers, PoolBackground, new_event_loop, run


async def submitted(background: PoolBackground, work: Any) -> tuple[Any, int]:
    """What `done` is called with, and in which thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, int]] = loop.create_future()
    background.submit(work, lambda result: future.set_result((result, threading.get_ident())))
    return await asyncio.wait_for(future, 10)


def test_work_runs_elsewhere_and_returns_here() -> None:
    async def main() -> None:
        background = PoolBackground(asyncio.get_running_loop(), threads=2)
        worker, done_in = await submitted(background, threading.get_ident)
        assert worker != threading.get_ident() == done_in
        assert await background.run(lambda: 5) == 5
        background.close()

    run(main())


def test_exceptions_are_handed_over_not_lost() -> None:
    async def main() -> None:
        background = PoolBackground(asyncio.get_running_loop(), threads=1)

        def fail() -> None:
            raise OSError(5, "broken disk")

        result, _ = await submitted(background, fail)
        assert isinstance(result, OSError)
        with pytest.raises(OSError, match="broken disk"):
            await background.run(fail)
        background.close()

    run(main())


def test_close_waits_for_running_work() -> None:
    async def main() -> list[int]:
        background = PoolBackground(asyncio.get_running_loop(), threads=1)
        finished: list[int] = []
        release = threading.Event()
        background.submit(lambda: (release.wait(10), finished.append(1)), lambda _: None)
        threading.Timer(0.05, release.set).start()
        background.close()
        return finished

    assert run(main()) == [1]


def test_results_after_the_loop_has_ended_are_dropped() -> None:
    """Work that outlives its loop harms nobody."""
    release = threading.Event()
    kept: list[PoolBackground] = []
    told: list[Any] = []

    async def main() -> None:
        background = PoolBackground(asyncio.get_running_loop(), threads=1)
        background.submit(lambda: release.wait(10), told.append)
        kept.append(background)

    run(main())
    release.set()
    kept[0].close()
    assert told == []


def test_timers_count_milliseconds() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        fired: asyncio.Future[float] = loop.create_future()
        started = loop.time()
        timers = LoopTimers(loop)
        timers.call_later(30, lambda: fired.set_result(loop.time() - started))
        cancelled = timers.call_later(1, lambda: fired.set_exception(AssertionError()))
        cancelled.cancel()
        assert 0.02 < await asyncio.wait_for(fired, 10) < 5

    run(main())


def test_without_uvloop_the_standard_loop_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_event_loop()
    assert isinstance(loop, asyncio.SelectorEventLoop)
    loop.close()
