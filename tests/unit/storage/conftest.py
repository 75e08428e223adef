"""Logs on a simulated disk, on a real one, and what stands in for the loop around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from odradek.config.broker import BrokerConfig
from odradek.config.resolve import topic_config
from odradek.config.topic import TopicConfig
from odradek.interfaces import Disk
from odradek.records.builder import build_batch
from odradek.records.record import Record, read_records
from odradek.runtime.disk import RealDisk
from odradek.storage.log_manager import KnownTopic, LogManager
from odradek.storage.partition_log import AppendResult, LogSlice, Origin, PartitionLog
from odradek.testing.sim_disk import SimDisk

NOW_MS = 1_700_000_000_000
TOPIC_ID = UUID(int=7)


class Clock:
    def __init__(self) -> None:
        self.ms = NOW_MS

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> float:
        return float(self.ms)


class Timers:
    """Timers that ring when the test moves the clock by `advance`."""

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

    def advance(self, milliseconds: int) -> None:
        end = self._clock.ms + milliseconds
        while due := [entry for entry in self._pending if entry[0] <= end]:
            entry = min(due, key=lambda e: e[0])
            self._pending.remove(entry)
            self._clock.ms = max(self._clock.ms, int(entry[0]))
            entry[1]()
        self._clock.ms = end


class Pool:
    """Background work, done at once, or when told (`hold`, then `drain`)."""

    def __init__(self) -> None:
        self.is_held = False
        self._held: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._held.append((work, done))
        if not self.is_held:
            self.drain()

    def hold(self) -> None:
        self.is_held = True

    def forget(self) -> None:
        self._held.clear()

    def drain(self) -> None:
        while self._held:
            work, done = self._held.pop(0)
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - handed to `done`, as a real pool does
                result = error
            done(result)


class Store:
    """A log manager that can be stopped, killed and started again over the same disk."""

    def __init__(self, disk: Disk, dirs: list[Path], **broker_keys: str) -> None:
        self.disk = disk
        self.dirs = dirs
        self.clock = Clock()
        self.timers = Timers(self.clock)
        self.pool = Pool()
        self.offline: list[tuple[Path, list[Any], str]] = []
        self.broker_config, _ = BrokerConfig.from_strings(
            {"log.dirs": ",".join(map(str, dirs)), **broker_keys}
        )
        self.topics: dict[str, KnownTopic] = {}
        self.manager = self._new()

    def _new(self, cluster_id: str = "c1", node_id: int = 1) -> LogManager:
        return LogManager(
            self.dirs,
            node_id=node_id,
            cluster_id=cluster_id,
            clock=self.clock,
            timers=self.timers,
            background=self.pool,
            disk=self.disk,
            config=self.broker_config,
            on_offline=lambda path, partitions, reason: self.offline.append(
                (path, partitions, reason)
            ),
        )

    def config(self, **overrides: object) -> TopicConfig:
        keys = {name.replace("_", "."): str(value) for name, value in overrides.items()}
        return topic_config(self.broker_config, keys)

    def create(self, topic: str = "t", partition: int = 0, **overrides: object) -> PartitionLog:
        config = self.config(**overrides)
        known = self.topics.get(topic)
        partitions = {partition} | (set(known.partitions) if known else set())
        self.topics[topic] = KnownTopic(TOPIC_ID, config, partitions)
        return self.manager.create(topic, partition, TOPIC_ID, config)

    def open(self, **who: Any) -> LogManager:
        self.manager = self._new(**who)
        self.manager.open(self.topics)
        return self.manager

    def restart(self) -> PartitionLog:
        """Stop cleanly and start; gives t-0."""
        self.manager.close()
        return self._get_after_open()

    def kill(self) -> PartitionLog:
        """End the process without a word and start again; gives t-0."""
        self.pool.forget()
        if isinstance(self.disk, SimDisk):
            self.disk.stop()
        else:
            for log_dir in self.manager.dirs:
                log_dir._unlock()
        self.manager.housekeeping.stop()
        return self._get_after_open()

    def _get_after_open(self) -> PartitionLog:
        self.pool.is_held = False
        self.open()
        log = self.manager.get("t", 0)
        assert log is not None
        return log


@pytest.fixture
def sim_disk() -> SimDisk:
    return SimDisk(Random(1))


@pytest.fixture
def store(sim_disk: SimDisk) -> Store:
    """A store on a simulated disk, opened, without topics."""
    store = Store(sim_disk, [Path("/data")])
    store.open()
    return store


@pytest.fixture
def real_store(tmp_path: Path) -> Iterator[Store]:
    """A store on the real disk, opened, without topics."""
    store = Store(RealDisk(), [tmp_path / "data"])
    store.open()
    yield store
    for log_dir in store.manager.dirs:
        log_dir._unlock()


@pytest.fixture
def make_store() -> type[Store]:
    return Store


def batch(
    *values: bytes, timestamp: int = NOW_MS, timestamps: list[int] | None = None, **fields: Any
) -> memoryview:
    """One batch of values, ready to be appended."""
    times = timestamps or [timestamp] * len(values)
    base_offset = fields.get("base_offset", 0)
    records = [Record(base_offset + i, times[i], b"k", value, ()) for i, value in enumerate(values)]
    return memoryview(build_batch(records, **fields))


def append(log: PartitionLog, *values: bytes, epoch: int = 0, **fields: Any) -> AppendResult:
    """Append one batch as a client does."""
    origin = fields.pop("origin", Origin.CLIENT)
    now_ms = log.dir.clock.now_ms()
    return log.append(
        batch(*values, timestamp=fields.pop("timestamp", now_ms), **fields),
        leader_epoch=epoch,
        now_ms=now_ms,
        origin=origin,
    )


def bytes_of(piece: LogSlice | None) -> bytes:
    return b"" if piece is None else piece.file.pread(piece.size, piece.position)


def read_all(log: PartitionLog, start: int | None = None) -> list[tuple[int, bytes | None]]:
    """(offset, value) of every record, read as a consumer does."""
    offset = log.log_start_offset if start is None else start
    found: list[tuple[int, bytes | None]] = []
    while True:
        piece = log.read(offset, 1 << 20, upto=log.log_end_offset, at_least_one=True)
        data = memoryview(bytes_of(piece))
        if not data:
            return found
        while data:
            size = 12 + int.from_bytes(data[8:12], "big")
            for record in read_records(data[:size]):
                if record.offset >= offset:
                    found.append((record.offset, record.value))
                    offset = record.offset + 1
            offset = max(
                offset, int.from_bytes(data[:8], "big") + int.from_bytes(data[23:27], "big") + 1
            )
            data = data[size:]


class Tools:
    """The functions above, for tests (conftest modules cannot be imported)."""

    NOW_MS = NOW_MS
    TOPIC_ID = TOPIC_ID
    batch = staticmethod(batch)
    append = staticmethod(append)
    bytes_of = staticmethod(bytes_of)
    read_all = staticmethod(read_all)


@pytest.fixture
def tools() -> type[Tools]:
    return Tools
