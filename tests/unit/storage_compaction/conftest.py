"""A real log in a temporary folder, with a clock that stands still and a pool that runs when told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from odradek.config.broker import BrokerConfig
from odradek.config.resolve import topic_config
from odradek.records.batch import BatchHeader, read_header, stamp
from odradek.records.builder import build_batch
from odradek.records.control import build_end_marker
from odradek.records.record import Record, read_records
from odradek.runtime.disk import RealDisk
from odradek.storage import recovery
from odradek.storage.compaction import Cleaner, CleanerSettings
from odradek.storage.log_dir import LogDir
from odradek.storage.partition_log import Origin, PartitionLog
from odradek.storage.probe import NoProbe
from odradek.types import TopicPartition

DAY_MS = 86_400_000
TP = TopicPartition("members", 0)


class Clock:
    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> float:
        return float(self.ms)


class Timers:
    """Timers that never ring: what is removed later stays as `.deleted`."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timers:
        return self

    def cancel(self) -> None: ...


class Pool:
    """Background work, one step per `step`, all of it by `drain`."""

    def __init__(self) -> None:
        self.work: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.work.append((work, done))

    def step(self) -> None:
        work, done = self.work.pop(0)
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - handed to `done`, as a real pool does
            result = error
        done(result)

    def drain(self) -> None:
        while self.work:
            self.step()


class World:
    """One compacted partition and its cleaner."""

    def __init__(self, path: Path, **overrides: str) -> None:
        self.clock = Clock()
        self.pool = Pool()
        self.disk = RealDisk()
        self.failures: list[str] = []
        self.rest_count = 0
        self.dir = LogDir(
            path,
            disk=self.disk,
            background=self.pool,
            timers=Timers(),
            clock=self.clock,
            probe=NoProbe(),
            on_offline=lambda _, reason: self.failures.append(reason),
        )
        settings = {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.index.bytes": "1000000",
            **{key.replace("_", "."): value for key, value in overrides.items()},
        }
        broker, _ = BrokerConfig.from_strings({})
        self.config = topic_config(broker, settings)
        self.path = path / str(TP)
        self.path.mkdir()
        loaded = recovery.new_log(self.disk, str(self.path), 4096, self.clock.ms)
        self.log = PartitionLog(self.dir, TP, UUID(int=1), self.config, loaded)
        self.cleaner = self.new_cleaner()

    def rest(self) -> None:
        self.rest_count += 1

    def new_cleaner(self, **settings: Any) -> Cleaner:
        return Cleaner(
            lambda: [self.log],
            self.pool,
            CleanerSettings(**settings),
            self.clock.now_ms,
            rest=self.rest,
        )

    def append(self, batch: bytearray, origin: Origin = Origin.CLIENT) -> int:
        result = self.log.append(
            memoryview(batch), leader_epoch=0, now_ms=self.clock.ms, origin=origin
        )
        self.log.high_watermark = self.log.log_end_offset
        return result.first_offset

    def put(self, *pairs: tuple[str | None, str | None], codec: int = 0, **fields: Any) -> int:
        """One batch of (key, value); a value of None is a tombstone."""
        records = [
            Record(
                i,
                self.clock.ms,
                None if key is None else key.encode(),
                None if value is None else value.encode(),
            )
            for i, (key, value) in enumerate(pairs)
        ]
        return self.append(build_batch(records, codec=codec, **fields))

    def append_unchecked(self, batch: bytearray) -> None:
        """As an old broker, or a topic that was not compacted then, would have taken it."""
        stamp(batch, 0, self.log.log_end_offset, 0)
        self.log.append_as_follower(memoryview(batch))
        self.log.high_watermark = self.log.log_end_offset

    def compact_from_now_on(self) -> None:
        broker, _ = BrokerConfig.from_strings({})
        settings = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        self.log.update_config(topic_config(broker, settings))

    def end(self, producer_id: int, *, commit: bool, epoch: int = 0) -> int:
        marker = build_end_marker(
            producer_id=producer_id,
            producer_epoch=epoch,
            commit=commit,
            coordinator_epoch=0,
            timestamp=self.clock.ms,
        )
        return self.append(marker, Origin.COORDINATOR)

    def roll(self) -> None:
        self.log.roll(self.clock.ms)
        self.pool.drain()

    def clean(self) -> None:
        """One whole cleaning, if one is due."""
        self.clock.ms += 20_000
        self.cleaner.tick(self.clock.ms)
        self.pool.drain()

    def batches(self) -> Iterable[tuple[BatchHeader, bytes]]:
        for segment in self.log.segments:
            position = 0
            while position < segment.size_bytes:
                header = read_header(segment.log.pread(61, position))
                yield header, segment.log.pread(header.size_bytes, position)
                position += header.size_bytes

    def records(self) -> list[tuple[int, str | None, str | None]]:
        """(offset, key, value) of every data record in the log."""
        return [
            (record.offset, _text(record.key), _text(record.value))
            for header, batch in self.batches()
            if not header.is_control
            for record in read_records(batch)
        ]

    def markers(self) -> list[int]:
        return [
            header.base_offset
            for header, _ in self.batches()
            if header.is_control and header.record_count
        ]

    def files(self) -> set[str]:
        return {entry.name for entry in self.path.iterdir()}

    def reload(self) -> None:
        """As a start after a crash: everything is read from the folder again."""
        request = recovery.LoadRequest(
            topic_partition=TP,
            path=str(self.path),
            was_clean=False,
            recovery_point=0,
            log_start_offset=0,
            index_interval_bytes=4096,
            now_ms=self.clock.ms,
        )
        loaded = recovery.load(self.disk, request).log
        self.log = PartitionLog(
            self.dir, TP, UUID(int=1), self.config, loaded, loaded.log_end_offset
        )


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


@pytest.fixture
def new_world(tmp_path: Path) -> Callable[..., World]:
    """Worlds with other settings; `path` is a folder below the temporary one."""
    return lambda path="", **overrides: World(tmp_path / path, **overrides)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
