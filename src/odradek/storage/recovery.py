"""From a partition's folder to a log: what a start finds, and what it does about it.

After a clean stop the segments' names and sizes are enough, and a glance at the last one: from its last
index entry on, the headers must lead exactly to the end of the file and to the checkpointed offset.

After a crash (or when the glance shows something else) the segments from the recovery point on are read
as a whole: every batch's CRC, length, order. At the first thing that is not a good batch the log ends:
the segment is cut there and later ones go. Indexes, aborted transactions, producer state and leader
epochs are rebuilt on the way. Below the recovery point everything was synced before the checkpoint said
so, and is not read.

First of all, unfinished business of an earlier run: `.deleted` and `.cleaned` files go; `.swap` files
are a finished compaction whose exchange was interrupted, and it is completed (as Kafka does).

Blocking, in a pool thread at start-up, one partition at a time; nothing else sees the log yet. What was
done is logged and returned.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from odradek.interfaces import Disk
from odradek.records.batch import BatchHeader
from odradek.storage import file_names
from odradek.storage.compaction_swap import recover_swap_files
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.producer_state import ProducerState
from odradek.storage.replay import (
    load_newest_snapshot,
    load_producer_state,
    replay,
    replay_batch,
)
from odradek.storage.scan import ScanEnd, walk_batches, walk_headers
from odradek.storage.segment import Segment
from odradek.types import TopicPartition

logger = logging.getLogger(__name__)


class LoadRequest(NamedTuple):
    """What is known of a partition before its folder is opened."""

    topic_partition: TopicPartition
    path: str
    was_clean: bool
    recovery_point: int | None  # None: the checkpoint does not name it
    log_start_offset: int
    index_interval_bytes: int
    now_ms: int


class LoadedLog(NamedTuple):
    """What a log is made from: found on the disk, or new."""

    segments: list[Segment]
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    producers: ProducerState | None
    snapshot_offset: int
    epochs: LeaderEpochs


class Load(NamedTuple):
    """The log, and how it was found."""

    log: LoadedLog
    was_recovered: bool
    truncated_bytes: int


def load(disk: Disk, request: LoadRequest) -> Load:
    """Open one partition's folder."""
    names = _finish_business(disk, request.path)
    segments = _find_segments(disk, request, names)
    epochs = _load_epochs(disk, request.path, names)
    if request.was_clean:
        _mend_indexes(segments, names)
        log = _try_clean(disk, request, segments, epochs)
        if log is not None:
            return Load(log, False, 0)
    recovered = _recover(disk, request, segments, epochs)
    _mend_indexes(recovered.log.segments, set(disk.listdir(request.path)))
    return recovered


def new_log(disk: Disk, path: str, index_interval_bytes: int, now_ms: int) -> LoadedLog:
    """An empty log in a new folder."""
    segment = Segment.create(
        disk, path, 0, index_interval_bytes=index_interval_bytes, now_ms=now_ms
    )
    return LoadedLog([segment], 0, 0, 0, None, 0, LeaderEpochs())


# Unfinished business.


def _finish_business(disk: Disk, path: str) -> set[str]:
    """Remove leftovers, complete an interrupted exchange; gives the names that are there now."""
    names = set(disk.listdir(path))
    if not any(name.endswith(_LEFTOVER_SUFFIXES) for name in names):
        return names
    for name in names:
        if name.endswith(_TEMPORARY):
            disk.remove(f"{path}/{name}")
    recover_swap_files(disk, path)
    return set(disk.listdir(path))


_TEMPORARY = ".tmp"
_LEFTOVER_SUFFIXES = (file_names.DELETED, file_names.CLEANED, file_names.SWAP, _TEMPORARY)


def _path(path: str, base_offset: int, suffix: str) -> str:
    return f"{path}/{file_names.segment_name(base_offset, suffix)}"


# Opening.


def _find_segments(disk: Disk, request: LoadRequest, names: set[str]) -> list[Segment]:
    bases = sorted(
        base
        for name in names
        if name.endswith(file_names.LOG) and (base := file_names.base_offset_of(name)) is not None
    )
    segments = [
        Segment(
            disk,
            request.path,
            base,
            size_bytes=disk.size(_path(request.path, base, file_names.LOG)),
            index_interval_bytes=request.index_interval_bytes,
            has_aborted=file_names.segment_name(base, file_names.TXN_INDEX) in names,
        )
        for base in bases
    ]
    _remove_orphans(disk, request.path, names, set(bases))
    if not segments:
        segments.append(_new_segment(disk, request, request.log_start_offset))
    return segments


