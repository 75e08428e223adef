"""The exchange of compacted segments that a crash interrupted: completed, or undone.

The exchange renames, in this order and without a sync in between,

    .cleaned → .swap      the files of the new segment, its log first
    old      → .deleted   the files of the segments that it replaces
    .swap    → no suffix  its log first

File systems keep renames within a folder in order, so a start finds one of four pictures:

    only .cleaned                     never in use: removed .swap, and .cleaned of the same   half
    renamed, the old ones are all there: both removed .swap with its log                the old
    ones in its range of offsets are removed, it is renamed .swap without its log             the
    log has its name already: the rest is renamed

Blocking; a start calls it in the pool before it looks at the segments of a folder.
"""

from __future__ import annotations

import contextlib
import logging

from odradek.interfaces import Disk
from odradek.storage import file_names
from odradek.storage.scan import walk_headers

logger = logging.getLogger(__name__)


def recover_swap_files(disk: Disk, dir_path: str) -> None:
    """Complete or undo the exchange of segments that a crash interrupted; blocks.

    Called before the segments of the folder are looked at. `.cleaned` files were never in use. When
    all files of a new segment had been renamed to `.swap`, it replaces the old ones in its range of
    offsets; when not, those old ones are all there and the new one goes. Then `.deleted` files go.
    """
    names = disk.listdir(dir_path)
    cleaned = [name for name in names if name.endswith(file_names.CLEANED)]
    swaps = sorted(name for name in names if name.endswith(file_names.SWAP))
    deleted = [name for name in names if name.endswith(file_names.DELETED)]
    half_renamed = {file_names.base_offset_of(name) for name in cleaned}
    undone = [name for name in swaps if file_names.base_offset_of(name) in half_renamed]
    for name in cleaned + undone:
        disk.remove(f"{dir_path}/{name}")
    for name in swaps:
        if name not in undone and name.endswith(file_names.LOG + file_names.SWAP):
            _remove_replaced(disk, dir_path, name)
    for name in swaps:
        path = f"{dir_path}/{name}"
        if name not in undone and disk.exists(path):
            disk.rename(path, path.removesuffix(file_names.SWAP))
    if cleaned or swaps:
        disk.fsync_dir(dir_path)
    for name in deleted:
        disk.remove(f"{dir_path}/{name}")


def _remove_replaced(disk: Disk, dir_path: str, swap_name: str) -> None:
    """Remove the old segments in the range of a new one."""
    path = f"{dir_path}/{swap_name}"
    base_offset = file_names.base_offset_of(swap_name)
    assert base_offset is not None
    end = walk_headers(disk.open(path), 0, disk.size(path), base_offset, lambda _, __: False)
    old_log = path.removesuffix(file_names.SWAP)
    if end.problem is not None and disk.exists(old_log):
        logger.error("%s has %s; the segments it would replace stay", path, end.problem)
        for kind in file_names.SEGMENT_SUFFIXES:
            name = file_names.segment_name(base_offset, kind) + file_names.SWAP
            with contextlib.suppress(FileNotFoundError):
                disk.remove(f"{dir_path}/{name}")
        return
    logger.info("%s: completing the compaction of [%d, %d)", dir_path, base_offset, end.next_offset)
    for name in disk.listdir(dir_path):
        offset = file_names.base_offset_of(name)
        is_replaced = offset is not None and base_offset <= offset < end.next_offset
        if is_replaced and name.endswith(file_names.SEGMENT_SUFFIXES):
            disk.remove(f"{dir_path}/{name}")
