"""Markers: every partition gets one, however long it takes, and only then is a transaction complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.coordinators.transactions.shell import Shell

from odradek.coordinators.transaction_markers import (
    MARKERS_PER_TURN,
    RETRY_MS,
    RETRY_MS_MAX,
    Marker,
    ShardMarkers,
)
from odradek.coordinators.transactions.metadata import TransactionMetadata
from odradek.errors import ApiError, Err
from odradek.types import TopicPartition


class Around:
    """The runtime, the writer and the timers around the markers of one shard."""

    def __init__(self) -> None:
        self.epoch: int | None = 5
        self.errors: dict[TopicPartition, list[Err]] = {}
        self.replicating: set[TopicPartition] = set()
        self.written: list[tuple[TopicPartition, Marker]] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.complete_errors: list[Err] = []
        self.shell = Shell(version=2)
        self.shell.start()
        self.markers = ShardMarkers(3, self, self, self)  # type: ignore[arg-type]

    def leader_epoch(self, index: int) -> int:
        assert index == 3
        if self.epoch is None:
            raise ApiError(Err.NOT_COORDINATOR)
        return self.epoch

    def write(self, where: Any, what: Any) -> Any:
        if isinstance(where, TopicPartition):
            return self._write_marker(where, what)
        if self.complete_errors:
            raise ApiError(self.complete_errors.pop())
        return self.shell.run(what(self.shell.shard))

    def _write_marker(self, partition: TopicPartition, marker: Marker) -> Any:
        errors = self.errors.get(partition)
        if errors:
            raise ApiError(errors.pop())
        self.written.append((partition, marker))
        if partition in self.replicating:
            return self._replicate(partition)
        return None

    async def _replicate(self, partition: TopicPartition) -> None:
        await asyncio.sleep(0)
        errors = self.errors.get(partition)
        if errors:
            raise ApiError(errors.pop())

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> None:
        self.later.append((delay_ms, callback))

    def turn(self) -> list[float]:
        """Run what was to be run later; the delays."""
        due, self.later = self.later, []
        for _, callback in due:
            callback()
        return [delay for delay, _ in due]

    def decided(self, partitions: int = 2) -> TransactionMetadata:
        producer = self.shell.init()
        self.shell.add(producer, *(TopicPartition("t", i) for i in range(partitions)))
        self.shell.hold_markers = True
        self.shell.end(producer)
        return self.shell.sent[-1]


@pytest.fixture
def around() -> Around:
    return Around()


def test_all_markers_are_written_in_the_turn_of_the_decision(around: Around) -> None:
    txn = around.decided()
    around.markers.send(txn)
    assert around.written == [
        (TopicPartition("t", i), Marker(txn.producer, True, 5, 2)) for i in range(2)
    ]
    assert around.shell.state() == "CompleteCommit"
    assert around.later == []


def test_many_markers_are_spread_over_turns(around: Around) -> None:
    around.markers.send(around.decided(2 * MARKERS_PER_TURN + 1))
    assert len(around.written) == MARKERS_PER_TURN
    assert around.turn() == [0]
    assert around.shell.state() == "PrepareCommit"
    assert around.turn() == [0]
    assert len(around.written) == 2 * MARKERS_PER_TURN + 1
    assert around.shell.state() == "CompleteCommit"


@pytest.mark.parametrize(
    "err",
    [
        Err.KAFKA_STORAGE_ERROR,
        Err.NOT_LEADER_OR_FOLLOWER,
        Err.NOT_ENOUGH_REPLICAS,
        Err.COORDINATOR_LOAD_IN_PROGRESS,
    ],
)
def test_what_is_not_possible_now_is_tried_again_and_alone(around: Around, err: Err) -> None:
    around.errors[TopicPartition("t", 1)] = [err] * 10
    around.markers.send(around.decided(3))
    delays = []
    while around.later:
        assert around.shell.state() == "PrepareCommit"
        delays += around.turn()
    assert delays[:3] == [RETRY_MS, 2 * RETRY_MS, 4 * RETRY_MS]
    assert max(delays) == RETRY_MS_MAX
    assert [partition.partition for partition, _ in around.written] == [0, 2, 1]
    assert around.shell.state() == "CompleteCommit"


@pytest.mark.parametrize(
    "err",
    [
        Err.UNKNOWN_TOPIC_OR_PARTITION,
        Err.INVALID_PRODUCER_EPOCH,
        Err.TRANSACTION_COORDINATOR_FENCED,
    ],
)
def test_a_partition_that_needs_no_marker_does_not_hold_up_the_others(
    around: Around, err: Err
) -> None:
    around.errors[TopicPartition("t", 0)] = [err]
    around.markers.send(around.decided())
    assert len(around.written) == 1
    assert around.shell.state() == "CompleteCommit"


def test_a_coordinator_that_lost_its_shard_stops(around: Around) -> None:
    around.errors[TopicPartition("t", 0)] = [Err.KAFKA_STORAGE_ERROR]
    around.markers.send(around.decided())
    around.epoch = None
    around.turn()
    assert (len(around.written), around.later) == (1, [])
    around.epoch = 6  # it is back, under another epoch; the loaded shard sends again
    around.markers.send(around.shell.txn())
    assert around.shell.state() == "CompleteCommit"


def test_completion_is_tried_again(around: Around) -> None:
    around.complete_errors = [Err.COORDINATOR_NOT_AVAILABLE]
    around.markers.send(around.decided())
    assert around.shell.state() == "PrepareCommit"
    around.turn()
    assert around.shell.state() == "CompleteCommit"
    assert len(around.written) == 2


def test_a_transaction_is_complete_once_its_markers_are_replicated(around: Around) -> None:
    async def run() -> None:
        around.replicating = {TopicPartition("t", 0), TopicPartition("t", 1)}
        around.errors[TopicPartition("t", 1)] = []
        around.markers.send(around.decided())
        around.errors[TopicPartition("t", 1)] = [Err.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
        assert around.shell.state() == "PrepareCommit"
        for _ in range(5):
            await asyncio.sleep(0)
        assert around.shell.state() == "PrepareCommit"
        assert around.turn() == [RETRY_MS]
        for _ in range(5):
            await asyncio.sleep(0)
        assert around.shell.state() == "CompleteCommit"
        assert len(around.written) == 3

    asyncio.run(run())