def _mend_indexes(segments: Sequence[Segment], names: set[str]) -> None:
    for segment in segments:
        for suffix in (file_names.OFFSET_INDEX, file_names.TIME_INDEX):
            name = file_names.segment_name(segment.base_offset, suffix)
            if segment.size_bytes and name not in names:
                segment.rebuild_indexes(f"{name} is missing")
                break


def _remove_orphans(disk: Disk, path: str, names: set[str], bases: set[int]) -> None:
    for name in names:
        base = file_names.base_offset_of(name)
        is_index = name.endswith(file_names.SEGMENT_SUFFIXES[1:])
        if base is not None and is_index and base not in bases:
            logger.warning("removing %s/%s: there is no log to it", path, name)
            disk.remove(f"{path}/{name}")


def _new_segment(disk: Disk, request: LoadRequest, base_offset: int) -> Segment:
    return Segment.create(
        disk,
        request.path,
        base_offset,
        index_interval_bytes=request.index_interval_bytes,
        now_ms=request.now_ms,
    )


def _load_epochs(disk: Disk, path: str, names: set[str]) -> LeaderEpochs:
    if file_names.LEADER_EPOCHS not in names:
        return LeaderEpochs()
    try:
        return LeaderEpochs.decode(disk.read_bytes(f"{path}/{file_names.LEADER_EPOCHS}"))
    except ValueError as error:
        logger.warning("%s/%s is broken (%s)", path, file_names.LEADER_EPOCHS, error)
        epochs = LeaderEpochs()
        epochs.dirty = True
        return epochs


# After a clean stop.


def _try_clean(
    disk: Disk, request: LoadRequest, segments: list[Segment], epochs: LeaderEpochs
) -> LoadedLog | None:
    """The log as it was left; None when the last segment does not look like it."""
    end = _glance(segments[-1])
    if end.problem is not None or end.position != segments[-1].size_bytes:
        logger.warning("%s ends in %s in spite of a clean stop", segments[-1], end.problem)
        return None
    if request.recovery_point is not None and request.recovery_point != end.next_offset:
        logger.warning(
            "%s ends at offset %d, the checkpoint says %d",
            segments[-1],
            end.next_offset,
            request.recovery_point,
        )
        return None
    if epochs.dirty:
        return None  # the batches know them
    start = max(request.log_start_offset, segments[0].base_offset)
    producers, snapshot_offset = load_producer_state(
        disk, request.path, segments, start, end.next_offset
    )
    for segment in segments:
        segment.release()
    return LoadedLog(
        segments,
        min(start, end.next_offset),
        end.next_offset,
        end.next_offset,
        producers,
        snapshot_offset,
        epochs,
    )


def _glance(segment: Segment) -> ScanEnd:
    """Walk the headers from the last index entry to the end of the segment."""
    if not segment.size_bytes:
        return ScanEnd(0, segment.base_offset, None)
    _, position = segment.offset_index.lookup(segment.base_offset + 2**31 - 1)
    end = walk_headers(
        segment.log, position, segment.size_bytes, segment.base_offset, lambda *_: False
    )
    if end.problem is not None and position:
        # Perhaps it is only the index that misleads.
        end = walk_headers(
            segment.log, 0, segment.size_bytes, segment.base_offset, lambda *_: False
        )
        if end.problem is None:
            segment.rebuild_indexes("its last entry does not point at a batch")
    return end


# After a crash.


