"""A write is appended, replayed and answered in this order; what fails leaves the state as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from odradek.coordinators.runtime import TOMBSTONES_PER_BATCH
from odradek.coordinators.runtime_slot import ShardState
from odradek.coordinators.shard import Outcome
from odradek.errors import ApiError, Err
from odradek.records.batch import read_header

ME, OTHER = 1, 2
TOPIC = "__consumer_offsets"


def test_one_replica_answers_in_the_same_step(world: Any) -> None:
    """The reply is the handler's, from the state before its own records."""
    world.lead()
    said: list[Err] = []
    assert world.put("a", 1, then=said.append) == -1
    assert world.put("a", 2) == 1
    assert world.shard.values == {"a": 2}
    assert world.shard.offsets == [0, 1]
    assert said == [Err.NONE]


def test_an_outcome_is_one_batch(world: Any) -> None:
    """All or nothing after a crash."""
    world.lead()
    records = (*world_records(world, "a", "b"),)
    world.runtime.write(0, lambda shard: Outcome(records, None))
    piece = world.replicas.find(TOPIC, 0).log.read(0, 1 << 20, upto=2)
    header = read_header(piece.file.pread(piece.size, piece.position))
    assert (header.record_count, header.size_bytes) == (2, piece.size)


def world_records(world: Any, *names: str) -> list[Any]:
    return [world.runtime.read(0, lambda s, n=name: s.put(n, 1)).records[0] for name in names]


def test_a_refused_handler_writes_nothing(world: Any) -> None:
    world.lead()

    def refuse(shard: Any) -> Any:
        raise ApiError(Err.ILLEGAL_GENERATION)

    with pytest.raises(ApiError):
        world.runtime.write(0, refuse)
    assert world.replicas.find(TOPIC, 0).log.log_end_offset == 0


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"min.insync.replicas": "2"}, Err.COORDINATOR_NOT_AVAILABLE),
        ({"max.message.bytes": "70"}, Err.UNKNOWN_SERVER_ERROR),
        ({"segment.bytes": "70"}, Err.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_append_that_fails_changes_nothing(world: Any, keys: dict[str, str], told: Err) -> None:
    """The caller and `then` get Kafka's error for it."""
    world.lead(**keys)
    said: list[Err] = []
    with pytest.raises(ApiError) as caught:
        world.put("a", 1, then=said.append)
    assert (caught.value.err, said) == (told, [told])
    assert world.shard.values == {}


def test_only_tombstones_are_spread_over_batches(world: Any) -> None:
    """Deleting a group with many offsets does not hit max.message.bytes."""
    world.lead(**{"max.message.bytes": "60000"})
    names = [f"n{i}" for i in range(TOMBSTONES_PER_BATCH + 1)]
    world.put("n0", 1)
    world.runtime.write(0, lambda shard: shard.drop(*names))
    assert world.shard.values == {}
    assert world.replicas.find(TOPIC, 0).log.log_end_offset == len(names) + 1
    records = tuple(r for name in names for r in world.shard.put(name, 1).records)
    with pytest.raises(ApiError) as caught:
        world.runtime.write(0, lambda shard: Outcome(records, None))
    assert caught.value.err is Err.UNKNOWN_SERVER_ERROR


def test_what_cannot_be_replayed_fails_the_shard(world: Any) -> None:
    """Its state is unknown from then on, so it answers nobody."""
    world.lead()
    world.put("a", 1)
    with pytest.raises(ApiError) as caught:
        world.put("poison", 1)
    assert caught.value.err is Err.UNKNOWN_SERVER_ERROR
    assert world.runtime.state(0) is ShardState.FAILED
    with pytest.raises(ApiError) as caught:
        world.put("a", 2)
    assert caught.value.err is Err.NOT_COORDINATOR


def test_a_transaction_is_one_batch_of_its_producer(world: Any) -> None:
    """It takes effect with its marker, which goes through the log too."""
    world.lead()
    world.put("a", 1, producer_id=9, producer_epoch=2)
    assert world.shard.values == {}
    end = {"producer_id": 9, "producer_epoch": 2, "coordinator_epoch": 0}
    world.runtime.end_transaction(0, committed=True, **end)
    world.put("b", 1, producer_id=9, producer_epoch=2)
    world.runtime.end_transaction(0, committed=False, **end)
    assert world.shard.values == {"a": 1}
    log = world.replicas.find(TOPIC, 0).log
    assert log.log_end_offset == log.last_stable_offset == 4


# -- with a second replica ------------------------------------------------------------------------


def test_replies_wait_until_all_in_sync_replicas_have_the_records(world: Any) -> None:
    """A later read rests on the same records and waits with them."""

    async def scenario() -> None:
        world.lead(isr=(ME, OTHER))
        said: list[Err] = []
        reply = asyncio.ensure_future(world.put("a", 1, then=said.append))
        answer = asyncio.ensure_future(world.runtime.read(0, lambda shard: shard.values["a"]))
        await asyncio.sleep(0)
        assert not reply.done()
        assert not answer.done()
        assert said == []
        world.replicate()
        assert (await reply, await answer, said) == (-1, 1, [Err.NONE])
        assert world.runtime.read(0, lambda shard: shard.values["a"]) == 1

    asyncio.run(scenario())


def test_a_reply_does_not_wait_for_ever(world: Any) -> None:
    """offsets.commit.timeout.ms; the records may still be committed later, as in Kafka."""

    async def scenario() -> None:
        world.lead(isr=(ME, OTHER))
        said: list[Err] = []
        reply: Coroutine[Any, Any, int] = world.put("a", 1, then=said.append)
        world.timers.advance(5000)
        with pytest.raises(ApiError) as caught:
            await reply
        assert caught.value.err is Err.COORDINATOR_NOT_AVAILABLE
        assert said == [Err.COORDINATOR_NOT_AVAILABLE]
        world.replicate()
        assert len(said) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize("how", ["leadership", "topic"])
def test_who_waits_is_told_when_the_shard_goes(world: Any, how: str) -> None:
    async def scenario() -> None:
        world.lead(isr=(ME, OTHER))
        reply = world.put("a", 1)
        if how == "leadership":
            world.change(leader=OTHER, leader_epoch=1)
        else:
            world.delete_topic()
        with pytest.raises(ApiError) as caught:
            await reply
        assert caught.value.err is Err.NOT_COORDINATOR

    asyncio.run(scenario())


def test_nobody_has_to_await_an_answer(world: Any) -> None:
    """`then` is called all the same, and no warning is left behind."""

    async def scenario() -> None:
        world.lead(isr=(ME, OTHER))
        said: list[Err] = []
        world.put("a", 1, then=said.append).close()
        world.change(leader=OTHER, leader_epoch=1)
        assert said == [Err.NOT_COORDINATOR]

    asyncio.run(scenario())
