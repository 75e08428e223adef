"""Loading equals running: a shard read back from the log is the shard that wrote it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from odradek.coordinators.runtime_load import REPLAY_STEPS
from odradek.coordinators.runtime_slot import ShardState
from odradek.coordinators.shard import Outcome
from odradek.errors import ApiError, Err
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.replication.replica_manager import ACKS_ALL
from odradek.storage.log_values import Origin

ME, OTHER = 1, 2
TOPIC = "__consumer_offsets"
TXN = {"producer_id": 9, "producer_epoch": 0}


def append_raw(world: Any, key: bytes, value: bytes | None) -> None:
    batch = build_batch([Record(0, world.clock.now_ms(), key, value)])
    partition = world.replicas.find(TOPIC, 0)
    world.replicas.append(
        partition, memoryview(batch), ACKS_ALL, world.clock.now_ms(), Origin.COORDINATOR
    )


def test_a_loaded_shard_is_the_one_that_ran(world: Any) -> None:
    """Plain records, tombstones, transactions committed, aborted and open."""
    world.lead()
    for i in range(200):
        world.put(f"n{i}", i)
    world.runtime.write(0, lambda shard: shard.drop("n1", "n2"))
    for name, committed in (("yes", True), ("no", False)):
        world.put(name, 1, **TXN)
        world.runtime.end_transaction(0, committed=committed, coordinator_epoch=0, **TXN)
    world.put("open", 1, **TXN)
    before = world.shard
    world.load_bytes = 500  # many pieces
    world.new_runtime()
    world.timers.advance()
    after = world.shard
    assert (after.values, after.pending) == (before.values, before.pending)
    assert after.offsets == before.offsets
    assert after.told == ["loaded"]


def test_requests_wait_for_the_log(world: Any) -> None:
    """COORDINATOR_LOAD_IN_PROGRESS until it has been read, then the state is complete."""
    world.lead()
    world.put("a", 1)
    world.pool.is_held = True
    world.new_runtime()
    with pytest.raises(ApiError) as caught:
        world.put("a", 2)
    assert caught.value.err is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert world.runtime.is_loading()
    assert world.runtime.state(0) is ShardState.LOADING
    world.pool.drain()
    assert not world.runtime.is_loading()
    assert world.put("a", 2) == 1


def test_an_empty_log_needs_no_loading(world: Any) -> None:
    """The first request after the topic was created is served at once."""
    world.pool.is_held = True
    world.lead(partitions=50)
    assert world.runtime.write(49, lambda shard: shard.put("a", 1)) == -1
    assert not world.runtime.is_loading()
    assert len(list(world.runtime.shards())) == 50


def test_replaying_shares_the_loop(world: Any) -> None:
    """A long log is replayed over several turns; a request in between is told to come again."""
    world.lead()
    for i in range(3 * REPLAY_STEPS):
        world.put(f"n{i}", i)
    world.new_runtime()
    ticks = iter(range(10_000))
    world.clock.monotonic_ms = lambda: float(next(ticks) * 10)  # each look at it costs 10 ms
    with pytest.raises(ApiError) as caught:
        world.put("a", 1)
    assert caught.value.err is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert len(world.timers) >= 1
    world.timers.advance()
    assert len(world.shard.values) == 3 * REPLAY_STEPS


def test_records_of_newer_brokers_are_skipped(world: Any) -> None:
    """An unknown type of key belongs to somebody else."""
    world.lead()
    append_raw(world, b"\x7f\x00group", b"\x00\x00")
    world.put("a", 1)
    world.new_runtime()
    world.timers.advance()
    assert world.shard.values == {"a": 1}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\x00\x01\x00\x05ab", b"\x00\x03"),  # a key that is cut short
        (b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00", b"\x00\x63"),  # a version nobody knows
        (b"\x00\x01\x00\x06poison\x00\x01t\x00\x00\x00\x00", None),  # a record nobody can hold
    ],
)
def test_a_log_that_cannot_be_read_fails_the_shard(
    world: Any, key: bytes, value: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Better no answer than a wrong one; the log line names the partition."""
    world.lead()
    append_raw(world, key, value)
    with caplog.at_level(logging.ERROR):
        world.new_runtime()
        world.timers.advance()
    assert world.runtime.state(0) is ShardState.FAILED
    assert f"{TOPIC}-0 cannot be loaded" in caplog.text
    with pytest.raises(ApiError) as caught:
        world.put("a", 1)
    assert caught.value.err is Err.NOT_COORDINATOR


def test_only_led_partitions_have_shards(world: Any) -> None:
    """Leadership comes and goes; each time the log is read anew."""
    with pytest.raises(ApiError) as caught:
        world.put("a", 1)
    assert caught.value.err is Err.NOT_COORDINATOR
    world.lead()
    world.put("a", 1)
    first = world.shard
    world.change(leader=OTHER, leader_epoch=1)
    assert first.told[-1] == "unloaded"
    assert world.runtime.state(0) is ShardState.UNLOADED
    world.change(leader=ME, leader_epoch=2)
    world.timers.advance()
    assert world.shard is not first
    assert world.shard.values == {"a": 1}
    assert world.runtime.leader_epoch(0) == 2


def test_a_shard_unloaded_while_loading_stays_away(world: Any) -> None:
    world.lead()
    world.put("a", 1)
    world.pool.is_held = True
    world.new_runtime()
    world.timers.advance()
    world.change(leader=OTHER, leader_epoch=1)
    world.pool.drain()
    assert list(world.runtime.shards()) == []


def test_a_shard_hears_of_metadata_and_may_write_when_loaded(world: Any) -> None:
    world.lead()
    world.timers.advance()
    world.change(partition_epoch=1)
    assert world.shard.told == ["loaded", f"metadata {world.image.version}"]


def test_what_loading_leads_to_is_written(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.lead()
    world.timers.advance()
    record = world.shard.put("fresh", 1).records
    ledger = type(world.shard)
    monkeypatch.setattr(ledger, "on_loaded", lambda self, image: Outcome(record, None))
    world.new_runtime()
    world.timers.advance()
    assert world.shard.values == {"fresh": 1}
