"""The log against a list: random appends, rolls, cuts, retention, kills and power failures.

After every step what a reader sees is what the list says. After a power failure the log is a prefix of
the list that holds at least everything below the last recovery point that was checkpointed, never a torn
or a changed record. The failing seed is printed by its parameter and replays.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from odradek.config.broker import BrokerConfig
from odradek.config.resolve import topic_config
from odradek.errors import ApiError, Err
from odradek.records.batch import read_header
from odradek.records.builder import build_batch
from odradek.records.record import Record, read_records
from odradek.storage.log_manager import KnownTopic, LogManager
from odradek.storage.partition_log import PartitionLog
from odradek.testing.sim_disk import SimDisk

TOPIC_ID = UUID(int=1)
STEPS = 120


class Clock:
    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> float:
        return float(self.ms)


class Later:
    """Timers and background work that happen when the test lets them, in any order."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._timers: list[Callable[[], None]] = []
        self._work: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Later:
        if delay_ms <= 60_000:
            self._timers.append(callback)
        return self

    def cancel(self) -> None: ...

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._work.append((work, done))

    def step(self) -> None:
        if self._timers and self._rng.random() < 0.3:
            self._timers.pop(self._rng.randrange(len(self._timers)))()
        if self._work:
            work, done = self._work.pop(self._rng.randrange(len(self._work)))
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - handed to `done`, as a real pool does
                result = error
            done(result)

    def forget(self) -> None:
        self._timers.clear()
        self._work.clear()


