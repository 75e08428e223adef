"""Requests that wait for a partition: parked on it, woken by events, ended by a timer, never polled.

A waiter registers itself with the partitions it waits for. Appends and rising high watermarks call it;
when it has what it wants, or its time is up, it leaves all of them at once and its `done` runs, exactly
once. Completion is deferred by one turn of the loop (`call_soon`), so that a burst of appends wakes a
fetch once and the producers get their answers first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from odradek.interfaces import TimerHandle, Timers
from odradek.replication.partition import Partition, Waiter

CallSoon = Callable[[Callable[[], None]], object]


class Delayed(Waiter):
    """A request that waits for partitions until it is satisfied or its time is up."""

    __slots__ = ("_call_soon", "_done", "_finished", "_partitions", "_timer")

    def __init__(
        self,
        partitions: Iterable[Partition],
        wait_ms: float,
        timers: Timers,
        call_soon: CallSoon,
        done: Callable[[], None],
    ) -> None:
        self._partitions = tuple(partitions)
        self._done = done
        self._call_soon = call_soon
        self._finished = False
        for partition in self._partitions:
            partition.waiting[self] = None
        self._timer: TimerHandle = timers.call_later(wait_ms, self._time_out)

    def finish(self) -> None:
        """Leave the partitions and run `done` in the next turn."""
        if not self._finished:
            self._leave()
            self._call_soon(self._done)

    def cancel(self) -> None:
        """Leave without a word: nobody wants the answer any more."""
        if not self._finished:
            self._leave()

    def _time_out(self) -> None:
        if not self._finished:
            self._leave()
            self._done()

    def _leave(self) -> None:
        self._finished = True
        self._timer.cancel()
        for partition in self._partitions:
            partition.waiting.pop(self, None)

    def on_gone(self, partition: Partition) -> None:
        """A partition that is gone has something to say: its error."""
        self.finish()


class DelayedFetch(Delayed):
    """Waits until enough bytes were appended to its partitions."""

    __slots__ = ("_missing_bytes",)

    def __init__(
        self,
        partitions: Iterable[Partition],
        missing_bytes: int,
        wait_ms: float,
        timers: Timers,
        call_soon: CallSoon,
        done: Callable[[], None],
    ) -> None:
        self._missing_bytes = missing_bytes
        super().__init__(partitions, wait_ms, timers, call_soon, done)

    def on_append(self, partition: Partition, appended_bytes: int) -> None:
        """Count what became visible to consumers."""
        self._missing_bytes -= appended_bytes
        if self._missing_bytes <= 0:
            self.finish()


class Required(NamedTuple):
    """What must have happened to a partition before a produce is answered."""

    end_offset: int
    replicated: bool  # all in-sync replicas have everything below (acks -1)
    synced: bool  # everything below is on the disk (flush.messages)

    def is_met_by(self, partition: Partition) -> bool:
        """Whether it has happened."""
        if self.replicated and partition.high_watermark < self.end_offset:
            return False
        return not self.synced or partition.log.recovery_point >= self.end_offset


class DelayedProduce(Delayed):
    """Waits until what was appended is on all in-sync replicas, or on the disk, as required."""

    __slots__ = ("_required",)

    def __init__(
        self,
        required: dict[Partition, Required],
        wait_ms: float,
        timers: Timers,
        call_soon: CallSoon,
        done: Callable[[], None],
    ) -> None:
        self._required = dict(required)
        super().__init__(required, wait_ms, timers, call_soon, done)
        for partition, wanted in required.items():
            if wanted.synced:
                partition.log.when_flushed(
                    wanted.end_offset, partial(self.on_high_watermark, partition)
                )

    def on_high_watermark(self, partition: Partition) -> None:
        """Cross off the partition if it has what is required; a finished sync comes here too."""
        wanted = self._required.get(partition)
        if wanted is not None and wanted.is_met_by(partition):
            del self._required[partition]
            if not self._required:
                self.finish()
