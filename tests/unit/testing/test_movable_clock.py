"""The movable clock runs with the system's and jumps when told; timers follow it, in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from odradek.testing.movable_clock import MovableClock, MovableTimers

HOUR_MS = 3_600_000


def test_the_clock_runs_and_jumps() -> None:
    clock = MovableClock()
    wall, monotonic = clock.now_ms(), clock.monotonic_ms()
    clock.advance(HOUR_MS)
    assert HOUR_MS <= clock.now_ms() - wall < HOUR_MS + 5000
    assert HOUR_MS <= clock.monotonic_ms() - monotonic < HOUR_MS + 5000
    assert clock.monotonic_ms() <= clock.monotonic_ms()


def test_time_does_not_go_back() -> None:
    with pytest.raises(AssertionError):
        MovableClock().advance(-1)


def with_timers(body: Callable[[MovableClock, MovableTimers], Coroutine[Any, Any, None]]) -> None:
    """Run `body` on a loop with timers that hang on a clock."""

    async def main() -> None:
        clock = MovableClock()
        timers = MovableTimers(asyncio.get_running_loop(), clock)
        try:
            await asyncio.wait_for(body(clock, timers), 20)
        finally:
            timers.close()

    asyncio.run(main())


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_timers_fire_by_themselves() -> None:
    async def body(clock: MovableClock, timers: MovableTimers) -> None:
        fired = asyncio.Event()
        timers.call_later(10, fired.set)
        await fired.wait()

    with_timers(body)


def test_timers_follow_a_jump_in_the_order_of_their_times() -> None:
    """All that were due within the jump, none that was not, none twice."""

    async def body(clock: MovableClock, timers: MovableTimers) -> None:
        fired: list[str] = []
        timers.call_later(3 * HOUR_MS, lambda: fired.append("third"))
        timers.call_later(HOUR_MS, lambda: fired.append("first"))
        timers.call_later(2 * HOUR_MS, lambda: fired.append("second"))
        clock.advance(2 * HOUR_MS)
        await settle()
        assert fired == ["first", "second"]
        clock.advance(HOUR_MS)
        await settle()
        assert fired == ["first", "second", "third"]

    with_timers(body)


def test_the_same_time_means_the_order_of_the_calls() -> None:
    async def body(clock: MovableClock, timers: MovableTimers) -> None:
        fired: list[int] = []
        for number in range(5):
            timers.call_later(0, lambda number=number: fired.append(number))
        clock.advance(1)
        await settle()
        assert fired == [0, 1, 2, 3, 4]

    with_timers(body)


def test_a_cancelled_timer_does_not_fire() -> None:
    async def body(clock: MovableClock, timers: MovableTimers) -> None:
        fired: list[int] = []
        handle = timers.call_later(HOUR_MS, lambda: fired.append(1))
        handle.cancel()
        clock.advance(2 * HOUR_MS)
        await settle()
        handle.cancel()
        assert fired == []

    with_timers(body)


def test_a_timer_may_set_the_next() -> None:
    """A periodic task goes on from the new time, and does not run once per missed period."""

    async def body(clock: MovableClock, timers: MovableTimers) -> None:
        fired: list[float] = []

        def tick() -> None:
            fired.append(clock.monotonic_ms())
            timers.call_later(1000, tick)

        timers.call_later(1000, tick)
        clock.advance(HOUR_MS)
        await settle()
        assert len(fired) == 1
        clock.advance(1000)
        await settle()
        assert len(fired) == 2

    with_timers(body)


def test_a_timer_that_fails_does_not_stop_the_others() -> None:
    async def body(clock: MovableClock, timers: MovableTimers) -> None:
        problems: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: problems.append(context["exception"])
        )
        fired: list[int] = []

        def fail() -> None:
            raise RuntimeError("a timer failed")

        timers.call_later(1, fail)
        timers.call_later(1, lambda: fired.append(1))
        timers.call_later(20, lambda: fired.append(2))
        await asyncio.sleep(0.1)
        assert fired == [1, 2]
        assert [str(problem) for problem in problems] == ["a timer failed"]

    with_timers(body)


def test_another_thread_may_move_the_clock() -> None:
    async def body(clock: MovableClock, timers: MovableTimers) -> None:
        fired = asyncio.Event()
        timers.call_later(HOUR_MS, fired.set)
        thread = threading.Thread(target=clock.advance, args=(HOUR_MS,))
        thread.start()
        await fired.wait()
        thread.join()

    with_timers(body)


def test_closed_timers_are_forgotten() -> None:
    """A clock outlives the brokers that used it."""
    clock = MovableClock()
    fired: list[int] = []

    async def main() -> None:
        timers = MovableTimers(asyncio.get_running_loop(), clock)
        timers.call_later(1, lambda: fired.append(1))
        timers.close()

    asyncio.run(main())
    clock.advance(HOUR_MS)
    assert fired == []
