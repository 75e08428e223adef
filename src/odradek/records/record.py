"""Records inside a batch: read strictly, one after the other.

Layout of a record; all numbers but the attributes are zigzag varints:

    length             | bytes after this field
    attributes int8    | unused
    timestamp_delta    | from the batch's base_timestamp (varlong)
    offset_delta       | from the batch's base_offset
    key length, key    | -1: null
    value length, value
    header count, then for each: key length, key (UTF-8), value length, value (-1: null)

Two readers over the same loop. `scan_records` gives each record's place and what compaction and
validation ask about; `read_records` gives whole records. Both refuse what does not add up: a
length that lies, deltas that do not increase, bytes after the last record, a count that is not
met. Gaps between deltas are legal: compaction leaves them.

Pure functions; any thread may call them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from odradek.errors import ApiError, Err
from odradek.records.batch import (
    CODEC_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    PREFIX_BYTES,
    BatchHeader,
    Buffer,
    read_header,
)
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, decompress
from odradek.records.varint import VARINT_BYTES_MAX, read_varint

Headers = tuple[tuple[str, bytes | None], ...]

# Length, attributes, two deltas, two lengths, a header count: one byte each.
RECORD_BYTES_MIN: Final = 7


class Record(NamedTuple):
    """One record with its absolute offset and timestamp."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class RecordSpan(NamedTuple):
    """Where a record lies in its batch's uncompressed payload, and what decides about its fate."""

    start: int
    end: int
    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    has_value: bool
    key_start: int
    value_start: int


def payload_of(
    batch: Buffer, header: BatchHeader, max_bytes: int = DECOMPRESSED_BYTES_MAX
) -> bytes:
    """The records of one whole batch, uncompressed."""
    return decompress(
        header.attributes & CODEC_MASK,
        memoryview(batch)[HEADER_BYTES : PREFIX_BYTES + header.batch_length],
        max_bytes,
    )


def header_of(batch: Buffer) -> BatchHeader:
    """The header of exactly one whole batch of the current format; ApiError when it is not that."""
    if len(batch) < HEADER_BYTES:
        raise ApiError(Err.CORRUPT_MESSAGE, "a batch is shorter than its header")
    header = read_header(batch)
    if header.magic != MAGIC:
        raise ApiError(Err.INVALID_RECORD, f"a batch has format {header.magic}; only 2 can be read")
    if header.size_bytes != len(batch):
        raise ApiError(
            Err.CORRUPT_MESSAGE, f"a batch says {header.size_bytes} bytes and has {len(batch)}"
        )
    return header


def read_records(batch: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> Iterator[Record]:
    """The records of one whole batch, any codec; ApiError where the batch lies."""
    header = header_of(batch)
    payload = payload_of(batch, header, max_bytes)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    for span in scan_records(payload, header.record_count, header.last_offset_delta):
        value, headers = _rest_of(payload, span)
        yield Record(
            base_offset + span.offset_delta,
            base_timestamp + span.timestamp_delta if append_time is None else append_time,
            span.key,
            value,
            headers,
        )


def scan_records(payload: bytes, count: int, last_offset_delta: int) -> Iterator[RecordSpan]:
    """Where each record lies; strict about everything but the insides of values and headers."""
    if count < 0:
        raise ApiError(Err.INVALID_RECORD, f"a batch says it has {count} records")
    position, end = 0, len(payload)
    if count * RECORD_BYTES_MIN > end:
        raise ApiError(Err.INVALID_RECORD, f"a batch of {end} bytes cannot hold {count} records")
    previous_delta = -1
    make = RecordSpan._make
    try:
        for _ in range(count):
            start = position
            byte = payload[position]
            if byte < 0x80:
                length, position = (byte >> 1) ^ -(byte & 1), position + 1
            else:
                length, position = read_varint(payload, position, VARINT_BYTES_MAX)
            record_end = position + length
            if length < RECORD_BYTES_MIN - 1 or record_end > end:
                raise ApiError(Err.INVALID_RECORD, f"a record says it has {length} bytes")
            position += 1  # the attributes
            byte = payload[position]
            if byte < 0x80:
                timestamp_delta, position = (byte >> 1) ^ -(byte & 1), position + 1
            else:
                timestamp_delta, position = read_varint(payload, position)
            byte = payload[position]
            if byte < 0x80:
                offset_delta, position = (byte >> 1) ^ -(byte & 1), position + 1
            else:
                offset_delta, position = read_varint(payload, position, VARINT_BYTES_MAX)
            if not previous_delta < offset_delta <= last_offset_delta:
                raise ApiError(
                    Err.INVALID_RECORD,
                    f"offset delta {offset_delta} follows {previous_delta} in a batch whose last "
                    f"is {last_offset_delta}",
                )
            previous_delta = offset_delta
            key_start = position
            byte = payload[position]
            if byte < 0x80:
                length, position = (byte >> 1) ^ -(byte & 1), position + 1
            else:
                length, position = read_varint(payload, position, VARINT_BYTES_MAX)
            if length < 0:
                key = None
            else:
                key = payload[position : position + length]
                position += length
            if position >= record_end:
                raise ApiError(Err.INVALID_RECORD, "a record's key is longer than the record")
            has_value = payload[position] != 1  # the varint of -1
            yield make(
                (
                    start,
                    record_end,
                    offset_delta,
                    timestamp_delta,
                    key,
                    has_value,
                    key_start,
                    position,
                )
            )
            position = record_end
    except (IndexError, ValueError) as error:
        raise ApiError(Err.INVALID_RECORD, f"a record is cut short or garbled: {error}") from error
    if position != end:
        raise ApiError(
            Err.INVALID_RECORD, f"{end - position} bytes follow the last record of a batch"
        )


def _rest_of(payload: bytes, span: RecordSpan) -> tuple[bytes | None, Headers]:
    """The value and the headers of the record at `span`, which must end where the record ends."""
    position, end = span.value_start, span.end
    try:
        length, position = read_varint(payload, position, VARINT_BYTES_MAX)
        if length < 0:
            value = None
        else:
            start, position = position, position + length
            value = payload[start:position]
        if position >= end:
            raise ApiError(Err.INVALID_RECORD, "a record's value is longer than the record")
        if payload[position] == 0 and position + 1 == end:
            return value, ()
        count, position = read_varint(payload, position, VARINT_BYTES_MAX)
        # The shortest header has an empty key and a null value: two bytes.
        if not 0 <= count * 2 <= end - position:
            raise ApiError(Err.INVALID_RECORD, f"a record says it has {count} headers")
        headers: list[tuple[str, bytes | None]] = []
        for _ in range(count):
            length, position = read_varint(payload, position, VARINT_BYTES_MAX)
            if not 0 <= length <= end - position:
                raise ApiError(Err.INVALID_RECORD, f"a header's key says it has {length} bytes")
            name, position = payload[position : position + length].decode(), position + length
            length, position = read_varint(payload, position, VARINT_BYTES_MAX)
            if length > end - position:
                raise ApiError(Err.INVALID_RECORD, f"a header's value says it has {length} bytes")
            if length < 0:
                headers.append((name, None))
            else:
                headers.append((name, payload[position : position + length]))
                position += length
    except (IndexError, ValueError) as error:
        raise ApiError(Err.INVALID_RECORD, f"a record is cut short or garbled: {error}") from error
    if position != end:
        raise ApiError(Err.INVALID_RECORD, "a record's fields do not fill its length")
    return value, tuple(headers)
