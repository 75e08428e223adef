"""The index of aborted transactions of one segment.

A reader at isolation level read_committed is given, with the records, the transactions among them that
were aborted. One entry per abort marker in the segment, in the order of the markers, big-endian,
34 bytes:

    version int16 = 0, producer_id int64, first_offset int64, last_offset int64, last_stable_offset int64

`last_offset` is the marker's; `last_stable_offset` was the partition's right after it, so a reader up to
there needs no later entry. Aborts are rare: entries are written as they come, and the file exists only
where there is one.

The loop's thread appends; any thread may read. After a crash, recovery writes the file anew.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

_ENTRY: Final = struct.Struct(">hqqqq")
ENTRY_BYTES: Final = _ENTRY.size
_VERSION: Final = 0
assert ENTRY_BYTES == 34


class AbortedTransaction(NamedTuple):
    """One aborted transaction of a partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode(entry: AbortedTransaction) -> bytes:
    """The 34 bytes of one entry."""
    return _ENTRY.pack(_VERSION, *entry)


def decode(content: bytes) -> Iterator[AbortedTransaction]:
    """The entries of a file; ends where one is torn or of another version."""
    usable = len(content) - len(content) % ENTRY_BYTES
    for version, *fields in _ENTRY.iter_unpack(memoryview(content)[:usable]):
        if version != _VERSION:
            return
        yield AbortedTransaction(*fields)


def is_sane(content: bytes, base_offset: int) -> bool:
    """Whether the whole file is entries of this segment."""
    if len(content) % ENTRY_BYTES:
        return False
    found = list(decode(content))
    return len(found) * ENTRY_BYTES == len(content) and all(
        0 <= entry.first_offset < entry.last_offset and entry.last_offset >= base_offset
        for entry in found
    )
