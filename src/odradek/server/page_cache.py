"""Which bytes of a file are in memory, so that a cold read never stalls the loop.

`preadv` with RWF_NOWAIT answers at once: the bytes, or EAGAIN when a disk would have to be asked. What is
not in memory is read ahead in the pool (`warm`), and sent afterwards.
"""

from __future__ import annotations

import errno
import os
from typing import Final

# How far apart the probes are. The kernel reads ahead in windows of this size: a hole between two probes
# stalls the loop for one disk read. Four times as many probes seemed dearer; not measured on its own.
PROBE_STEP_BYTES: Final = 128 * 1024
# Read ahead beyond what was asked for: the next fetch of a sequential reader finds it in memory.
READ_AHEAD_BYTES: Final = 4 * 1024 * 1024
_READ_BYTES: Final = 1024 * 1024
# "Would block"; and file systems that do not know the flag, whose reads we take as warm.
_COLD: Final = errno.EAGAIN


def is_warm(fd: int, position: int, size: int) -> bool:
    """Whether the range can be read without waiting for a disk, by probes."""
    probe = bytearray(1)
    end = position + size
    try:
        for at in range(position, end, PROBE_STEP_BYTES):
            os.preadv(fd, (probe,), at, os.RWF_NOWAIT)
        os.preadv(fd, (probe,), end - 1, os.RWF_NOWAIT)
    except OSError as error:
        return error.errno != _COLD
    return True


def read_warm(fd: int, position: int, size: int) -> bytes | None:
    """The bytes of the range when all of them are in memory, else None."""
    buffer = bytearray(size)
    try:
        got = os.preadv(fd, (buffer,), position, os.RWF_NOWAIT)
    except OSError as error:
        if error.errno == _COLD:
            return None
        return os.pread(fd, size, position)
    return bytes(buffer) if got == size else None


def warm(fd: int, position: int, size: int) -> None:
    """Bring the range into memory, and ask the kernel for what follows; blocks."""
    os.posix_fadvise(fd, position + size, READ_AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
    end = position + size
    while position < end:
        got = len(os.pread(fd, min(_READ_BYTES, end - position), position))
        if got == 0:
            return
        position += got
