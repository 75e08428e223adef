"""Reading an internal topic back into a shard.

The pool reads the file, walks the batches and decodes the records of a piece of the log (`read_piece`);
the loop's thread replays them in slices short enough not to be noticed, then asks for the next piece.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

from odradek.coordinators.record_format import RecordFormat
from odradek.coordinators.runtime_slot import ShardSlot, ShardState
from odradek.coordinators.shard import CoordinatorRecord, Shard
from odradek.errors import ApiError
from odradek.interfaces import Background, Clock, Timers
from odradek.records.batch import HEADER_BYTES, read_header
from odradek.records.control import parse_end_marker
from odradek.records.record import read_records
from odradek.storage.log_values import LogSlice
from odradek.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

log = logging.getLogger(__name__)
S = TypeVar("S", bound=Shard)

# Replaying in one turn of the loop: what a request may have to wait for.
REPLAY_TURN_MS: Final = 5.0
REPLAY_STEPS: Final = 64


class LoadStep(NamedTuple):
    """One record, or (when `record` is None) the end of a transaction."""

    offset: int
    producer_id: int
    producer_epoch: int
    record: CoordinatorRecord | None
    committed: bool = False


class LoadedPiece(NamedTuple):
    """What a piece of the log held, and where the next one begins."""

    steps: list[LoadStep]
    next_offset: int


class Loader(Generic[S]):
    """Replays the log of one shard; calls `loaded` or `failed` at the end, unless it was unloaded."""

    def __init__(
        self,
        slot: ShardSlot[S],
        record_format: RecordFormat,
        piece_bytes: int,
        clock: Clock,
        timers: Timers,
        background: Background,
        loaded: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._slot = slot
        self._record_format = record_format
        self._piece_bytes = piece_bytes
        self._clock = clock
        self._timers = timers
        self._background = background
        self._loaded = loaded
        self._failed = failed
        self._next_offset = slot.partition.log.log_start_offset
        self._records = 0
        self._started_ms = clock.monotonic_ms()

    def start(self) -> None:
        """Load; an empty log is loaded at once."""
        self._read_next()

    def _read_next(self) -> None:
        log_ = self._slot.partition.log
        try:
            piece = log_.read(self._next_offset, self._piece_bytes, upto=log_.log_end_offset)
        except ApiError as error:
            self._failed(error)
            return
        if piece is None:
            self._finish()
        else:
            self._background.submit(partial(read_piece, piece, self._record_format), self._got)

    def _got(self, piece: LoadedPiece | BaseException) -> None:
        if self._slot.state is not ShardState.LOADING:
            return
        if isinstance(piece, BaseException):
            self._failed(piece)
        elif piece.next_offset < 0:
            self._failed(ValueError("a batch is cut short"))
        else:
            self._next_offset = piece.next_offset
            self._records += len(piece.steps)
            self._replay(piece.steps, 0)

    def _replay(self, steps: list[LoadStep], position: int) -> None:
        """Replay for a few milliseconds, then let others have the loop."""
        if self._slot.state is not ShardState.LOADING:
            return
        shard, monotonic_ms = self._slot.shard, self._clock.monotonic_ms
        until_ms = monotonic_ms() + REPLAY_TURN_MS
        try:
            while position < len(steps):
                for offset, producer_id, epoch, record, committed in steps[
                    position : position + REPLAY_STEPS
                ]:
                    if record is not None:
                        shard.replay(offset, producer_id, epoch, record)
                    else:
                        shard.replay_end_marker(producer_id, epoch, committed)
                position += REPLAY_STEPS
                if monotonic_ms() >= until_ms and position < len(steps):
                    self._timers.call_later(0, partial(self._replay, steps, position))
                    return
        except Exception as error:  # noqa: BLE001 - what cannot be replayed fails the shard, not us
            self._failed(error)
            return
        self._read_next()

    def _finish(self) -> None:
        if self._records:
            log.info(
                "%s: replayed %d records in %.0f ms",
                self._slot.partition.topic_partition,
                self._records,
                self._clock.monotonic_ms() - self._started_ms,
            )
        self._loaded()


def read_piece(piece: LogSlice, record_format: RecordFormat) -> LoadedPiece:
    """Decode the whole batches of a piece; DecodeError or ApiError where they are garbled."""
    data = memoryview(piece.file.pread(piece.size, piece.position))
    steps: list[LoadStep] = []
    position, end, next_offset = 0, len(data), -1
    while end - position >= HEADER_BYTES:
        header = read_header(data, position)
        if header.size_bytes > end - position:
            break
        batch = data[position : position + header.size_bytes]
        if header.is_control:
            marker = parse_end_marker(batch)
            if marker is not None:
                ended = header.base_offset, header.producer_id, header.producer_epoch
                steps.append(LoadStep(*ended, None, marker.commit))
        else:
            transactional = header.is_transactional
            producer_id = header.producer_id if transactional else NO_PRODUCER_ID
            producer_epoch = header.producer_epoch if transactional else NO_PRODUCER_EPOCH
            for offset, _, key, value, _ in read_records(batch):
                record = record_format.decode(key, value)
                if record is not None:
                    steps.append(LoadStep(offset, producer_id, producer_epoch, record))
                else:
                    log.debug("skipped a record of unknown type at offset %d", offset)
        position += header.size_bytes
        next_offset = header.next_offset
    return LoadedPiece(steps, next_offset)
