"""The offset index and the time index of one segment.

Both are sparse: about one entry per `index.interval.bytes` of log. Entries, big-endian:

    .index      relative_offset int32, position int32        an entry says: the batch that ends at
                                                             base + relative_offset begins at position
    .timeindex  timestamp int64, relative_offset int32       the largest timestamp so far, and the last
                                                             offset of the batch that has it

Kafka preallocates and maps these files; ours grow. The newest entries stay in memory (`_tail`) until
there are 4 KB of them, the segment is rolled, or it is flushed; then they are written in one piece.
Memory does not grow with the data stored: a look-up in older entries reads the file.

The loop's thread owns an index. `view()` gives an immutable picture of it that any thread may search:
entries are only ever added, and a truncated index is a matter of a whole segment being cut, after
which old views find positions that no longer fit; whoever uses a position checks the batch there.

After a crash the file may lack its last entries, hold some that point past the end of the log, or hold
garbage: recovery rebuilds the indexes of all segments above the recovery point. Below it they were
synced together with the log. A bit that flipped on the disk is found by its user, who checks the batch
an entry points to, and has the index rebuilt.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from odradek.interfaces import Disk, File
from odradek.types import NO_OFFSET, NO_TIMESTAMP

OFFSET_ENTRY: Final = struct.Struct(">ii")
TIME_ENTRY: Final = struct.Struct(">qi")

# Written to the file in pieces of a page: a write per entry would double the appends' system calls.
TAIL_BYTES_MAX: Final = 4096
# A search reads the last few hundred entries at once instead of halving down to one.
_BLOCK_BYTES: Final = 4096
RELATIVE_OFFSET_MAX: Final = 2**31 - 1


class IndexView(NamedTuple):
    """An immutable picture of an index: entries in the file, then those in `tail`."""

    file: File | None
    file_count: int
    tail: bytes | bytearray

    def entry(self, layout: struct.Struct, number: int) -> tuple[int, int]:
        """Entry `number`, counted from 0."""
        if number >= self.file_count:
            pair = layout.unpack_from(self.tail, (number - self.file_count) * layout.size)
        else:
            assert self.file is not None
            data = self.file.pread(layout.size, number * layout.size)
            pair = layout.unpack(data) if len(data) == layout.size else (0, 0)
        return pair[0], pair[1]

    def count(self, layout: struct.Struct) -> int:
        """How many entries there are."""
        return self.file_count + len(self.tail) // layout.size

    def floor(self, layout: struct.Struct, key: int) -> int:
        """The number of the last entry whose first field is at most `key`; -1 when none is."""
        tail_count = len(self.tail) // layout.size
        if tail_count and layout.unpack_from(self.tail)[0] <= key:
            return self.file_count + _floor_in(layout, self.tail, tail_count, key)
        if not self.file_count:
            return -1
        assert self.file is not None
        size, low, high = layout.size, 0, self.file_count  # the answer + 1 lies in [low, high]
        per_block = _BLOCK_BYTES // size
        while high - low > per_block:
            middle = (low + high) // 2
            if self.entry(layout, middle)[0] <= key:
                low = middle + 1
            else:
                high = middle
        first = max(low - 1, 0)
        block = self.file.pread((high - first) * size, first * size)
        return first + _floor_in(layout, block, len(block) // size, key)


def _floor_in(layout: struct.Struct, block: bytes | bytearray, count: int, key: int) -> int:
    low, high, size, unpack_from = 0, count, layout.size, layout.unpack_from
    while low < high:
        middle = (low + high) // 2
        if unpack_from(block, middle * size)[0] <= key:
            low = middle + 1
        else:
            high = middle
    return low - 1


class _Index:
    """What both indexes share: a file, a count of the entries in it, and a tail in memory."""

    __slots__ = ("_disk", "_file", "_file_count", "_path", "_tail", "base_offset")

    layout: struct.Struct

    def __init__(self, disk: Disk, path: str, base_offset: int, size_bytes: int = 0) -> None:
        self._disk = disk
        self._path = path
        self.base_offset = base_offset
        self._file: File | None = None
        self._file_count = size_bytes // self.layout.size
        self._tail = bytearray()

    def __len__(self) -> int:
        return self._file_count + len(self._tail) // self.layout.size

    @property
    def size_bytes(self) -> int:
        """The bytes of all entries, written or not."""
        return self._file_count * self.layout.size + len(self._tail)

    @property
    def file(self) -> File:
        """The open file; opens it on first use."""
        if self._file is None:
            self._file = self._disk.open(self._path, create=True)
        return self._file

    def view(self) -> IndexView:
        """A picture for searching; valid as long as the caller keeps it on this thread's turn."""
        return IndexView(self.file if self._file_count else None, self._file_count, self._tail)

    def snapshot(self) -> IndexView:
        """A picture that another thread may search at any time."""
        return self.view()._replace(tail=bytes(self._tail))

    def write_tail(self) -> None:
        """Bring the entries in memory to the file; not yet synced."""
        if self._tail:
            # Not kept open for this: a busy partition has one descriptor, its log's.
            file = self._file or self._disk.open(self._path, create=True)
            file.append(self._tail)
            self._file_count += len(self._tail) // self.layout.size
            self._tail = bytearray()  # a new one: a view may hold the old

    def truncate_to_count(self, count: int) -> None:
        """Keep the first `count` entries."""
        size = self.layout.size
        if count >= self._file_count:
            self._tail = self._tail[: (count - self._file_count) * size]
        else:
            self.file.truncate(count * size)
            self._file_count = count
            self._tail = bytearray()

    def rename(self, path: str) -> None:
        """The file has this name from now on; an open descriptor stays good."""
        self._path = path

    def close(self) -> None:
        """Let go of the descriptor; it is opened again on need."""
        self._file = None

    def _append(self, first: int, second: int) -> None:
        self._tail += self.layout.pack(first, second)
        if len(self._tail) >= TAIL_BYTES_MAX:
            self.write_tail()


