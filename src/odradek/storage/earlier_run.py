"""What the run before left in the log dirs, as far as it matters before they are opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.interfaces import Disk
from odradek.storage import file_names
from odradek.storage.checkpoints import decode_meta
from odradek.storage.log_dir import LogDirRefused


class EarlierRun(NamedTuple):
    """`cluster_id`: None for new log dirs. `was_clean`: all of them were closed in order."""

    cluster_id: str | None
    was_clean: bool


def peek(disk: Disk, folders: Sequence[Path]) -> EarlierRun:
    """Look, and change nothing; what is unreadable is refused later, on opening.

    LogDirRefused when a folder is in use: before anything is put into it.
    """
    cluster_id: str | None = None
    was_clean = True
    for folder in folders:
        try:
            _refuse_if_used(disk, folder)
            content = disk.read_bytes(str(folder / file_names.META_PROPERTIES))
            cluster_id = cluster_id or decode_meta(content).cluster_id
            was_clean &= disk.exists(str(folder / file_names.CLEAN_SHUTDOWN))
        except (OSError, ValueError):
            was_clean = False
    return EarlierRun(cluster_id, was_clean)


def _refuse_if_used(disk: Disk, folder: Path) -> None:
    lock = str(folder / file_names.LOCK)
    if disk.exists(lock):
        release = disk.lock(lock)
        if release is None:
            raise LogDirRefused.in_use(str(folder))
        release()
