"""Building batches: for what the broker writes itself, for recompression, for tools and tests.

The output is what Kafka's own builder would write: base_timestamp is the first record's,
max_timestamp the largest, and the CRC is right. Records keep the offsets they carry, so a batch
may have gaps.

Pure functions; any thread may call them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from crc32c import crc32c

from odradek.records.batch import (
    CONTROL,
    CRC_START,
    DELETE_HORIZON,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    PREFIX_BYTES,
    TRANSACTIONAL,
    Buffer,
)
from odradek.records.compression import Codec, compress
from odradek.records.record import Record
from odradek.records.varint import varint_bytes, write_varint
from odradek.types import (
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
)

_CRC: Final = struct.Struct(">I")
_CRC_OFFSET: Final = 17


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    codec: int = Codec.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = NO_LEADER_EPOCH,
    append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
    last_offset: int | None = None,
) -> bytearray:
    """One batch of `records`, whose offsets rise from `base_offset`, gaps allowed.

    `append_time_ms` makes it a batch with LogAppendTime. `delete_horizon_ms` takes the place of
    the base timestamp (KIP-534). `last_offset` is for compaction, where the last record may be
    gone; a batch without records needs it.
    """
    assert records or last_offset is not None, "an empty batch needs its last offset"
    attributes = int(codec)
    if transactional:
        attributes |= TRANSACTIONAL
    if control:
        attributes |= CONTROL
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if append_time_ms is not None:
        attributes |= LOG_APPEND_TIME
        max_timestamp = append_time_ms
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon_ms
    payload = encode_records(records, base_offset, base_timestamp)
    return assemble(
        compress(codec, payload, level) if codec else payload,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes,
        last_offset_delta=(records[-1].offset if last_offset is None else last_offset)
        - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )


def assemble(
    payload: Buffer,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytearray:
    """Header and (compressed) records as one batch, with its CRC."""
    batch = bytearray(HEADER_BYTES + len(payload))
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - PREFIX_BYTES,
        leader_epoch,
        MAGIC,
        0,  # the CRC, below
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    batch[HEADER_BYTES:] = payload
    _CRC.pack_into(batch, _CRC_OFFSET, crc32c(memoryview(batch)[CRC_START:]))
    return batch


def encode_records(records: Sequence[Record], base_offset: int, base_timestamp: int) -> bytearray:
    """The uncompressed payload of a batch."""
    output = bytearray()
    body = bytearray()
    previous = base_offset - 1
    for record in records:
        assert record.offset > previous, "offsets in a batch rise"
        previous = record.offset
        body.append(0)  # attributes
        write_varint(body, record.timestamp - base_timestamp)
        write_varint(body, record.offset - base_offset)
        _write_bytes(body, record.key)
        _write_bytes(body, record.value)
        write_varint(body, len(record.headers))
        for name, value in record.headers:
            _write_bytes(body, name.encode())
            _write_bytes(body, value)
        write_varint(output, len(body))
        output += body
        body.clear()
    return output


def record_bytes(record: Record, base_offset: int, base_timestamp: int) -> int:
    """How many bytes `encode_records` spends on `record`."""
    size = (
        2  # attributes; the header count of nearly every record
        + varint_bytes(record.timestamp - base_timestamp)
        + varint_bytes(record.offset - base_offset)
        + _bytes_of(record.key)
        + _bytes_of(record.value)
    )
    if record.headers:
        size += varint_bytes(len(record.headers)) - 1
        size += sum(_bytes_of(name.encode()) + _bytes_of(value) for name, value in record.headers)
    return varint_bytes(size) + size


def _write_bytes(output: bytearray, data: bytes | None) -> None:
    if data is None:
        output.append(1)  # the varint of -1
    else:
        write_varint(output, len(data))
        output += data


def _bytes_of(data: bytes | None) -> int:
    return 1 if data is None else varint_bytes(len(data)) + len(data)
