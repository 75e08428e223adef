"""Pushing stored records out of the page cache, and checking that they are out."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PROBES: Final = 200


def evict(paths: Sequence[Path]) -> float:
    """Write back and drop the pages of files; gives the share that is still resident."""
    os.sync()
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    return resident_share(paths)


def resident_share(paths: Sequence[Path]) -> float:
    """The share of random positions that can be read without touching the disk."""
    rng = random.Random(1)
    hits = 0
    for _ in range(_PROBES):
        path = rng.choice(paths)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = max(1, os.fstat(descriptor).st_size)
            hits += _is_resident(descriptor, rng.randrange(size))
        finally:
            os.close(descriptor)
    return hits / _PROBES


def _is_resident(descriptor: int, position: int) -> bool:
    try:
        os.preadv(descriptor, [bytearray(1)], position, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    return True
