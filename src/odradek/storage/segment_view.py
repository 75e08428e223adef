"""Searching a segment: a picture of it that any thread may use, and how a batch is found in it.

An index leads near a batch, headers lead to it. An index entry is believed only as far as the batch it
points to bears it out, for a position that is wrong would serve torn batches.
"""

from __future__ import annotations

from typing import NamedTuple

from odradek.interfaces import File
from odradek.records.batch import BatchHeader
from odradek.storage.indexes import IndexView, lookup_offset
from odradek.storage.scan import walk_headers


class BatchSpan(NamedTuple):
    """Where a batch lies in its segment."""

    position: int
    size_bytes: int
    base_offset: int


class SegmentView(NamedTuple):
    """A picture of a segment that any thread may search."""

    base_offset: int
    size_bytes: int
    file: File
    offsets: IndexView
    times: IndexView


def locate(
    file: File, size_bytes: int, offsets: IndexView, base_offset: int, offset: int
) -> tuple[BatchSpan | None, str | None]:
    """The first batch that ends at or after `offset`, by index and headers; or what is wrong."""
    entry_offset, position = lookup_offset(offsets, base_offset, offset)
    if not 0 <= position < size_bytes:
        return None, "an index entry that points outside the log"
    found: BatchSpan | None = None
    misled = False

    def visit(at: int, header: BatchHeader) -> bool:
        nonlocal found, misled
        if at == position and at and header.base_offset > entry_offset:
            misled = True  # batches before this one may hold the offset
            return True
        if header.last_offset < offset:
            return False
        found = BatchSpan(at, header.size_bytes, header.base_offset)
        return True

    end = walk_headers(file, position, size_bytes, base_offset, visit)
    if misled:
        return None, "an index entry that points at a later batch"
    return found, end.problem
