"""Waits between attempts double, stay within bounds, and end."""

from __future__ import annotations

from random import Random

from odradek.client.backoff import ATTEMPTS_MAX, FIRST_MS, JITTER, LONGEST_MS, Backoff


def test_waits_grow_within_bounds_and_end() -> None:
    backoff = Backoff(Random(7))
    waits = []
    while (wait_ms := backoff.next_ms()) is not None:
        waits.append(wait_ms)
    assert len(waits) == ATTEMPTS_MAX - 1
    assert abs(waits[0] - FIRST_MS) <= FIRST_MS * JITTER
    assert all(wait_ms <= LONGEST_MS * (1 + JITTER) for wait_ms in waits)
    assert waits[2] > waits[0]
