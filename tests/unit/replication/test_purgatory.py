"""Waiting requests end exactly once: satisfied, out of time, given up, or their partition gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from odradek.replication.purgatory import Delayed, DelayedFetch, DelayedProduce, Required


class FakeLog:
    def __init__(self) -> None:
        self.recovery_point = 0
        self.flushes: list[tuple[int, Callable[[], None]]] = []

    def when_flushed(self, offset: int, callback: Callable[[], None]) -> None:
        self.flushes.append((offset, callback))


class FakePartition:
    """The part of a partition that waiters see."""

    def __init__(self) -> None:
        self.waiting: dict[Any, None] = {}
        self.high_watermark = 0
        self.log = FakeLog()

    def append(self, size: int) -> None:
        for waiter in tuple(self.waiting):
            waiter.on_append(self, size)

    def advance(self, high_watermark: int) -> None:
        self.high_watermark = high_watermark
        for waiter in tuple(self.waiting):
            waiter.on_high_watermark(self)

    def go(self) -> None:
        for waiter in tuple(self.waiting):
            waiter.on_gone(self)


class World:
    """Timers and turns that the test drives."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.timers: list[World.Timer] = []
        self.done = 0

    class Timer:
        def __init__(self, delay_ms: float, callback: Callable[[], None]) -> None:
            self.delay_ms, self.callback, self.cancelled = delay_ms, callback, False

        def cancel(self) -> None:
            self.cancelled = True

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(self.Timer(delay_ms, callback))
        return self.timers[-1]

    def turn(self) -> None:
        soon = self.soon[:]
        self.soon.clear()
        for callback in soon:
            callback()

    def finish(self) -> None:
        self.done += 1

    def fetch(self, partitions: list[FakePartition], missing: int) -> DelayedFetch:
        return DelayedFetch(partitions, missing, 500, self, self.soon.append, self.finish)  # type: ignore[arg-type]

    def produce(self, required: dict[FakePartition, Required]) -> DelayedProduce:
        return DelayedProduce(required, 500, self, self.soon.append, self.finish)  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    return World()


def test_a_fetch_wakes_when_enough_was_appended_anywhere(world: World) -> None:
    """In the next turn, once, and it leaves all its partitions."""
    one, two = FakePartition(), FakePartition()
    world.fetch([one, two], 100)
    one.append(60)
    two.append(39)
    world.turn()
    assert world.done == 0
    one.append(1)
    one.append(1000)
    assert world.done == 0  # producers are answered first
    world.turn()
    assert world.done == 1
    assert one.waiting == two.waiting == {}
    assert world.timers[0].cancelled


def test_time_is_up(world: World) -> None:
    partition = FakePartition()
    world.fetch([partition], 100)
    assert world.timers[0].delay_ms == 500
    world.timers[0].callback()
    assert world.done == 1
    assert partition.waiting == {}
    partition.append(1000)
    world.turn()
    assert world.done == 1


def test_a_timer_that_comes_late_does_nothing(world: World) -> None:
    """Both at once: satisfied first, then the timer."""
    partition = FakePartition()
    world.fetch([partition], 1)
    partition.append(1)
    world.timers[0].callback()
    world.turn()
    assert world.done == 1


def test_given_up_without_a_word(world: World) -> None:
    partition = FakePartition()
    waiting = world.fetch([partition], 1)
    waiting.cancel()
    waiting.cancel()
    waiting.finish()
    world.timers[0].callback()
    world.turn()
    assert world.done == 0
    assert partition.waiting == {}


def test_a_partition_that_goes_wakes_its_waiters(world: World) -> None:
    one, two = FakePartition(), FakePartition()
    world.fetch([one, two], 100)
    two.go()
    world.turn()
    assert world.done == 1
    assert one.waiting == {}


def test_a_produce_waits_for_all_its_partitions(world: World) -> None:
    one, two = FakePartition(), FakePartition()
    world.produce({one: Required(5, True, False), two: Required(7, True, False)})
    one.advance(4)
    two.advance(7)
    world.turn()
    assert world.done == 0
    one.advance(6)
    world.turn()
    assert world.done == 1


def test_a_produce_waits_for_the_disk(world: World) -> None:
    """flush.messages: what is on all replicas but not synced is not acknowledged."""
    partition = FakePartition()
    world.produce({partition: Required(5, True, True)})
    partition.advance(5)
    world.turn()
    assert world.done == 0
    ((offset, synced),) = partition.log.flushes
    assert offset == 5
    partition.log.recovery_point = 5
    synced()
    world.turn()
    assert world.done == 1


def test_appends_do_not_wake_a_produce(world: World) -> None:
    partition = FakePartition()
    world.produce({partition: Required(5, True, False)})
    partition.append(1000)
    world.turn()
    assert world.done == 0


def test_a_plain_delay_only_ends_by_time_or_loss(world: World) -> None:
    partition = FakePartition()
    Delayed([partition], 5, world, world.soon.append, world.finish)  # type: ignore[list-item,arg-type]
    partition.append(10)
    partition.advance(10)
    world.turn()
    assert world.done == 0
    world.timers[0].callback()
    assert world.done == 1
