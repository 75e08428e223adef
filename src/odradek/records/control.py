"""Control batches: the markers that end a transaction.

A control record's key says what it is: int16 version, int16 type (0 abort, 1 commit; Raft's types
do not occur in our logs). The value of an end-transaction marker is int16 version, int32
coordinator_epoch. A marker batch holds exactly one record, is transactional, has no sequence, and
lies in the log after the producer's records that it decides about.

Pure functions; any thread may call them.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from odradek.errors import ApiError, Err
from odradek.records.batch import Buffer
from odradek.records.builder import build_batch
from odradek.records.record import Record, read_records
from odradek.types import NO_LEADER_EPOCH

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")
_VERSION: Final = 0
# A marker has some dozens of bytes; later versions may add tagged fields.
_MARKER_BYTES_MAX: Final = 64 * 1024


class ControlType(IntEnum):
    """The type in the key of a control record; a number that is not here is for newer brokers."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndMarker(NamedTuple):
    """How a transaction ended."""

    commit: bool
    coordinator_epoch: int


def build_end_marker(
    *,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """The batch that ends a transaction of a producer in one partition."""
    key = _KEY.pack(_VERSION, ControlType.COMMIT if commit else ControlType.ABORT)
    value = _VALUE.pack(_VERSION, coordinator_epoch)
    return build_batch(
        [Record(base_offset, timestamp, key, value)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )


def control_type(key: bytes | None) -> int:
    """The type in a control record's key; ApiError when it is too short."""
    if key is None or len(key) < _KEY.size:
        raise ApiError(Err.INVALID_RECORD, "a control record has no readable key")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise ApiError(Err.INVALID_RECORD, f"a control record has version {version}")
    return int(number)


def read_end_marker(record: Record) -> EndMarker | None:
    """What a control record decides; None when it is of another type."""
    number = control_type(record.key)
    if number not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if record.value is None or len(record.value) < _VALUE.size:
        raise ApiError(Err.INVALID_RECORD, "an end-transaction marker has no readable value")
    coordinator_epoch = _VALUE.unpack_from(record.value)[1]
    return EndMarker(number == ControlType.COMMIT, coordinator_epoch)


def parse_end_marker(batch: Buffer) -> EndMarker | None:
    """What a control batch decides; None when it is empty (compacted) or of another type."""
    for record in read_records(batch, _MARKER_BYTES_MAX):
        return read_end_marker(record)
    return None
