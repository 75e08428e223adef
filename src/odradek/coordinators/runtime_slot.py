"""A shard as the runtime holds it: its state of life, and the replies that wait for replication."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Generic, TypeVar
from uuid import UUID

from odradek.coordinators.runtime_timers import KeyedTimers
from odradek.coordinators.shard import Shard
from odradek.errors import Err
from odradek.interfaces import TimerHandle, Timers
from odradek.replication.partition import Partition, Waiter

S = TypeVar("S", bound=Shard)


class ShardState(Enum):
    """Where a shard is in its life."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    UNLOADED = "unloaded"


class _Waiting:
    """A reply that waits until everything below `end_offset` is committed."""

    __slots__ = ("done", "end_offset", "timer")

    def __init__(self, end_offset: int, done: Callable[[Err], None]) -> None:
        self.end_offset = end_offset
        self.done = done
        self.timer: TimerHandle

    def finish(self, err: Err) -> None:
        self.timer.cancel()
        self.done(err)


class ShardSlot(Waiter, Generic[S]):
    """A shard with its partition and timers. Owned by the loop's thread."""

    __slots__ = ("_waiting", "end_offset", "partition", "shard", "state", "timers", "topic_id")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.topic_id: UUID = partition.topic_id
        self.state = ShardState.LOADING
        self.timers: KeyedTimers
        self.shard: S
        self.end_offset = 0  # after the last record that was replayed
        self._waiting: deque[_Waiting] = deque()  # end offsets rise

    @property
    def is_committed(self) -> bool:
        """Whether all that the shard's state rests on is on all in-sync replicas."""
        return self.partition.log.high_watermark >= self.end_offset

    def wait(self, done: Callable[[Err], None], timers: Timers, timeout_ms: float) -> None:
        """Call `done` once everything up to now is committed, or with the reason why not."""
        waiting = _Waiting(self.end_offset, done)

        def time_out() -> None:
            self._waiting.remove(waiting)
            waiting.done(Err.COORDINATOR_NOT_AVAILABLE)

        waiting.timer = timers.call_later(timeout_ms, time_out)
        self._waiting.append(waiting)
        self.partition.waiting[self] = None

    def on_high_watermark(self, partition: Partition) -> None:
        """Release the replies that have waited for it."""
        while self._waiting and self._waiting[0].end_offset <= partition.high_watermark:
            self._waiting.popleft().finish(Err.NONE)
        if not self._waiting:
            partition.waiting.pop(self, None)

    def on_gone(self, partition: Partition) -> None:
        """The partition is gone or has another leader."""
        self.fail_waiting()

    def fail_waiting(self) -> None:
        """Tell all who wait that it will not happen here."""
        self.partition.waiting.pop(self, None)
        while self._waiting:
            self._waiting.popleft().finish(Err.NOT_COORDINATOR)
