"""Timers of a shard run as handlers, are replaced by key, and end with the shard."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from odradek.coordinators.runtime import RETRY_MS
from odradek.coordinators.shard import Outcome

ME, OTHER = 1, 2
TOPIC = "__consumer_offsets"


@pytest.fixture
def shard(world: Any) -> Any:
    world.lead()
    world.timers.advance()
    return world.shard


def later(shard: Any, key: str, delay_ms: float, name: str) -> None:
    shard.timers.schedule(key, delay_ms, lambda: Outcome(shard.put(name, 1).records, None))


def test_a_timer_writes_like_a_handler(world: Any, shard: Any) -> None:
    later(shard, "k", 100, "a")
    world.timers.advance(99)
    assert shard.values == {}
    world.timers.advance(1)
    assert shard.values == {"a": 1}


def test_the_same_key_replaces_and_cancel_forgets(world: Any, shard: Any) -> None:
    later(shard, "k", 100, "a")
    later(shard, "k", 200, "b")
    later(shard, "other", 100, "c")
    shard.timers.cancel("other")
    shard.timers.cancel("never there")
    world.timers.advance(1000)
    assert shard.values == {"b": 1}


def test_timers_end_with_the_shard(world: Any, shard: Any) -> None:
    """And none can be set afterwards."""
    later(shard, "k", 100, "a")
    world.change(leader=OTHER, leader_epoch=1)
    later(shard, "k2", 100, "a")
    world.timers.advance(1000)
    assert shard.values == {}
    assert world.replicas.find(TOPIC, 0).log.log_end_offset == 0


def test_a_timer_whose_records_cannot_be_written_comes_again(
    world: Any, shard: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Unless the shard has set another one under its key by then."""
    world.change(isr=())  # below min.insync.replicas
    later(shard, "k", 10, "a")
    with caplog.at_level(logging.WARNING):
        world.timers.advance(10)
    assert shard.values == {}
    assert "k failed" in caplog.text
    world.change(isr=(ME,))
    world.timers.advance(RETRY_MS)
    assert shard.values == {"a": 1}


def test_a_timer_that_breaks_breaks_nothing_else(
    world: Any, shard: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def explode() -> Outcome[None]:
        raise RuntimeError("a bug")

    shard.timers.schedule("k", 1, explode)
    with caplog.at_level(logging.ERROR):
        world.timers.advance(1)
    assert "a bug" in caplog.text
    assert world.put("a", 1) == -1
