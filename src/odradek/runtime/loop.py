"""The event loop and what hangs on it: timers, and a small pool for work that may block.

One thread runs the loop and owns all connections and all partition state. The pool's threads run
plain functions that touch files only; what they return comes back to the loop's thread before anybody
sees it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from odradek.interfaces import TimerHandle

T = TypeVar("T")
log = logging.getLogger(__name__)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop where it is installed (less CPU for small requests), else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end on a new loop of ours."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


class LoopTimers:
    """`interfaces.Timers` on an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` after `delay_ms`."""
        return self._loop.call_later(delay_ms / 1000.0, callback)


class PoolBackground:
    """`interfaces.Background` on a thread pool and an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, threads: int) -> None:
        assert threads >= 1
        self._loop = loop
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="odradek-io")

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` in the pool, then `done` on the loop's thread."""
        self._pool.submit(work).add_done_callback(lambda future: self._hand_over(future, done))

    def _hand_over(self, future: Future[T], done: Callable[[T | BaseException], None]) -> None:
        result: T | BaseException | None = future.exception()
        if result is None:
            result = future.result()
        try:
            self._loop.call_soon_threadsafe(done, result)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            log.debug("dropped the result of background work: the loop has stopped")

    async def run(self, work: Callable[[], T]) -> T:
        """Await `work` done in the pool."""
        return await self._loop.run_in_executor(self._pool, work)

    def close(self) -> None:
        """Wait for running work and end the threads."""
        self._pool.shutdown(wait=True)
