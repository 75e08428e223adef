"""Look-ups by time name the first record in offset order that is late enough."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest


@pytest.mark.parametrize("seed", range(4))
def test_look_ups_agree_with_a_list(store: Any, tools: Any, seed: int) -> None:
    """Timestamps that jump about, several records a batch, several segments."""
    rng = Random(seed)
    log = store.create(
        segment_bytes=1000, index_interval_bytes=rng.choice([0, 200]), segment_ms=10**15
    )
    times: list[int] = []
    for _ in range(60):
        batch = [tools.NOW_MS + rng.randint(-500, 500) for _ in range(rng.randint(1, 4))]
        times += batch
        log.append(
            tools.batch(*[b"v"] * len(batch), timestamps=batch), leader_epoch=3, now_ms=tools.NOW_MS
        )
    if seed % 2:
        log = store.restart()
    for _ in range(60):
        wanted = tools.NOW_MS + rng.randint(-600, 600)
        expected = next((i for i, t in enumerate(times) if t >= wanted), None)
        found = log.prepare_find_by_timestamp(wanted)()
        if expected is None:
            assert found is None
        else:
            assert found == (times[expected], expected, 3)
    largest = log.prepare_max_timestamp()()
    assert largest == (max(times), times.index(max(times)), 3)


def test_an_empty_log_has_no_time(store: Any) -> None:
    log = store.create()
    assert log.prepare_find_by_timestamp(0)() is None
    assert log.prepare_max_timestamp()() is None


def test_records_before_the_log_start_are_not_found(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"a", b"b", timestamp=tools.NOW_MS)
    tools.append(log, b"c", timestamp=tools.NOW_MS + 1)
    log.high_watermark = 3
    log.advance_log_start(1)
    assert log.prepare_find_by_timestamp(0)().offset == 1
    log.advance_log_start(2)
    assert log.prepare_find_by_timestamp(0)().offset == 2


def test_segments_deleted_meanwhile_are_skipped(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=200, segment_ms=10**15)
    for i in range(6):
        tools.append(log, b"%0100d" % i, timestamp=tools.NOW_MS + i)
    search = log.prepare_find_by_timestamp(0)
    log.high_watermark = 6
    log.remove_first_segments(2, tools.NOW_MS)
    store.timers.advance(60_000)
    found = search()
    assert found is not None
    assert found.offset == log.first_segment_offset
