"""The timers of one shard: by key, replaced when scheduled again, gone when the shard is."""

from __future__ import annotations

from collections.abc import Callable

from odradek.coordinators.shard import Outcome
from odradek.interfaces import TimerHandle, Timers

Operation = Callable[[], Outcome[None]]


class KeyedTimers:
    """`shard.ShardTimers` on the loop's timers; `run` executes an operation as a handler."""

    __slots__ = ("_closed", "_pending", "_run", "_timers")

    def __init__(self, timers: Timers, run: Callable[[str, Operation], None]) -> None:
        self._timers = timers
        self._run = run
        self._pending: dict[str, TimerHandle] = {}
        self._closed = False

    def schedule(self, key: str, delay_ms: float, operation: Operation) -> None:
        """Run `operation` in `delay_ms`, instead of what the key stood for before."""
        if self._closed:
            return
        earlier = self._pending.get(key)
        if earlier is not None:
            earlier.cancel()

        def fire() -> None:
            if self._pending.get(key) is handle:
                del self._pending[key]
                self._run(key, operation)

        handle = self._pending[key] = self._timers.call_later(max(delay_ms, 0.0), fire)

    def is_scheduled(self, key: str) -> bool:
        """Whether a timer waits under this key."""
        return key in self._pending

    def cancel(self, key: str) -> None:
        """Forget a timer; harmless when there is none."""
        handle = self._pending.pop(key, None)
        if handle is not None:
            handle.cancel()

    def close(self) -> None:
        """Forget all timers and take no more."""
        self._closed = True
        for handle in self._pending.values():
            handle.cancel()
        self._pending.clear()