def _recover(
    disk: Disk, request: LoadRequest, segments: list[Segment], epochs: LeaderEpochs
) -> Load:
    recovery_point = request.recovery_point or 0
    if epochs.dirty:
        recovery_point = 0  # the epochs have to be read from the batches, all of them
    first = _floor(segments, recovery_point)
    start = max(request.log_start_offset, segments[0].base_offset)
    producers, snapshot_offset = _producers_before(
        disk, request.path, segments, start, segments[first].base_offset
    )
    # What the file says from here on may be of a log that was cut since; the batches know better.
    epochs.truncate_from_end(segments[first].base_offset)
    truncated_bytes = 0
    next_offset = segments[first].base_offset
    for i in range(first, len(segments)):
        segment, size_bytes = segments[i], segments[i].size_bytes
        if segment.base_offset != next_offset:
            # Every segment begins where the one before it ends, compacted ones too. A file system
            # may keep a new file and lose the end of an older one: what came later goes as well.
            problem = f"segment {segment.base_offset} follows offset {next_offset - 1}"
            truncated_bytes += _drop(disk, request, segments, i, problem)
            break
        end = _recover_segment(segment, producers, epochs)
        next_offset = end.next_offset
        if end.problem is not None:
            truncated_bytes = size_bytes - end.position
            problem = f"byte {end.position} of segment {segment.base_offset} begins {end.problem}"
            truncated_bytes += _drop(disk, request, segments, i + 1, problem)
            break
    if request.log_start_offset > next_offset:
        # Everything that was left lies below the log's start.
        segments, next_offset = _restart_at(disk, request, segments), request.log_start_offset
    start = max(request.log_start_offset, segments[0].base_offset)
    epochs.truncate_from_end(next_offset)
    epochs.truncate_from_start(start)
    _remove_later_snapshots(disk, request.path, next_offset)
    for segment in segments:
        segment.release()
    log = LoadedLog(
        segments,
        start,
        next_offset,
        min(request.recovery_point or 0, next_offset),
        producers if len(producers) else None,
        snapshot_offset,
        epochs,
    )
    return Load(log, True, truncated_bytes)


def _floor(segments: Sequence[Segment], offset: int) -> int:
    return max((i for i, s in enumerate(segments) if s.base_offset <= offset), default=0)


def _producers_before(
    disk: Disk, path: str, segments: Sequence[Segment], start: int, end: int
) -> tuple[ProducerState, int]:
    """The producers' state where the check begins."""
    loaded = load_newest_snapshot(disk, path, end)
    producers, snapshot_offset = loaded if loaded is not None else (ProducerState(), start)
    replay(producers, segments, max(snapshot_offset, start), end)
    return producers, snapshot_offset


def _recover_segment(segment: Segment, producers: ProducerState, epochs: LeaderEpochs) -> ScanEnd:
    """Check every batch of a segment and rebuild all that is derived from it."""
    segment.remove_aborted()
    segment.begin_rebuild()

    def visit(position: int, header: BatchHeader, batch: memoryview) -> None:
        segment.note_header(position, header)
        if header.partition_leader_epoch > epochs.latest:
            epochs.assign(header.partition_leader_epoch, header.base_offset)
        replay_batch(producers, header, lambda: batch, segment.append_aborted)

    end = walk_batches(segment.log, 0, segment.size_bytes, segment.base_offset, visit)
    if end.problem is not None:
        segment.log.truncate(end.position)
    segment.end_rebuild(end.position)
    return end


def _drop(
    disk: Disk, request: LoadRequest, segments: list[Segment], first: int, problem: str
) -> int:
    """The log ends before segment `first`: say so, and remove the rest; gives the bytes removed."""
    later = segments[first:]
    size_bytes = sum(segment.size_bytes for segment in later)
    logger.warning(
        "%s: %s; the log is cut there, and %d later segments with %d bytes are removed",
        request.topic_partition,
        problem,
        len(later),
        size_bytes,
    )
    for segment in later:
        for path in segment.rename_to(file_names.DELETED):
            disk.remove(path)
    del segments[first:]
    return size_bytes


def _restart_at(disk: Disk, request: LoadRequest, segments: Sequence[Segment]) -> list[Segment]:
    for segment in segments:
        for path in segment.rename_to(file_names.DELETED):
            disk.remove(path)
    return [_new_segment(disk, request, request.log_start_offset)]


def _remove_later_snapshots(disk: Disk, path: str, end_offset: int) -> None:
    for name in disk.listdir(path):
        offset = file_names.base_offset_of(name)
        if name.endswith(file_names.SNAPSHOT) and offset is not None and offset > end_offset:
            disk.remove(f"{path}/{name}")
