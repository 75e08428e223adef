"""Seeded simulation: whatever is delayed, repeated, fenced or restarted, a transaction has one outcome.

Producers of a few transactional ids, each id with an instance that may be a zombie, send requests to a
shard and to partitions (the real `ProducerState`) through a network that delays and repeats. Markers are
held back, time passes, the coordinator restarts. After every event:

- all partitions of a transaction see the same outcome, and see it once;
- a commit or abort that was acknowledged is the outcome;
- an EndTxn decides no transaction but its own, however late it comes (KAFKA-17754, version 2);
- the epochs of an id only grow;

and when everything has calmed down no transaction is open: the last stable offset has reached the end. A
failing seed is in the test's name and replays.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.unit.coordinators.transactions.shell import Shell

from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch, TransactionMetadata
from odradek.errors import ApiError, Err
from odradek.records.batch import CONTROL, TRANSACTIONAL, BatchHeader
from odradek.records.control import EndMarker
from odradek.storage.producer_state import ProducerState
from odradek.types import TopicPartition

PARTITIONS = [TopicPartition("t", i) for i in range(4)]
FEW = ["a", "b", "c"]


def header(producer: ProducerIdAndEpoch, sequence: int, attributes: int) -> BatchHeader:
    return BatchHeader(0, 50, 0, 2, 0, attributes, 0, 0, 0, *producer, sequence, 1)


@dataclass
class Transaction:
    """A transaction as its producer knows it, and what became of it."""

    number: int
    wrote: set[TopicPartition] = field(default_factory=set)
    outcomes: set[bool] = field(default_factory=set)
    acknowledged: bool | None = None


class Partition:
    """A log's end offset and producers; which open records belong to which transaction."""

    def __init__(self) -> None:
        self.state = ProducerState()
        self.end_offset = 0
        self.open: dict[int, list[Transaction]] = defaultdict(list)

    def append(self, producer: ProducerIdAndEpoch, sequence: int, txn: Transaction) -> None:
        batch = header(producer, sequence, TRANSACTIONAL)
        if self.state.check(batch, check_sequence=True) is None:
            self.state.apply(batch, self.end_offset)
            self.end_offset += 1
            self.open[producer.producer_id].append(txn)

    def end(self, txn: TransactionMetadata) -> None:
        producer = txn.producer
        self.state.check_end_marker(*producer, txn.client_version)
        batch = header(producer, -1, TRANSACTIONAL | CONTROL)
        marker = EndMarker(txn.is_committed, 0)
        self.state.check_marker(batch, marker)
        completed = self.state.apply_marker(batch, marker, self.end_offset)
        self.end_offset += 1
        if completed is not None:
            self.state.complete(completed)
        for written in self.open.pop(producer.producer_id, ()):
            written.outcomes.add(txn.is_committed)

    @property
    def last_stable_offset(self) -> int:
        unstable = self.state.first_unstable_offset(self.end_offset)
        return self.end_offset if unstable is None else unstable


class World(Shell):
    """A shard, its partitions, and markers that arrive when the simulation says so."""

    def __init__(self, seed: int, version: int, ids: list[str]) -> None:
        self.ids = ids
        self.rng = random.Random(seed)
        self.partitions = {tp: Partition() for tp in PARTITIONS}
        self.to_mark: list[tuple[TransactionMetadata, list[TopicPartition]]] = []
        self.transactions: list[Transaction] = []
        self.seen: dict[str, ProducerIdAndEpoch] = {}
        # Whose EndTxn is being handled; None: a time-out or a fence decides.
        self.deciding: Transaction | None = None
        super().__init__(version=version)
        self.start()

    def send(self, txn: TransactionMetadata) -> None:
        if self.deciding is not None:
            for partition in self.partitions.values():
                for written in partition.open.get(txn.producer_id, ()):
                    assert written is self.deciding, "an EndTxn decided a later transaction"
        partitions = sorted(txn.partitions)
        self.rng.shuffle(partitions)
        self.to_mark.append((txn, partitions))

    def mark_some(self) -> None:
        """A marker arrives, or arrives twice; with the last one the transaction is complete."""
        if not self.to_mark:
            return
        place = self.rng.randrange(len(self.to_mark))
        txn, partitions = self.to_mark[place]
        if partitions:
            partition = partitions[-1] if self.rng.random() < 0.2 else partitions.pop()
            try:
                self.partitions[partition].end(txn)
            except ApiError as error:
                assert error.err is Err.INVALID_PRODUCER_EPOCH  # noqa: PT017 - a repetition
        else:
            del self.to_mark[place]
            self.complete(txn)

    def restart(self) -> None:
        self.to_mark.clear()
        self.reload()

    def use_up_epochs(self, transactional_id: str) -> None:
        """Come near the last epoch, if nothing is under way that would notice."""
        txn = self.shard.get(transactional_id)
        if txn is not None and txn.state.is_idle and txn.producer_epoch < 32_700:
            self.set_epoch(32_760, transactional_id)

    def check(self) -> None:
        for txn in self.transactions:
            assert len(txn.outcomes) <= 1, f"transaction {txn.number} has two outcomes"
            if txn.acknowledged is not None and txn.wrote:
                assert txn.outcomes <= {txn.acknowledged}
        for transactional_id in self.ids:
            found = self.shard.get(transactional_id)
            if found is not None:
                before = self.seen.get(transactional_id, ProducerIdAndEpoch(-1, -1))
                assert found.producer >= before, "an epoch went back"
                self.seen[transactional_id] = found.producer


