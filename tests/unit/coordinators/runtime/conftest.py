"""A runtime over real logs on a simulated disk, with a toy shard, a clock and a pool that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from odradek.config.broker import BrokerConfig
from odradek.config.resolve import topic_config
from odradek.coordinators.groups.records import GROUP_RECORDS, offset_commit, offset_tombstone
from odradek.coordinators.runtime import CoordinatorRuntime
from odradek.coordinators.shard import CoordinatorRecord, Outcome, ShardTimers
from odradek.errors import Err
from odradek.metadata.delta import Delta
from odradek.metadata.image import MetadataImage, PartitionImage, TopicImage
from odradek.replication.replica_manager import ReplicaManager
from odradek.storage.log_manager import KnownTopic, LogManager
from odradek.testing.sim_disk import SimDisk

ME, OTHER = 1, 2
TOPIC = "__consumer_offsets"
TOPIC_ID = UUID(int=7)


class Clock:
    def __init__(self) -> None:
        self.ms = 1_700_000_000_000.0

    def now_ms(self) -> int:
        return int(self.ms)

    def monotonic_ms(self) -> float:
        return self.ms


class Timers:
    """Timers that ring when the test moves the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pending: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Any:
        entry = (self._clock.ms + delay_ms, callback)
        self._pending.append(entry)
        pending = self._pending

        class Handle:
            def cancel(self) -> None:
                if entry in pending:
                    pending.remove(entry)

        return Handle()

    def advance(self, milliseconds: float = 0.0) -> None:
        end = self._clock.ms + milliseconds
        while due := [entry for entry in self._pending if entry[0] <= end]:
            entry = min(due, key=lambda e: e[0])
            self._pending.remove(entry)
            self._clock.ms = max(self._clock.ms, entry[0])
            entry[1]()
        self._clock.ms = end

    def __len__(self) -> int:
        return len(self._pending)


class Pool:
    """Background work, done at once, or when told."""

    def __init__(self) -> None:
        self.is_held = False
        self._held: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._held.append((work, done))
        if not self.is_held:
            self.drain()

    def drain(self) -> None:
        while self._held:
            work, done = self._held.pop(0)
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - handed to `done`, as a real pool does
                result = error
            done(result)


class Ledger:
    """A toy shard: what was put under which name, in which transaction, and what the runtime said."""

    def __init__(self, timers: ShardTimers) -> None:
        self.timers = timers
        self.values: dict[str, int] = {}
        self.pending: dict[int, dict[str, int]] = {}
        self.offsets: list[int] = []
        self.told: list[str] = []
        self.on_load: Outcome[None] = Outcome((), None)

    def put(
        self, name: str, value: int, then: Callable[[Err], None] = lambda err: None, **txn: int
    ) -> Outcome[int]:
        """Replies with what was there before."""
        record = offset_commit(name, "t", 0, value, "", 0)
        return Outcome((record,), self.values.get(name, -1), then, **txn)

    def drop(self, *names: str) -> Outcome[None]:
        return Outcome(tuple(offset_tombstone(name, "t", 0) for name in names), None)

    def replay(
        self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord
    ) -> None:
        name, value = record.key.group, record.value  # type: ignore[attr-defined]
        self.offsets.append(offset)
        if name == "poison":
            raise ValueError("nobody can hold this")
        if producer_id >= 0:
            assert value is not None
            self.pending.setdefault(producer_id, {})[name] = value.offset  # type: ignore[attr-defined]
        elif value is None:
            self.values.pop(name, None)
        else:
            self.values[name] = value.offset  # type: ignore[attr-defined]

    def replay_end_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        ended = self.pending.pop(producer_id, {})
        if committed:
            self.values.update(ended)

    def on_loaded(self, image: MetadataImage) -> Outcome[None]:
        self.told.append("loaded")
        return self.on_load

    def on_metadata(self, image: MetadataImage) -> Outcome[None]:
        self.told.append(f"metadata {image.version}")
        return Outcome((), None)

    def on_unloaded(self) -> None:
        self.told.append("unloaded")


class World:
    """A broker's worth of parts around one runtime."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.timers = Timers(self.clock)
        self.pool = Pool()
        self.config, _ = BrokerConfig.from_strings({"log.dirs": "/data"})
        self.logs = LogManager(
            [Path("/data")],
            node_id=ME,
            cluster_id="c",
            clock=self.clock,
            timers=self.timers,
            background=self.pool,
            disk=SimDisk(Random(1)),
            config=self.config,
        )
        self.logs.open(dict[str, KnownTopic]())
        self.replicas = ReplicaManager(
            ME, self.logs, lambda overrides: topic_config(self.config, overrides), self.timers
        )
        self.image = MetadataImage()
        self.load_bytes = 1 << 20
        self.runtime = self.new_runtime()

    def new_runtime(self) -> CoordinatorRuntime[Ledger]:
        """A runtime over the same logs, as after a restart."""
        self.runtime = CoordinatorRuntime(
            topic=TOPIC,
            node_id=ME,
            new_shard=lambda index, timers: Ledger(timers),
            record_format=GROUP_RECORDS,
            replicas=self.replicas,
            clock=self.clock,
            timers=self.timers,
            background=self.pool,
            load_bytes=lambda: self.load_bytes,
            commit_timeout_ms=lambda: 5000.0,
        )
        self.runtime.on_metadata(self.image)
        return self.runtime

    def lead(self, *, partitions: int = 1, isr: tuple[int, ...] = (ME,), **keys: str) -> None:
        """Create the topic, led by this broker."""
        image = PartitionImage(replicas=isr, isr=isr, leader=ME)
        topic = TopicImage(TOPIC, TOPIC_ID, (image,) * partitions, keys)
        self.apply(topic, Delta(created=(topic,)))

    def change(self, **fields: Any) -> None:
        """Change all partitions of the topic."""
        before = self.image.topics[TOPIC]
        partitions = tuple(replace(p, **fields) for p in before.partitions)
        topic = replace(before, partitions=partitions)
        changed = frozenset(range(len(partitions)))
        self.apply(topic, Delta(changed_partitions={TOPIC: changed}))

    def delete_topic(self) -> None:
        topic = self.image.topics[TOPIC]
        self._follow({}, Delta(removed=(topic,)))

    def apply(self, topic: TopicImage, delta: Delta) -> None:
        self._follow({TOPIC: topic}, delta)

    def _follow(self, topics: dict[str, TopicImage], delta: Delta) -> None:
        self.image = replace(
            self.image,
            topics=topics,
            topics_by_id={topic.id: topic for topic in topics.values()},
            version=self.image.version + 1,
        )
        self.replicas.apply(self.image, delta)
        self.runtime.on_metadata(self.image)

    def put(self, name: str, value: int, **more: Any) -> Any:
        return self.runtime.write(0, lambda shard: shard.put(name, value, **more))

    @property
    def shard(self) -> Ledger:
        ((_, shard),) = self.runtime.shards()
        return shard

    def replicate(self) -> None:
        """The follower fetches everything."""
        partition = self.replicas.find(TOPIC, 0)
        partition.remote_end_offsets[OTHER] = partition.log.log_end_offset
        if partition.maybe_advance_high_watermark():
            for waiter in tuple(partition.waiting):
                waiter.on_high_watermark(partition)


@pytest.fixture
def world() -> World:
    return World()
