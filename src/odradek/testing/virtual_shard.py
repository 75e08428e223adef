"""A coordinator's runtime for tests: a list for a log, a clock that stands still until it is moved.

Does with a handler's `Outcome` what the real runtime does: append, replay, and, when the records are
committed, `then` and the reply. Replication can be held back (`hold`, `release`), appends can fail
(`append_error`). `restart` replays the log, through its bytes, into whatever takes its place; timers and
who waited are gone, as after a crash.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import TypeVar

from odradek.coordinators.record_format import RecordFormat, encode_record
from odradek.coordinators.shard import CoordinatorRecord, Outcome
from odradek.errors import ApiError, Err

T = TypeVar("T")
START_MS = 1_700_000_000_000


class VirtualTimers:
    """`ShardTimers` on a clock that the test moves."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, str]] = []
        self._pending: dict[str, tuple[int, Callable[[], Outcome[None]]]] = {}
        self._numbers = itertools.count()
        self.now = float(START_MS)

    def schedule(self, key: str, delay_ms: float, operation: Callable[[], Outcome[None]]) -> None:
        """As `ShardTimers`."""
        number = next(self._numbers)
        self._pending[key] = (number, operation)
        heapq.heappush(self._due, (self.now + max(delay_ms, 0), number, key))

    def cancel(self, key: str) -> None:
        """As `ShardTimers`."""
        self._pending.pop(key, None)

    def clear(self) -> None:
        """The shard is gone."""
        self._pending.clear()
        self._due.clear()

    @property
    def keys(self) -> set[str]:
        """What is scheduled."""
        return set(self._pending)

    def take_due(self, until: float) -> Callable[[], Outcome[None]] | None:
        """The next operation due by then; moves the clock to its time."""
        while self._due and self._due[0][0] <= until:
            at, number, key = heapq.heappop(self._due)
            found = self._pending.get(key)
            if found is not None and found[0] == number:
                del self._pending[key]
                self.now = max(self.now, at)
                return found[1]
        return None


class VirtualShardRuntime:
    """Carries the parts of a shard that a test is about."""

    def __init__(self, record_format: RecordFormat) -> None:
        self.timers = VirtualTimers()
        self.log: list[CoordinatorRecord] = []
        self.replay: Callable[[CoordinatorRecord], None] = lambda record: None
        self.append_error: Err | None = None
        self.held: list[Callable[[Err], None]] | None = None
        self._format = record_format

    def now_ms(self) -> int:
        """The virtual time."""
        return int(self.timers.now)

    def run(self, outcome: Outcome[T]) -> T:
        """Carry out what a handler decided."""
        if outcome.records:
            if self.append_error is not None:
                outcome.then(self.append_error)
                raise ApiError(self.append_error)
            for record in outcome.records:
                self.log.append(record)
                self.replay(record)
            if self.held is not None:
                self.held.append(outcome.then)
                return outcome.reply
        outcome.then(Err.NONE)
        return outcome.reply

    def hold(self) -> None:
        """Followers are slow: nothing is committed until `release`."""
        self.held = []

    def release(self, err: Err = Err.NONE) -> None:
        """What was held is committed, or is not."""
        held, self.held = self.held or [], None
        for then in held:
            then(err)

    def advance(self, milliseconds: float) -> None:
        """Let time pass, and happen what is due."""
        until = self.timers.now + milliseconds
        while (operation := self.timers.take_due(until)) is not None:
            try:
                self.run(operation())
            except ApiError:
                continue  # a real runtime logs it and tries again
        self.timers.now = until

    def restart(self, replay: Callable[[CoordinatorRecord], None]) -> None:
        """Crash, and replay the log's bytes into a new shard."""
        self.timers.clear()
        self.held = None
        self.replay = replay
        for written in self.log:
            record = self._format.decode(*encode_record(written))
            assert record is not None
            replay(record)
