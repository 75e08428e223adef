"""A clock that tests can move forward: it runs with the system's, plus what it was advanced by.

Timers of the broker hang on the same clock, so that advancing it by an hour lets everything that was due
within the hour happen now: retention, time-outs, idle connections.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections.abc import Callable

from odradek.interfaces import TimerHandle
from odradek.runtime.clock import SystemClock


class MovableClock:
    """`interfaces.Clock` with `advance`; safe to move from any thread."""

    def __init__(self) -> None:
        self._system = SystemClock()
        self._offset_ms = 0
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        """Wall-clock milliseconds, moved."""
        return self._system.now_ms() + self._offset_ms

    def monotonic_ms(self) -> float:
        """Monotonic milliseconds, moved."""
        return self._system.monotonic_ms() + self._offset_ms

    def advance(self, milliseconds: int) -> None:
        """Move time forward; timers that became due run soon after on their loop."""
        assert milliseconds >= 0, "time does not go back"
        with self._lock:
            self._offset_ms += milliseconds
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener()

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener`, in the thread that moves the clock, after each move."""
        with self._lock:
            self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Stop calling `listener`."""
        with self._lock:
            self._listeners.remove(listener)


class _Handle:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class MovableTimers:
    """`interfaces.Timers` that follow a `MovableClock` on one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: MovableClock) -> None:
        self._loop = loop
        self._clock = clock
        self._heap: list[tuple[float, int, _Handle]] = []
        self._sequence = itertools.count()
        self._wake: asyncio.TimerHandle | None = None
        clock.on_advance(self._moved)

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` once the clock has moved on by `delay_ms`."""
        handle = _Handle(callback)
        due = self._clock.monotonic_ms() + delay_ms
        heapq.heappush(self._heap, (due, next(self._sequence), handle))
        self._schedule()
        return handle

    def close(self) -> None:
        """Forget all timers."""
        self._clock.forget(self._moved)
        self._heap.clear()
        if self._wake is not None:
            self._wake.cancel()

    def _moved(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._run_due)

    def _schedule(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        if self._heap:
            delay_ms = max(0.0, self._heap[0][0] - self._clock.monotonic_ms())
            self._wake = self._loop.call_later(delay_ms / 1000.0, self._run_due)

    def _run_due(self) -> None:
        now = self._clock.monotonic_ms()
        try:
            while self._heap and self._heap[0][0] <= now:
                callback = heapq.heappop(self._heap)[2].callback
                if callback is not None:
                    callback()
        finally:  # one that failed does not stop the others
            self._schedule()
