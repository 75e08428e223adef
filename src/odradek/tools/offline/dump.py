"""Which reader a file of a log dir needs, by its name; unknown names are said and passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from odradek.storage import file_names
from odradek.tools.offline.dump_index import (
    dump_checkpoint,
    dump_offset_index,
    dump_snapshot,
    dump_time_index,
    dump_txn_index,
)
from odradek.tools.offline.dump_segment import DumpOptions, dump_log_file
from odradek.tools.offline.rows import Kind, Row, note, problem

Reader = Callable[[Path, DumpOptions], Iterator[Row]]

_BY_SUFFIX: Final[dict[str, Reader]] = {
    file_names.LOG: dump_log_file,
    file_names.OFFSET_INDEX: dump_offset_index,
    file_names.TIME_INDEX: dump_time_index,
    file_names.TXN_INDEX: dump_txn_index,
    file_names.SNAPSHOT: dump_snapshot,
}
_CHECKPOINTS: Final = {
    file_names.LEADER_EPOCHS,
    file_names.RECOVERY_POINTS,
    file_names.HIGH_WATERMARKS,
    file_names.LOG_START_OFFSETS,
    file_names.CLEANER_OFFSETS,
}
# While a segment is exchanged or removed, this follows the suffix that says what the file is.
_PASSING: Final = (file_names.CLEANED, file_names.SWAP, file_names.DELETED)


def dump_file(path: Path, options: DumpOptions) -> Iterator[Row]:
    """The rows of one file of a log dir."""
    yield Row(Kind.FILE, {})
    reader = _reader_of(path.name)
    if reader is None:
        yield note(f"Ignoring unknown file {path}")
        return
    try:
        yield from reader(path, options)
    except OSError as error:
        yield problem(f"{path} cannot be read: {error.strerror or error}")


def _reader_of(name: str) -> Reader | None:
    if name in _CHECKPOINTS:
        return dump_checkpoint
    for suffix in _PASSING:
        name = name.removesuffix(suffix)
    if file_names.base_offset_of(name) is None:
        return None
    return _BY_SUFFIX.get(name[20:])