class Machine:
    """One partition, its disk, and the list it is compared with."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.clock = Clock()
        self.later = Later(self.rng)
        self.disk = SimDisk(self.rng)
        self.broker_config, _ = BrokerConfig.from_strings({"log.dirs": "/d"})
        overrides = {
            "segment.bytes": str(self.rng.choice([400, 700, 3000])),
            "index.interval.bytes": str(self.rng.choice([0, 100, 400])),
            "flush.messages": str(self.rng.choice([1, 7, 2**62])),
            "retention.bytes": str(self.rng.choice([-1, 1500])),
        }
        self.config = topic_config(self.broker_config, overrides)
        self.records: dict[int, bytes] = {}  # every record that was not cut off
        self.epochs: dict[int, int] = {}  # of every record
        self.epoch = 0
        self.start_max = 0
        self.next_value = 0
        self.sequence = 0
        self.manager = self._manager()
        self.manager.open({})
        self.log: PartitionLog = self.manager.create("t", 0, TOPIC_ID, self.config)
        self.disk.fsync_dir("/d")

    def _manager(self) -> LogManager:
        return LogManager(
            [Path("/d")],
            node_id=1,
            cluster_id="c",
            clock=self.clock,
            timers=self.later,
            background=self.later,
            disk=self.disk,
            config=self.broker_config,
        )

    # Steps.

    def append(self) -> None:
        values = []
        for _ in range(self.rng.randint(1, 4)):
            self.next_value += 1
            values.append(b"%0*d" % (self.rng.randint(1, 60), self.next_value))
        self.clock.ms += self.rng.randint(0, 50)
        records = [Record(i, self.clock.ms, None, value, ()) for i, value in enumerate(values)]
        batch = build_batch(records, producer_id=9, producer_epoch=0, base_sequence=self.sequence)
        result = self.log.append(memoryview(batch), leader_epoch=self.epoch, now_ms=self.clock.ms)
        self.sequence += len(values)
        for i, value in enumerate(values):
            self.records[result.first_offset + i] = value
            self.epochs[result.first_offset + i] = self.epoch
        if self.rng.random() < 0.8:
            self.log.high_watermark = self.rng.randint(
                self.log.high_watermark, self.log.log_end_offset
            )

    def repeat(self) -> None:
        last = self.log.active_producers()
        if not last or not last[0].batches:
            return
        kept = last[0].batches[-1]
        count = kept.offset_delta + 1
        records = [Record(i, self.clock.ms, None, b"again", ()) for i in range(count)]
        batch = build_batch(
            records, producer_id=9, producer_epoch=0, base_sequence=kept.first_sequence
        )
        result = self.log.append(memoryview(batch), leader_epoch=self.epoch, now_ms=self.clock.ms)
        assert result.duplicate
        assert result.first_offset == kept.first_offset

    def elect(self) -> None:
        self.epoch += 1
        self.log.assign_epoch(self.epoch, self.log.log_end_offset)

    def roll(self) -> None:
        self.log.roll(self.clock.ms)

    def flush(self) -> None:
        self.log.flush()

    def background(self) -> None:
        for _ in range(self.rng.randint(1, 6)):
            self.later.step()

    def checkpoint(self) -> None:
        self.manager.housekeeping.write_recovery_points()
        self.manager.housekeeping.write_log_start_offsets()

    def truncate(self) -> None:
        target = self.rng.randint(self.log.log_start_offset, self.log.log_end_offset)
        self.log.truncate_to(target)
        self._cut(self.log.log_end_offset)
        assert self.log.log_end_offset <= target

    def _cut(self, end: int) -> None:
        self.records = {o: v for o, v in self.records.items() if o < end}
        entries = self.log.active_producers()
        self.sequence = entries[0].last_sequence + 1 if entries else self.sequence

    def advance_start(self) -> None:
        self.log.advance_log_start(
            self.rng.randint(self.log.log_start_offset, self.log.high_watermark)
        )

    def retention(self) -> None:
        """Also closes the files of a log that is idle."""
        self.manager.housekeeping.apply_retention()

    def restart(self) -> None:
        before = (self.log.log_start_offset, self.log.high_watermark, self.log.log_end_offset)
        self.manager.close()
        self.later.forget()
        self.disk.stop()
        self._reopen()
        log = self.log
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == before

    def kill(self) -> None:
        self.later.forget()
        self.disk.stop()
        end = self.log.log_end_offset
        self._reopen()
        assert self.log.log_end_offset == end
        self._cut(end)

    def crash(self) -> None:
        self.later.forget()
        checkpoint = self._checkpointed()
        self.disk.crash()
        self._reopen()
        end = self.log.log_end_offset
        assert end >= checkpoint, "records that were synced are gone"
        self._cut(end)

    def _checkpointed(self) -> int:
        offsets = self.manager.dirs[0].read_offsets("recovery-point-offset-checkpoint")
        return next(iter(offsets.values()), 0)

    def _reopen(self) -> None:
        self.manager = self._manager()
        self.manager.open({"t": KnownTopic(TOPIC_ID, self.config, {0})})
        log = self.manager.get("t", 0)
        assert log is not None
        self.log = log

    # The comparison.

    def _read_all(self) -> list[tuple[int, bytes]]:
        offset, found = self.log.log_start_offset, []
        while True:
            piece = self.log.read(
                offset, self.rng.choice([1, 500, 10_000]), upto=self.log.log_end_offset
            )
            if piece is None:
                return found
            data = piece.file.pread(piece.size, piece.position)
            while len(data) >= 61 and len(data) >= read_header(data).size_bytes:
                header = read_header(data)
                found += [
                    (record.offset, record.value or b"")
                    for record in read_records(data[: header.size_bytes])
                    if record.offset >= offset
                ]
                offset = header.next_offset
                data = data[header.size_bytes :]

    def check(self) -> None:
        log = self.log
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert log.recovery_point <= log.log_end_offset
        # A log start that was not checkpointed may come back after a crash, as in Kafka.
        expected = [(o, v) for o, v in sorted(self.records.items()) if o >= log.log_start_offset]
        assert self._read_all() == expected
        if expected:
            assert log.log_end_offset == expected[-1][0] + 1
        self.start_max = max(self.start_max, log.log_start_offset)
        for offset, _ in expected:
            if offset >= self.start_max:  # below, the epochs were forgotten with the records
                assert log.epoch_for(offset) == self.epochs[offset]
        for offset in (log.log_start_offset - 1, log.log_end_offset + 1):
            with pytest.raises(ApiError) as caught:
                log.read(offset, 100, upto=log.log_end_offset)
            assert caught.value.err is Err.OFFSET_OUT_OF_RANGE


STEP_WEIGHTS: dict[str, int] = {
    "append": 40,
    "repeat": 4,
    "elect": 3,
    "roll": 3,
    "flush": 5,
    "background": 15,
    "checkpoint": 4,
    "truncate": 3,
    "advance_start": 3,
    "retention": 3,
    "restart": 2,
    "kill": 2,
    "crash": 3,
}


@pytest.mark.parametrize("seed", range(60))
def test_the_log_is_what_the_list_says(seed: int) -> None:
    machine = Machine(seed)
    names, weights = zip(*STEP_WEIGHTS.items(), strict=True)
    for _ in range(STEPS):
        getattr(machine, machine.rng.choices(names, weights)[0])()
        machine.check()
