"""Rows of the files beside a log: indexes, aborted transactions, producer snapshots, checkpoints.

An index is compared with its log when that lies next to it, as Kafka's tool does: an offset entry
must point at the batch that ends with its offset, a time entry must name the batch with its
timestamp. A broker that runs, or crashed, leaves zeros at the end of Kafka's own index files:
they are no entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from odradek.storage import checkpoints, file_names, txn_index
from odradek.storage.indexes import OFFSET_ENTRY, TIME_ENTRY
from odradek.storage.producer_state import ProducerState
from odradek.tools.offline.dump_segment import DumpOptions, batches, first_batch_at
from odradek.tools.offline.rows import Kind, Optional, Row, note, problem


def dump_offset_index(path: Path, options: DumpOptions) -> Iterator[Row]:
    """The rows of an `.index` file, and where it contradicts its log."""
    base_offset = file_names.base_offset_of(path.name) or 0
    found = _entries(path, OFFSET_ENTRY)
    if options.index_sanity_check:
        yield _sanity(path, OFFSET_ENTRY, found, [position for _, position in found])
        return
    if not found:
        yield note(f"{path} is empty.")
    mismatches: list[str] = []
    log = _log_beside(path)
    for relative_offset, position in found:
        offset = base_offset + relative_offset
        if not options.verify_index_only:
            yield Row(Kind.ENTRY, {"offset": offset, "position": position})
        header = first_batch_at(log, position) if log is not None else None
        if log is not None and header is None:
            mismatches.append(f"  Index offset: {offset}, no batch at position {position}")
        elif header is not None and header.last_offset != offset:
            mismatches.append(f"  Index offset: {offset}, log offset: {header.last_offset}")
    yield from _torn(path, OFFSET_ENTRY)
    if log is None:
        yield problem(f"{_log_path(path)} is not there: the entries were not compared")
    yield from _list(f"Mismatches in :{path}", mismatches)


def dump_time_index(path: Path, options: DumpOptions) -> Iterator[Row]:
    """The rows of a `.timeindex` file, and where it contradicts its log."""
    base_offset = file_names.base_offset_of(path.name) or 0
    found = _entries(path, TIME_ENTRY)
    if options.index_sanity_check:
        yield _sanity(path, TIME_ENTRY, found, [timestamp for timestamp, _ in found])
        return
    log = _log_beside(path)
    times = _largest_times(log) if log is not None else {}
    missing, wrong, unordered = [], [], []
    previous = -1
    for timestamp, relative_offset in found:
        offset = base_offset + relative_offset
        if not options.verify_index_only:
            yield Row(Kind.ENTRY, {"timestamp": timestamp, "offset": offset})
        if log is not None and offset not in times:
            missing.append(f"  Indexed offset: {offset}, no batch ends there")
        elif log is not None and times[offset] != timestamp:
            wrong.append(f"  Index timestamp: {timestamp}, log timestamp: {times[offset]}")
        if timestamp <= previous:
            unordered.append(
                f"  Index timestamp: {timestamp}, Previously indexed timestamp: {previous}"
            )
        previous = timestamp
    yield from _torn(path, TIME_ENTRY)
    if log is None:
        yield problem(f"{_log_path(path)} is not there: the entries were not compared")
    yield from _list(f"The following indexed offsets are not found in :{path}", missing)
    yield from _list(f"Found timestamp mismatch in :{path}", wrong)
    yield from _list(f"Found out of order timestamp in :{path}", unordered)


def dump_txn_index(path: Path, _: DumpOptions) -> Iterator[Row]:
    """The rows of a `.txnindex` file."""
    content = path.read_bytes()
    count = 0
    for entry in txn_index.decode(content):
        count += 1
        yield Row(
            Kind.ENTRY,
            {
                "version": 0,
                "producerId": entry.producer_id,
                "firstOffset": entry.first_offset,
                "lastOffset": entry.last_offset,
                "lastStableOffset": entry.last_stable_offset,
            },
        )
    rest = len(content) - count * txn_index.ENTRY_BYTES
    if rest:
        yield problem(f"Found {rest} invalid bytes at the end of {path.name}")


def dump_snapshot(path: Path, _: DumpOptions) -> Iterator[Row]:
    """The rows of a producer snapshot."""
    try:
        state = ProducerState.decode(path.read_bytes())
    except ValueError as error:
        yield problem(f"{path} is {error}")
        return
    for producer in state.entries():
        first_offset = producer.current_txn_first_offset
        fields = {
            "producerId": producer.producer_id,
            "producerEpoch": producer.producer_epoch,
            "coordinatorEpoch": producer.coordinator_epoch,
            "currentTxnFirstOffset": Optional(None if first_offset < 0 else first_offset),
            "lastTimestamp": producer.last_timestamp,
        }
        if producer.batches:
            batch = producer.batches[-1]
            fields |= {
                "firstSequence": batch.first_sequence,
                "lastSequence": batch.last_sequence,
                "lastOffset": batch.last_offset,
                "offsetDelta": batch.offset_delta,
                "timestamp": batch.timestamp,
            }
        yield Row(Kind.ENTRY, fields)


def dump_checkpoint(path: Path, _: DumpOptions) -> Iterator[Row]:
    """The rows of a checkpoint of leader epochs, or of offsets per partition."""
    names = (
        ("epoch", "startOffset")
        if path.name == file_names.LEADER_EPOCHS
        else ("topic", "partition", "offset")
    )
    try:
        for line in checkpoints.decode_lines(path.read_bytes()):
            yield Row(Kind.ENTRY, dict(zip(names, line.split(" "), strict=True)))
    except ValueError as error:
        yield problem(f"{path} cannot be read: {error}")


def _entries(path: Path, layout: struct.Struct) -> list[tuple[int, int]]:
    """The entries up to the first that is all zeros behind another, or behind the first place."""
    content = path.read_bytes()
    content = content[: len(content) - len(content) % layout.size]
    found: list[tuple[int, int]] = []
    for first, second in layout.iter_unpack(content):
        if first == second == 0 and (found or any_zeros_only(content)):
            break
        found.append((first, second))
    return found


def any_zeros_only(content: bytes) -> bool:
    """Whether a file was allocated and never written."""
    return not content.strip(b"\0")


def _torn(path: Path, layout: struct.Struct) -> Iterator[Row]:
    rest = path.stat().st_size % layout.size
    if rest:
        yield problem(f"Found {rest} invalid bytes at the end of {path.name}: half an entry")


def _sanity(
    path: Path, layout: struct.Struct, found: list[tuple[int, int]], rising: list[int]
) -> Row:
    """What a broker checks at its start: whole entries, and the last one not before the first."""
    if path.stat().st_size % layout.size:
        return problem(f"{path} failed the sanity check: its last entry is cut off")
    if not found:
        return note(f"{path} is empty.")
    if any(later < earlier for earlier, later in pairwise(rising)):
        return problem(f"{path} failed the sanity check: its entries do not rise")
    return note(f"{path} passed sanity check.")


def _list(title: str, lines: list[str]) -> Iterator[Row]:
    if lines:
        yield problem("\n".join((title, *lines)))


def _log_path(path: Path) -> Path:
    return path.with_suffix(file_names.LOG)


def _log_beside(path: Path) -> memoryview | None:
    log = _log_path(path)
    return memoryview(log.read_bytes()) if log.exists() else None


def _largest_times(log: memoryview) -> dict[int, int]:
    """Last offset → largest timestamp of each batch."""
    times: dict[int, int] = {}
    for found in batches(log):
        if isinstance(found, str):
            break
        times[found.header.last_offset] = found.header.max_timestamp
    return times
