"""Producer state from what is on the disk: the newest good snapshot, then the batches after it.

Batches are applied without checks: the leader made them before they were written. Markers are the only
batches that are read whole. A snapshot that is broken is removed and the one before it is taken; with
none left the replay begins at the log's start.

Blocking; runs in a pool thread at start-up, or on the loop's thread when a follower is cut back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from odradek.errors import ApiError
from odradek.interfaces import Disk
from odradek.records.batch import BatchHeader
from odradek.records.control import EndMarker, parse_end_marker
from odradek.storage import file_names
from odradek.storage.producer_state import ProducerState
from odradek.storage.scan import walk_headers
from odradek.storage.segment import Segment
from odradek.storage.txn_index import AbortedTransaction

logger = logging.getLogger(__name__)

AppendAborted = Callable[[AbortedTransaction], None]


def note_marker(
    producers: ProducerState,
    header: BatchHeader,
    marker: EndMarker,
    offset: int,
    append_aborted: AppendAborted | None,
) -> None:
    """A marker now lies at `offset`: end its transaction, and note it if it was aborted."""
    completed = producers.apply_marker(header, marker, offset)
    if completed is None:
        return
    if completed.is_aborted and append_aborted is not None:
        append_aborted(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                producers.last_stable_offset_after(completed),
            )
        )
    producers.complete(completed)


def replay_batch(
    producers: ProducerState,
    header: BatchHeader,
    read_batch: Callable[[], bytes | memoryview],
    append_aborted: AppendAborted | None,
) -> None:
    """Apply one batch of the log."""
    if header.producer_id < 0:
        return
    if not header.is_control:
        producers.apply(header, header.base_offset)
        return
    try:
        marker = parse_end_marker(read_batch())
    except ApiError as error:
        # Its CRC is right, so somebody wrote it so; no transaction can depend on it.
        logger.warning("a marker at offset %d cannot be read: %s", header.base_offset, error)
        return
    if marker is not None:
        note_marker(producers, header, marker, header.base_offset, append_aborted)


def load_newest_snapshot(disk: Disk, path: str, upto: int) -> tuple[ProducerState, int] | None:
    """The newest good snapshot at or below `upto` and its offset; broken ones are removed."""
    offsets = sorted(
        (
            offset
            for name in disk.listdir(path)
            if name.endswith(file_names.SNAPSHOT)
            and (offset := file_names.base_offset_of(name)) is not None
            and offset <= upto
        ),
        reverse=True,
    )
    for offset in offsets:
        snapshot = f"{path}/{file_names.segment_name(offset, file_names.SNAPSHOT)}"
        try:
            return ProducerState.decode(disk.read_bytes(snapshot)), offset
        except ValueError as error:
            logger.warning("%s is broken (%s); taking the one before it", snapshot, error)
            disk.remove(snapshot)
    return None


def load_producer_state(
    disk: Disk, path: str, segments: Sequence[Segment], start: int, end: int
) -> tuple[ProducerState | None, int]:
    """The state of the producers before `end`, and the offset of the snapshot it came from.

    None instead of an empty state: most partitions have no producers worth an object.
    """
    loaded = load_newest_snapshot(disk, path, end)
    producers, snapshot_offset = loaded if loaded is not None else (ProducerState(), start)
    replay(producers, segments, max(snapshot_offset, start), end)
    return (producers if len(producers) else None), snapshot_offset


def replay(producers: ProducerState, segments: Sequence[Segment], start: int, end: int) -> None:
    """Apply the batches with offsets in [start, end)."""
    for i, segment in enumerate(segments):
        next_base = segments[i + 1].base_offset if i + 1 < len(segments) else end
        if start < next_base and segment.base_offset < end:
            _replay_segment(producers, segment, start, end)


def _replay_segment(producers: ProducerState, segment: Segment, start: int, end: int) -> None:
    span = segment.locate(max(start, segment.base_offset))
    if span is None:
        return
    file = segment.log

    def visit(position: int, header: BatchHeader) -> bool:
        if header.base_offset >= end:
            return True
        replay_batch(producers, header, lambda: file.pread(header.size_bytes, position), None)
        return False

    walk_headers(file, span.position, segment.size_bytes, span.base_offset, visit)
