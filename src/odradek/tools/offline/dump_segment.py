"""Rows of a `.log` file: batches, and their records when asked.

Reads the file from its beginning, batch by batch, as far as there are batches; what follows is
said with its position and cause. A batch whose CRC is wrong is shown as such, and the walk goes
on behind it.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from odradek.errors import ApiError
from odradek.records.batch import (
    DELETE_HORIZON,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    BatchHeader,
    has_valid_crc,
    read_header,
)
from odradek.records.compression import Codec
from odradek.records.control import ControlType, control_type, read_end_marker
from odradek.records.record import Record, read_records
from odradek.storage.file_names import base_offset_of
from odradek.storage.scan import check_header
from odradek.tools.offline.rows import Kind, Optional, Row, problem


class DumpOptions(NamedTuple):
    """What to show."""

    print_data_log: bool = False
    deep_iteration: bool = False
    skip_record_metadata: bool = False
    verify_index_only: bool = False
    index_sanity_check: bool = False
    max_bytes: int = 2**31 - 1

    @property
    def shows_records(self) -> bool:
        """Whether records are read; printing their data implies it."""
        return self.deep_iteration or self.print_data_log


class Found(NamedTuple):
    """A batch in a file."""

    position: int
    header: BatchHeader
    batch: memoryview


def batches(content: memoryview) -> Iterator[Found | str]:
    """The batches of a log; a text about what follows the last one, if anything does."""
    position, end = 0, len(content)
    while position < end:
        if end - position < HEADER_BYTES:
            yield f"{end - position} bytes that are no batch"
            return
        header = read_header(content, position)
        # The order of offsets is for the broker to judge; a tool shows what is there.
        wrong = check_header(header, header.base_offset, end - position)
        if wrong is not None:
            yield wrong
            return
        yield Found(position, header, content[position : position + header.size_bytes])
        position += header.size_bytes


def dump_log_file(path: Path, options: DumpOptions) -> Iterator[Row]:
    """The rows of a log."""
    yield Row(Kind.START, {"startOffset": base_offset_of(path.name)})
    size_bytes = path.stat().st_size
    if not size_bytes:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        content = memoryview(mapped)
        try:
            yield from _log_rows(path, content, options)
        finally:
            content.release()


def _log_rows(path: Path, content: memoryview, options: DumpOptions) -> Iterator[Row]:
    position = 0
    for found in batches(content):
        if isinstance(found, str):
            yield problem(
                f"Found {len(content) - position} invalid bytes at the end of {path.name}: "
                f"at position {position} is {found}"
            )
            return
        if found.position >= options.max_bytes:
            return
        position = found.position + found.header.size_bytes
        yield Row(Kind.BATCH, _batch_fields(found))
        if options.shows_records:
            yield from _record_rows(found, options)
        found.batch.release()


def _batch_fields(found: Found) -> dict[str, Any]:
    header = found.header
    horizon = header.base_timestamp if header.attributes & DELETE_HORIZON else None
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": Optional(horizon),
        "position": found.position,
        _time_name(header): header.max_timestamp,
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": _codec_name(header.codec),
        "crc": header.crc,
        "isvalid": header.magic == MAGIC and has_valid_crc(found.batch, header),
    }


def _time_name(header: BatchHeader) -> str:
    return "LogAppendTime" if header.attributes & LOG_APPEND_TIME else "CreateTime"


def _codec_name(number: int) -> str:
    return Codec(number).name.lower() if number <= Codec.ZSTD else f"unknown({number})"


def _record_rows(found: Found, options: DumpOptions) -> Iterator[Row]:
    try:
        for record in read_records(found.batch):
            yield Row(Kind.RECORD, _record_fields(found.header, record, options))
    except ApiError as error:
        yield problem(
            f"| the records of the batch at position {found.position} cannot be read: "
            f"{error.message}"
        )


def _record_fields(header: BatchHeader, record: Record, options: DumpOptions) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if not options.skip_record_metadata:
        sequence = header.base_sequence
        if sequence >= 0:
            sequence = (sequence + record.offset - header.base_offset) & 0x7FFFFFFF
        fields = {
            "offset": record.offset,
            _time_name(header): record.timestamp,
            "keySize": -1 if record.key is None else len(record.key),
            "valueSize": -1 if record.value is None else len(record.value),
            "sequence": sequence,
            "headerKeys": [name for name, _ in record.headers],
        }
        if header.is_control:
            fields |= _control_fields(record)
    if options.print_data_log and not header.is_control:
        fields |= {"key": record.key, "payload": record.value}
    return fields


def _control_fields(record: Record) -> dict[str, Any]:
    marker = read_end_marker(record)
    if marker is not None:
        return {
            "endTxnMarker": "COMMIT" if marker.commit else "ABORT",
            "coordinatorEpoch": marker.coordinator_epoch,
        }
    number = control_type(record.key)
    is_known = 0 <= number <= ControlType.KRAFT_VOTERS
    return {"controlType": ControlType(number).name if is_known else number}


def first_batch_at(content: memoryview, position: int) -> BatchHeader | None:
    """The header at a position that an index names; None when there is no batch."""
    if not 0 <= position <= len(content) - HEADER_BYTES:
        return None
    header = read_header(content, position)
    wrong = check_header(header, header.base_offset, len(content) - position)
    return None if wrong is not None else header
