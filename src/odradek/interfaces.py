"""What pure code may ask of the world.

The real implementations live in ``odradek.runtime``, the simulated ones in ``odradek.testing``. Code
below the shells takes these as arguments and never asks the system itself, so that a test can move
the clock, fail the disk, and run background work at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

Buffer = bytes | bytearray | memoryview

T = TypeVar("T")


class Clock(Protocol):
    """Two clocks: one that people read, one that only ever goes forward."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since 1970, as Kafka's timestamps."""
        ...

    def monotonic_ms(self) -> float:
        """Milliseconds that never go back, for measuring and for deadlines."""
        ...


class TimerHandle(Protocol):
    """A pending call."""

    def cancel(self) -> None:
        """Forget the call; harmless when it has already run."""
        ...


class Timers(Protocol):
    """Calls later, on the loop's thread."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        """Run `callback` on the loop's thread once `delay_ms` have passed."""
        ...


class Background(Protocol):
    """Work that may block, done off the loop's thread.

    `work` runs in a pool thread and must not touch state that the loop's thread owns. `done` runs on
    the loop's thread with the result, or with the exception in its place.
    """

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Run `work` in the pool, then `done` with what came of it."""
        ...


class File(Protocol):
    """One open file that only grows at its end or is cut off.

    The descriptor is closed when the last reference dies, so that a reader who holds a `File` may go
    on after the file was deleted. All methods raise OSError; all may be called from any thread, but
    only one thread at a time appends.
    """

    def append(self, data: Buffer) -> None:
        """Write all of `data` at the end; after an OSError any part of it may be there."""
        ...

    def pread(self, size: int, position: int) -> bytes:
        """Read up to `size` bytes at `position`; fewer only at the end of the file."""
        ...

    def size(self) -> int:
        """The length in bytes."""
        ...

    def truncate(self, size: int) -> None:
        """Cut the file off at `size` bytes."""
        ...

    def fsync(self) -> None:
        """Return once the content would survive a loss of power."""
        ...

    def fileno(self) -> int:
        """The descriptor, for sendfile."""
        ...

    def close(self) -> None:
        """Close the descriptor now; nothing may be called afterwards."""
        ...


class Disk(Protocol):
    """Files and folders. Paths are strings; every method may raise OSError."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and appending; FileNotFoundError unless it is there or `create`."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or a folder has this name."""
        ...

    def size(self, path: str) -> int:
        """The length of a file in bytes."""
        ...

    def modified_ms(self, path: str) -> int:
        """When the file was last written, as wall-clock milliseconds."""
        ...

    def listdir(self, path: str) -> list[str]:
        """The names in a folder, in no order."""
        ...

    def subdirs(self, path: str) -> list[str]:
        """The names of the folders in a folder, in no order."""
        ...

    def mkdir(self, path: str) -> None:
        """Make one folder, and those above it; FileExistsError when it is there."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename within one file system; replaces `new`."""
        ...

    def remove(self, path: str) -> None:
        """Remove one file; FileNotFoundError when it is not there."""
        ...

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all that is in it; harmless when it is not there."""
        ...

    def fsync_dir(self, path: str) -> None:
        """Return once the names in this folder would survive a loss of power."""
        ...

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a small file."""
        ...

    def write_atomically(self, path: str, content: bytes) -> None:
        """Replace the content so that a crash leaves the old or the new one; durable on return."""
        ...

    def capacity(self, path: str) -> tuple[int, int]:
        """(total, usable) bytes of the file system that holds this folder."""
        ...

    def lock(self, path: str) -> Callable[[], None] | None:
        """Take the lock file for this process; gives its release, or None when another has it."""
        ...
