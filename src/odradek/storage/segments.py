"""The segments of one log in order, and what is done to several of them at once.

The last one is active and takes the appends; the others no longer change, except that compaction may
exchange a run of them, and retention takes them from the front. Files are first renamed to `.deleted`
(so that a start does not take them for part of the log) and removed later by the caller.

The loop's thread owns it. Methods raise OSError; the log turns that into an offline dir.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from odradek.config.topic import TopicConfig
from odradek.interfaces import Disk, File
from odradek.storage import file_names
from odradek.storage.log_values import LogSlice
from odradek.storage.segment import Segment


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


class Segments:
    """A log's segments, oldest first; never empty once the log is open."""

    __slots__ = ("_disk", "_list")

    def __init__(self, disk: Disk, segments: list[Segment]) -> None:
        assert segments
        self._disk = disk
        self._list = segments

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    @property
    def active(self) -> Segment:
        """The one that takes appends."""
        return self._list[-1]

    @property
    def first_offset(self) -> int:
        """Where the first segment begins."""
        return self._list[0].base_offset

    def floor(self, offset: int) -> int:
        """The number of the segment that would hold `offset`."""
        return max(bisect_right(self._list, offset, key=_base_offset) - 1, 0)

    # Reading.

    def read(
        self, offset: int, max_bytes: int, *, upto: int, log_end_offset: int, at_least_one: bool
    ) -> LogSlice | None:
        """`PartitionLog.read` for any segment."""
        segments = self._list
        for number in range(self.floor(offset), len(segments)):
            segment = segments[number]
            if segment.base_offset >= upto:
                return None
            span = segment.locate(offset)
            if span is None:
                continue  # compaction left nothing at or after it here
            is_last = number + 1 == len(segments)
            next_base = log_end_offset if is_last else segments[number + 1].base_offset
            end = segment.size_bytes if upto >= next_base else segment.position_of(upto)
            return slice_of(
                segment.log, span.position, span.size_bytes, end, max_bytes, at_least_one
            )
        return None

    def aborted_transactions(self, start: int, end: int) -> list[tuple[int, int]]:
        """`PartitionLog.aborted_transactions`."""
        found = []
        for segment in self._list[self.floor(start) :]:
            for entry in segment.aborted():
                if entry.last_offset >= start and entry.first_offset < end:
                    found.append((entry.producer_id, entry.first_offset))
                if entry.last_stable_offset >= end:
                    return found
        return found

    # Writing.

    def start(self, dir_path: str, base_offset: int, config: TopicConfig, now_ms: int) -> Segment:
        """Add a new active segment."""
        segment = Segment.create(
            self._disk,
            dir_path,
            base_offset,
            index_interval_bytes=config.index_interval_bytes,
            now_ms=now_ms,
        )
        segment.configure(config.index_interval_bytes, config.segment_index_bytes)
        self._list.append(segment)
        return segment

    def to_sync(self, synced: int, upto: int) -> tuple[list[File], bool]:
        """The files that hold what lies in [synced, upto), and whether the folder must be synced."""
        files: list[File] = []
        needs_dir_sync = False
        if upto <= synced:
            return files, needs_dir_sync
        for segment in self._list[self.floor(synced) :]:
            if segment.base_offset < upto:
                files += segment.files_to_sync()
                needs_dir_sync |= segment.needs_dir_sync
                segment.needs_dir_sync = False
        return files, needs_dir_sync

    # Cutting: each gives the paths of files to be removed later.

    def remove_first(self, count: int) -> list[str]:
        """Drop the oldest segments; another one must be left."""
        assert count < len(self._list)
        doomed = self._list[:count]
        del self._list[:count]
        return self._mark_deleted(doomed)

    def remove_all(self) -> list[str]:
        """Drop every segment and every snapshot; the caller starts a new one at once."""
        doomed, self._list = self._list, []
        paths = self._mark_deleted(doomed)
        self.remove_snapshots(doomed[0].dir_path, lambda _: True)
        return paths

    def truncate_to(self, offset: int) -> tuple[int, list[str]]:
        """Cut off everything from the batch that holds `offset`; gives the new end too."""
        keep = self.floor(offset) + 1
        doomed = self._list[keep:]
        del self._list[keep:]
        paths = self._mark_deleted(doomed)
        end = self.active.truncate_to(offset)
        self.remove_snapshots(
            self.active.dir_path, lambda at: at > (offset if end is None else end)
        )
        return offset if end is None else end, paths

    def exchange(self, old: Sequence[Segment], new: Sequence[Segment]) -> list[str]:
        """Put `new` (files ending in .cleaned, synced) in the place of `old`, a run of inactive ones.

        A crash at any point leaves either all old ones, or `.swap` files from which the next start
        completes the exchange.
        """
        first = self._list.index(old[0])
        assert self._list[first : first + len(old)] == list(old), "not a run of this log"
        assert self.active not in old, "the active segment is not compacted"
        for segment in reversed(new):
            segment.rename_to(file_names.SWAP)
        paths = self._mark_deleted(old, keep_snapshots_of={s.base_offset for s in new})
        for segment in new:
            segment.rename_to("")
        self._list[first : first + len(old)] = new
        return paths

    def remove_snapshots(self, dir_path: str, is_doomed: Callable[[int], bool]) -> None:
        """Remove the producer snapshots of such offsets."""
        for name in self._disk.listdir(dir_path):
            offset = file_names.base_offset_of(name)
            if name.endswith(file_names.SNAPSHOT) and offset is not None and is_doomed(offset):
                self._disk.remove(f"{dir_path}/{name}")

    def _mark_deleted(
        self, segments: Sequence[Segment], keep_snapshots_of: Sequence[int] | set[int] = ()
    ) -> list[str]:
        paths = []
        for segment in segments:
            paths += segment.rename_to(file_names.DELETED)
            if segment.base_offset not in keep_snapshots_of:
                name = file_names.segment_name(segment.base_offset, file_names.SNAPSHOT)
                snapshot = f"{segment.dir_path}/{name}"
                if self._disk.exists(snapshot):
                    self._disk.rename(snapshot, snapshot + file_names.DELETED)
                    paths.append(snapshot + file_names.DELETED)
        return paths


def slice_of(
    file: File, position: int, first_bytes: int, end: int, max_bytes: int, at_least_one: bool
) -> LogSlice | None:
    """What of a file a reader gets: whole first batch or nothing, then as much as fits."""
    size = end - position
    if size <= 0:
        return None
    if size > max_bytes:
        if first_bytes <= max_bytes:
            size = max_bytes
        elif at_least_one:
            size = first_bytes
        else:
            return None
    return LogSlice(file, position, size)
