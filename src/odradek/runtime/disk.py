"""The real disk: files as raw descriptors, one Python call around each system call.

`RealFile` closes its descriptor when the last reference to it dies. That is the whole life-time
story of segment files: a fetch in flight holds the `File`, so a segment may be deleted under it.

`write_atomically` writes `<path>.tmp`, syncs it, renames it and syncs the folder: a reader after a
crash finds the old content or the new one, never a mixture.

A lock file is held with an open-file-description lock. Unlike the older record locks it keeps out a
second broker of this very process, and it conflicts with the record lock that Apache Kafka takes on
the same file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import struct
from collections.abc import Callable

from odradek.interfaces import Buffer


class RealFile:
    """An open file of the operating system."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def append(self, data: Buffer) -> None:
        """Write all of `data` at the end (the descriptor is in append mode)."""
        written = os.write(self._fd, data)
        if written != len(data):
            rest = memoryview(data)[written:]
            while rest:
                rest = rest[os.write(self._fd, rest) :]

    def pread(self, size: int, position: int) -> bytes:
        """Read up to `size` bytes at `position`; fewer only at the end of the file."""
        data = os.pread(self._fd, size, position)
        if len(data) == size or not data:
            return data
        pieces = [data]
        got = len(data)
        while got < size:
            data = os.pread(self._fd, size - got, position + got)
            if not data:
                break
            pieces.append(data)
            got += len(data)
        return b"".join(pieces)

    def size(self) -> int:
        """The length in bytes."""
        return os.fstat(self._fd).st_size

    def truncate(self, size: int) -> None:
        """Cut the file off at `size` bytes."""
        os.ftruncate(self._fd, size)

    def fsync(self) -> None:
        """Return once the content is on the device."""
        os.fsync(self._fd)

    def fileno(self) -> int:
        """The descriptor."""
        return self._fd

    def close(self) -> None:
        """Close the descriptor now."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class RealDisk:
    """The file systems of this machine."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False) -> RealFile:
        """Open for reading and appending."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        return RealFile(os.open(path, flags | os.O_CREAT if create else flags, 0o644))

    def exists(self, path: str) -> bool:
        """Whether a file or a folder has this name."""
        return os.path.exists(path)

    def size(self, path: str) -> int:
        """The length of a file in bytes."""
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        """When the file was last written."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def listdir(self, path: str) -> list[str]:
        """The names in a folder."""
        return os.listdir(path)

    def subdirs(self, path: str) -> list[str]:
        """The names of the folders in a folder."""
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def mkdir(self, path: str) -> None:
        """Make one folder, and those above it."""
        os.makedirs(path)

    def rename(self, old: str, new: str) -> None:
        """Rename, replacing `new`."""
        os.replace(old, new)

    def remove(self, path: str) -> None:
        """Remove one file."""
        os.remove(path)

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all that is in it."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def fsync_dir(self, path: str) -> None:
        """Sync the names in this folder."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a small file."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            return os.read(fd, size) if size else b""
        finally:
            os.close(fd)

    def write_atomically(self, path: str, content: bytes) -> None:
        """Replace the content: temporary file, sync, rename, sync of the folder."""
        temporary = path + ".tmp"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)
        self.fsync_dir(os.path.dirname(path))

    def capacity(self, path: str) -> tuple[int, int]:
        """(total, usable) bytes of the file system."""
        facts = os.statvfs(path)
        return facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize

    def lock(self, path: str) -> Callable[[], None] | None:
        """Take the lock file for this process."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock_whole_file(fd)
        except (BlockingIOError, PermissionError):  # POSIX lets a system answer either
            os.close(fd)
            return None
        except OSError:
            os.close(fd)
            raise
        file = RealFile(fd)
        return file.close


def _lock_whole_file(fd: int) -> None:
    if hasattr(fcntl, "F_OFD_SETLK"):
        # struct flock of 64-bit Linux: type, whence, start, length (0: to the end), pid (must be 0)
        whole_file = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, whole_file)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