class Client:
    """A producer that does what clients do, on a network that may deliver late and twice."""

    def __init__(self, world: World, transactional_id: str, network: list[Callable[[], object]]):
        self.world = world
        self.transactional_id = transactional_id
        self.network = network
        self.producer: ProducerIdAndEpoch | None = None
        self.sequences: dict[TopicPartition, int] = {}
        self.txn: Transaction | None = None

    def step(self) -> None:
        try:
            self._step()
        except ApiError as error:
            if error.err in (Err.CONCURRENT_TRANSACTIONS, Err.COORDINATOR_LOAD_IN_PROGRESS):
                return
            self.producer = self.txn = None  # whatever it is: begin again

    def _step(self) -> None:
        world, rng = self.world, self.world.rng
        if self.producer is None:
            timeout_ms = rng.choice([5_000, 60_000])
            reply = world.ask_init(self.transactional_id, None, timeout_ms)
            if reply.err is Err.NONE:
                self._becomes(reply.producer)
        elif self.txn is None:
            self.txn = Transaction(len(world.transactions))
            world.transactions.append(self.txn)
        elif rng.random() < 0.6:
            self._write(rng.choice(PARTITIONS))
        else:
            self._end(commit=rng.random() < 0.5)

    def _becomes(self, producer: ProducerIdAndEpoch) -> None:
        if producer != self.producer:
            self.sequences.clear()
        self.producer = producer

    def _write(self, partition: TopicPartition) -> None:
        world, producer, txn = self.world, self.producer, self.txn
        assert producer is not None
        assert txn is not None
        if world.version < 2:
            world.add(producer, partition, transactional_id=self.transactional_id)
        sequence = self.sequences.get(partition, 0)

        def deliver() -> None:
            entry = world.partitions[partition].state.get(producer.producer_id)
            if entry is None or not entry.has_open_transaction(producer.producer_epoch):
                self._may_write(producer, partition)
            world.partitions[partition].append(producer, sequence, txn)

        deliver()
        txn.wrote.add(partition)
        self.sequences[partition] = sequence + 1
        self._maybe_again(deliver)

    def _may_write(self, producer: ProducerIdAndEpoch, partition: TopicPartition) -> None:
        world = self.world
        if world.version >= 2:
            world.add(producer, partition, transactional_id=self.transactional_id)
            return
        verified = world.shard.verify_partitions(self.transactional_id, producer, [partition])
        if verified[partition]:
            raise ApiError(verified[partition])

    def _end(self, *, commit: bool) -> None:
        world, producer, txn = self.world, self.producer, self.txn
        assert producer is not None
        assert txn is not None
        if world.version < 2 and not txn.wrote:
            self.txn = None  # old clients do not ask
            return

        def deliver() -> ProducerIdAndEpoch:
            world.deciding = txn
            try:
                return world.end(producer, commit=commit, transactional_id=self.transactional_id)
            finally:
                world.deciding = None

        after = deliver()
        txn.acknowledged = commit
        self.txn = None
        self._becomes(after)
        if world.version >= 2:  # older versions cannot tell a late end from a new one (KAFKA-17754)
            self._maybe_again(deliver)

    def _maybe_again(self, deliver: Callable[[], object]) -> None:
        if self.world.rng.random() < 0.3:
            self.network.append(deliver)


def simulate(seed: int, version: int, steps: int, ids: list[str]) -> World:
    world = World(seed, version, ids)
    rng = world.rng
    network: list[Callable[[], object]] = []
    clients = [Client(world, transactional_id, network) for transactional_id in ids * 2]
    for _ in range(steps):
        kind = rng.random()
        if kind < 0.62:
            # Mostly one instance per id; sometimes the other one wakes up.
            rng.choice(clients if rng.random() < 0.1 else clients[: len(ids)]).step()
        elif kind < 0.85:
            world.mark_some()
        elif kind < 0.95:
            if network:
                late = network.pop(rng.randrange(len(network)))
                try:
                    late()
                except ApiError:
                    pass  # refused: as it should be, or there was nothing left to repeat
        elif kind < 0.99:
            world.advance(rng.choice([1, 500, 11_000]))
        else:
            world.restart()
        world.check()
        if rng.random() < 0.005:
            world.use_up_epochs(rng.choice(ids))
    return world


def calm_down(world: World) -> None:
    """Time-outs pass and all markers arrive."""
    for _ in range(3):
        world.advance(120_000)
        while world.to_mark:
            world.mark_some()
            world.check()


def check_outcomes(world: World) -> None:
    """Nothing is open, and what was acknowledged is what happened."""
    for partition in world.partitions.values():
        assert partition.last_stable_offset == partition.end_offset
        assert not any(partition.open.values())
    for txn in world.transactions:
        if txn.acknowledged is not None and txn.wrote:
            assert txn.outcomes == {txn.acknowledged}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(30))
def test_every_transaction_has_one_outcome(seed: int, version: int) -> None:
    world = simulate(seed, version, 1_500, FEW)
    calm_down(world)
    check_outcomes(world)
    assert len([txn for txn in world.transactions if txn.outcomes]) > 20


@pytest.mark.parametrize("version", [1, 2])
def test_a_hundred_producers(version: int) -> None:
    """S-5.2c: all at once, with fences, time-outs, restarts and epochs that run out."""
    world = simulate(1, version, 8_000, [f"x-{i}" for i in range(100)])
    calm_down(world)
    check_outcomes(world)
    assert len([txn for txn in world.transactions if txn.outcomes]) > 200