class OffsetIndex(_Index):
    """Offset → position of the batch to start scanning from."""

    __slots__ = ()

    layout = OFFSET_ENTRY

    def append(self, last_offset: int, position: int) -> None:
        """The batch that ends at `last_offset` begins at `position`."""
        relative_offset = last_offset - self.base_offset
        assert 0 <= relative_offset <= RELATIVE_OFFSET_MAX
        self._append(relative_offset, position)

    def lookup(self, offset: int) -> tuple[int, int]:
        """(last offset, position) of the last indexed batch that ends at or before `offset`."""
        return lookup_offset(self.view(), self.base_offset, offset)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of batches that end at or after `offset`."""
        self.truncate_to_count(self.view().floor(OFFSET_ENTRY, offset - 1 - self.base_offset) + 1)


class TimeIndex(_Index):
    """Largest timestamp so far → last offset of the batch that has it. Timestamps only rise."""

    __slots__ = ()

    layout = TIME_ENTRY

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry when the timestamp has risen since the last one."""
        if timestamp > self.last()[0]:
            self._append(timestamp, offset - self.base_offset)

    def last(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, -1) when there is none."""
        return last_time(self.view(), self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose offset is at or after `offset`."""
        view, count = self.view(), len(self)
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if view.entry(TIME_ENTRY, middle)[1] + self.base_offset < offset:
                low = middle + 1
            else:
                high = middle
        self.truncate_to_count(low)


def lookup_offset(view: IndexView, base_offset: int, offset: int) -> tuple[int, int]:
    """(last offset, position) of the last indexed batch that ends at or before `offset`."""
    number = view.floor(OFFSET_ENTRY, offset - base_offset)
    if number < 0:
        return base_offset, 0
    relative_offset, position = view.entry(OFFSET_ENTRY, number)
    return base_offset + relative_offset, position


def last_time(view: IndexView, base_offset: int) -> tuple[int, int]:
    """(timestamp, offset) of the last entry of a time index; (-1, -1) when there is none."""
    count = view.count(TIME_ENTRY)
    if not count:
        return NO_TIMESTAMP, NO_OFFSET
    timestamp, relative_offset = view.entry(TIME_ENTRY, count - 1)
    return timestamp, base_offset + relative_offset


def lookup_time(view: IndexView, base_offset: int, timestamp: int) -> tuple[int, int]:
    """(timestamp, offset) of the last entry that is not later than `timestamp`; (-1, base) if none.

    Every record before that entry's offset is at most as late as the entry.
    """
    number = view.floor(TIME_ENTRY, timestamp)
    if number < 0:
        return NO_TIMESTAMP, base_offset
    found, relative_offset = view.entry(TIME_ENTRY, number)
    return found, base_offset + relative_offset


def is_sane(layout: struct.Struct, content: bytes) -> bool:
    """Whether the whole content of an index file is entries that rise in both fields."""
    if len(content) % layout.size:
        return False
    previous = (-1, -1)
    for pair in layout.iter_unpack(content):
        if pair[0] <= previous[0] or pair[1] < previous[1] or pair[1] < 0:
            return False
        previous = (pair[0], pair[1])
    return True
