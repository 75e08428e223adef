"""Compaction and transactions: aborted records go, markers stay as long as somebody needs them."""

from __future__ import annotations

from typing import Any

DAY_MS = 86_400_000
World = Any  # see conftest


def transactional(world: World, *pairs: tuple[str, str], sequence: int, pid: int = 1) -> int:
    return world.put(
        *pairs, producer_id=pid, producer_epoch=0, base_sequence=sequence, transactional=True
    )


def filler(world: World, value: str) -> None:
    """Roll, and put something into a new active segment, so that the rest may be cleaned."""
    world.roll()
    world.put(("x", value))


def test_aborted_records_go_and_committed_ones_stay(world: World) -> None:
    """An aborted value never supersedes a committed one."""
    world.put(("a", "old"))
    transactional(world, ("a", "aborted"), ("b", "aborted"), sequence=0)
    world.end(1, commit=False)
    transactional(world, ("b", "committed"), sequence=2)
    world.end(1, commit=True)
    filler(world, "1")
    world.clean()
    assert [(k, v) for _, k, v in world.records()] == [
        ("a", "old"),
        ("b", "committed"),
        ("x", "1"),
    ]


def test_open_transactions_are_not_cleaned(world: World) -> None:
    """Nothing at or above the last stable offset is decided yet."""
    world.put(("a", "1"))
    world.put(("a", "2"))
    world.roll()
    transactional(world, ("a", "open"), sequence=0)
    filler(world, "1")
    world.clean()
    assert [(k, v) for _, k, v in world.records()] == [("a", "2"), ("a", "open"), ("x", "1")]


def test_an_abort_marker_outlives_its_records_by_delete_retention(world: World) -> None:
    """First its records go, then it gets a delete horizon, then it goes itself."""
    transactional(world, ("a", "aborted"), sequence=0)
    marker = world.end(1, commit=False)
    world.log.remove_expired_producers(world.clock.ms + 10 * DAY_MS, DAY_MS)
    filler(world, "1")
    world.clean()
    assert world.markers() == [marker]
    assert list(world.log.segments[0].aborted())
    filler(world, "2")
    world.clean()
    (header,) = [header for header, _ in world.batches() if header.is_control]
    assert header.base_timestamp == world.clock.ms + DAY_MS
    world.clock.ms += DAY_MS // 2
    filler(world, "3")
    world.clean()
    assert world.markers() == [marker]
    world.clock.ms += DAY_MS
    filler(world, "4")
    world.clean()
    assert world.markers() == []


def test_a_live_producer_keeps_its_last_marker(world: World) -> None:
    """While the producer is known, what tells its sequence and epoch after a restart stays."""
    transactional(world, ("a", "aborted"), sequence=0)
    marker = world.end(1, commit=False)
    for number in range(4):
        filler(world, str(number))
        world.clock.ms += 2 * DAY_MS
        world.clean()
    assert world.markers() == [marker]
    (kept,) = [h for h, _ in world.batches() if h.producer_id == 1 and not h.is_control]
    assert (kept.record_count, kept.base_sequence) == (0, 0)


def test_a_commit_marker_stays_while_its_records_do(world: World) -> None:
    """A marker without records may go, one with records may not."""
    transactional(world, ("a", "1"), sequence=0)
    first = world.end(1, commit=True)
    transactional(world, ("b", "1"), sequence=1)
    second = world.end(1, commit=True)
    world.put(("a", "2"))
    for round_number in range(4):
        filler(world, str(round_number))
        world.clock.ms += 2 * DAY_MS
        world.clean()
    assert first not in world.markers()
    assert second in world.markers()


def test_transactions_across_segments(world: World) -> None:
    """The abort marker lies in a later segment than the records; they go all the same."""
    transactional(world, ("a", "aborted"), sequence=0)
    world.roll()
    transactional(world, ("b", "aborted"), sequence=1)
    world.roll()
    world.end(1, commit=False)
    filler(world, "1")
    world.clean()
    assert [(k, v) for _, k, v in world.records()] == [("x", "1")]


def test_readers_of_committed_records_see_the_same_after_a_restart(world: World) -> None:
    """What a start rebuilds from a cleaned log agrees with what was there."""
    transactional(world, ("a", "1"), sequence=0)
    world.end(1, commit=True)
    transactional(world, ("a", "2"), ("b", "2"), sequence=1)
    world.end(1, commit=False)
    filler(world, "1")
    world.clean()
    before = world.records()
    world.reload()
    assert world.records() == before == [(0, "a", "1"), (5, "x", "1")]
    assert world.log.last_stable_offset == world.log.log_end_offset
