"""Walking the batches of a log file: by header only, or whole with their CRC.

Both walks stop at the first thing that is not a batch of this log and say why; what lies before it is
good. A batch must have format 2, a length that fits, and offsets at or above those before it and within
the 31 bits that a segment's indexes have for them (the CRC does not cover the base offset). The walk's
first `next_offset` is the segment's base offset, or an offset in the segment.

Pure over a `File`: any thread may walk any part of a file that is no longer changing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from odradek.interfaces import File
from odradek.records.batch import (
    HEADER_BYTES,
    MAGIC,
    PREFIX_BYTES,
    BatchHeader,
    has_valid_crc,
    read_header,
)
from odradek.storage.indexes import RELATIVE_OFFSET_MAX

# One page pair: holds every header between two index entries where batches are small.
HEADER_CHUNK_BYTES: Final = 8192
# Recovery reads in large pieces: the CRC needs every byte anyway.
BATCH_CHUNK_BYTES: Final = 1 << 20


class ScanEnd(NamedTuple):
    """Where a walk ended: the end of what is good, the next offset, and why (None: all is good)."""

    position: int
    next_offset: int
    problem: str | None


def check_header(
    header: BatchHeader, next_offset: int, bytes_left: int, offset_max: int = 2**63 - 1
) -> str | None:
    """What is wrong with a header found where a batch at or above `next_offset` must begin."""
    if header.magic != MAGIC:
        return f"record format {header.magic}"
    if header.batch_length < HEADER_BYTES - PREFIX_BYTES:
        return f"a batch length of {header.batch_length}"
    if header.size_bytes > bytes_left:
        return f"a batch of {header.size_bytes} bytes where {bytes_left} are left"
    if header.base_offset < next_offset:
        return f"offset {header.base_offset} after offset {next_offset - 1}"
    if header.last_offset_delta < 0:
        return f"a last offset delta of {header.last_offset_delta}"
    if header.last_offset > offset_max:
        return f"offset {header.last_offset}, which no index of this segment could hold"
    return None


def walk_headers(
    file: File,
    position: int,
    end: int,
    next_offset: int,
    visit: Callable[[int, BatchHeader], bool],
) -> ScanEnd:
    """Call `visit` with position and header of each batch in [position, end) until it says True.

    When `visit` ends the walk, the answer's position and next offset are those before that batch.
    """
    chunk, chunk_start = b"", position
    offset_max = next_offset + RELATIVE_OFFSET_MAX
    while position < end:
        if position + HEADER_BYTES > chunk_start + len(chunk):
            chunk_start = position
            chunk = file.pread(min(HEADER_CHUNK_BYTES, end - position), position)
            if len(chunk) < HEADER_BYTES:
                return ScanEnd(position, next_offset, f"{len(chunk)} bytes that are no batch")
        header = read_header(chunk, position - chunk_start)
        problem = check_header(header, next_offset, end - position, offset_max)
        if problem is not None or visit(position, header):
            return ScanEnd(position, next_offset, problem)
        position += header.size_bytes
        next_offset = header.next_offset
    return ScanEnd(position, next_offset, None)


def walk_batches(
    file: File,
    position: int,
    end: int,
    next_offset: int,
    visit: Callable[[int, BatchHeader, memoryview], None],
) -> ScanEnd:
    """Call `visit` with position, header and bytes of each batch in [position, end), CRC checked."""
    chunk, chunk_start = memoryview(b""), position
    offset_max = next_offset + RELATIVE_OFFSET_MAX
    while position < end:
        at = position - chunk_start
        if len(chunk) - at < HEADER_BYTES:
            chunk_start, at = position, 0
            chunk = memoryview(file.pread(min(BATCH_CHUNK_BYTES, end - position), position))
            if len(chunk) < HEADER_BYTES:
                return ScanEnd(position, next_offset, f"{len(chunk)} bytes that are no batch")
        header = read_header(chunk, at)
        problem = check_header(header, next_offset, end - position, offset_max)
        if problem is not None:
            return ScanEnd(position, next_offset, problem)
        if header.size_bytes > len(chunk) - at:
            chunk_start, at = position, 0
            wanted = min(max(BATCH_CHUNK_BYTES, header.size_bytes), end - position)
            chunk = memoryview(file.pread(wanted, position))
            if len(chunk) < header.size_bytes:
                return ScanEnd(position, next_offset, "a batch that ends before its length says")
        batch = chunk[at : at + header.size_bytes]
        if not has_valid_crc(batch, header):
            return ScanEnd(position, next_offset, "a batch whose CRC does not match")
        visit(position, header, batch)
        position += header.size_bytes
        next_offset = header.next_offset
    return ScanEnd(position, next_offset, None)
