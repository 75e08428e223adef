"""A disk in memory that forgets, tears and fills up, so that tests can pull the plug at any point.

What survives `crash`:

- of a file, what was synced, and of what was appended since a random part from its beginning, whose last
  bytes may have turned to zeros (a torn page);
- of names (created, renamed, removed), what `fsync_dir` has made durable, and of the changes since a
  random first part: journalling file systems keep metadata changes in order. A truncation is such a
  change and counts as durable at once.

`fail` makes the next matching operations raise OSError; `free_bytes` makes the disk full: an append
then writes what fits and raises ENOSPC, as real ones do. Every object belongs to one `SimDisk`; a
crash closes all files (their use raises EBADF).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from odradek.interfaces import Buffer


class _Inode:
    __slots__ = ("data", "modified_ms", "synced")

    def __init__(self) -> None:
        self.data = bytearray()
        self.synced = b""
        self.modified_ms = 0


class _Change(NamedTuple):
    """A change of names: `path` now means `inode`, or nothing."""

    path: str
    inode: _Inode | None


class _Fault(NamedTuple):
    operation: str
    path_part: str
    number: int


class SimFile:
    """`interfaces.File` on a `SimDisk`."""

    __slots__ = ("_disk", "_generation", "_inode", "_path")

    def __init__(self, disk: SimDisk, path: str, inode: _Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode
        self._generation = disk.generation

    def append(self, data: Buffer) -> None:
        """Append, as far as there is room."""
        self._check("append")
        data = bytes(data)
        room = self._disk.take_room(len(data))
        self._inode.data += data[:room]
        if room < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)

    def pread(self, size: int, position: int) -> bytes:
        """Read."""
        self._check("pread")
        return bytes(self._inode.data[position : position + size])

    def size(self) -> int:
        """The length in bytes."""
        self._check("size")
        return len(self._inode.data)

    def truncate(self, size: int) -> None:
        """Cut off."""
        self._check("truncate")
        del self._inode.data[size:]
        self._inode.synced = self._inode.synced[:size]

    def fsync(self) -> None:
        """What is there now survives a crash."""
        self._check("fsync")
        self._inode.synced = bytes(self._inode.data)

    def fileno(self) -> int:
        """There is none."""
        raise OSError(errno.EBADF, "a simulated file has no descriptor", self._path)

    def close(self) -> None:
        """Any use from now on fails."""
        self._generation = -1

    def _check(self, operation: str) -> None:
        if self._generation != self._disk.generation:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self._path)
        self._disk.maybe_fail(operation, self._path)


class SimDisk:
    """`interfaces.Disk` in memory."""

    def __init__(self, rng: Random | None = None) -> None:
        self._rng = rng or Random(0)
        self._files: dict[str, _Inode] = {}
        self._durable: dict[str, _Inode] = {}
        self._changes: list[_Change] = []
        self._dirs = dict.fromkeys(("", "/"))  # in order, so that a seed replays
        self._locks: set[str] = set()
        self._faults: list[_Fault] = []
        self.generation = 0
        self.free_bytes: int | None = None

    # What tests do to it.

    def crash(self) -> None:
        """Lose the power: everything that was not synced is lost, in part or as a whole."""
        rng = self._rng
        names = dict(self._durable)
        for change in self._changes[: rng.randint(0, len(self._changes))]:
            _apply(names, change)
        for inode in dict.fromkeys(names.values()):
            inode.data = bytearray(self._survivor(inode))
            inode.synced = bytes(inode.data)
        self._files = names
        self._durable = dict(names)
        self._changes.clear()
        self._locks.clear()
        self._faults.clear()
        self.free_bytes = None
        self.generation += 1

    def _survivor(self, inode: _Inode) -> bytes:
        synced, data, rng = inode.synced, bytes(inode.data), self._rng
        assert data.startswith(synced), "files only grow, and cuts are durable at once"
        kept = rng.choice((len(synced), len(data), rng.randint(len(synced), len(data))))
        torn = rng.randint(0, kept - len(synced)) if rng.random() < 0.3 else 0
        return data[: kept - torn] + bytes(torn)

    def stop(self) -> None:
        """End the process without losing the power: files stay as they are, locks go."""
        self._locks.clear()
        self._faults.clear()
        self.generation += 1

    def fail(self, operation: str, number: int = errno.EIO, path_part: str = "") -> None:
        """Let `operation` (a method's name) raise OSError(number) from now on, for such paths."""
        self._faults.append(_Fault(operation, path_part, number))

    def heal(self) -> None:
        """No more failures."""
        self._faults.clear()
        self.free_bytes = None

    def corrupt(self, path: str, position: int, bits: int = 1) -> None:
        """Flip bits of a byte, durably."""
        inode = self._inode(path)
        inode.data[position] ^= bits
        inode.synced = bytes(inode.data)

    # For the files.

    def take_room(self, size: int) -> int:
        """How much of an append fits."""
        if self.free_bytes is None:
            return size
        taken = min(size, self.free_bytes)
        self.free_bytes -= taken
        return taken

    def maybe_fail(self, operation: str, path: str) -> None:
        """Raise what a test has asked for."""
        for fault in self._faults:
            if fault.operation == operation and fault.path_part in path:
                raise OSError(fault.number, os.strerror(fault.number), path)

    # The interface.

    def open(self, path: str, *, create: bool = False) -> SimFile:
        """Open for reading and appending."""
        self.maybe_fail("open", path)
        inode = self._files.get(path)
        if inode is None:
            if not create:
                raise _not_found(path)
            self._require_dir(os.path.dirname(path))
            inode = _Inode()
            self._change(_Change(path, inode))
        return SimFile(self, path, inode)

    def exists(self, path: str) -> bool:
        """Whether a file or a folder has this name."""
        return path in self._files or path in self._dirs

    def size(self, path: str) -> int:
        """The length of a file in bytes."""
        return len(self._inode(path).data)

    def modified_ms(self, path: str) -> int:
        """Always the beginning of time: there is no clock here."""
        return self._inode(path).modified_ms

    def listdir(self, path: str) -> list[str]:
        """The names in a folder, in an order that changes."""
        self._require_dir(path)
        prefix = path + "/"
        names = [
            name[len(prefix) :]
            for name in (*self._files, *self._dirs)
            if name.startswith(prefix) and "/" not in name[len(prefix) :]
        ]
        self._rng.shuffle(names)
        return names

    def subdirs(self, path: str) -> list[str]:
        """The names of the folders in a folder."""
        return [name for name in self.listdir(path) if f"{path}/{name}" in self._dirs]

    def mkdir(self, path: str) -> None:
        """Make a folder; folders are durable at once."""
        self.maybe_fail("mkdir", path)
        if path in self._dirs:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        while path not in self._dirs:
            self._dirs[path] = None
            path = os.path.dirname(path)

    def rename(self, old: str, new: str) -> None:
        """Rename a file or a folder."""
        self.maybe_fail("rename", old)
        if old in self._files:
            inode = self._files[old]
            self._change(_Change(new, inode))
            self._change(_Change(old, None))
            return
        self._require_dir(old)
        prefix = old + "/"
        for path in [path for path in self._files if path.startswith(prefix)]:
            self.rename(path, f"{new}/{path[len(prefix) :]}")
        for path in [path for path in self._dirs if path == old or path.startswith(prefix)]:
            del self._dirs[path]
            self._dirs[new + path[len(old) :]] = None
        self.fsync_dir(new)

    def remove(self, path: str) -> None:
        """Remove one file."""
        self.maybe_fail("remove", path)
        if path not in self._files:
            raise _not_found(path)
        self._change(_Change(path, None))

    def remove_tree(self, path: str) -> None:
        """Remove a folder with all that is in it."""
        self.maybe_fail("remove_tree", path)
        for name in [name for name in self._files if name.startswith(path + "/")]:
            self._change(_Change(name, None))
        for name in [name for name in self._dirs if f"{name}/".startswith(path + "/")]:
            del self._dirs[name]

    def fsync_dir(self, path: str) -> None:
        """All changes of names so far are durable, elsewhere too: they are kept in order."""
        self.maybe_fail("fsync_dir", path)
        self._require_dir(path)
        for change in self._changes:
            _apply(self._durable, change)
        self._changes.clear()

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a file."""
        self.maybe_fail("read_bytes", path)
        return bytes(self._inode(path).data)

    def write_atomically(self, path: str, content: bytes) -> None:
        """Replace the content; durable on return."""
        self.maybe_fail("write_atomically", path)
        temporary = path + ".tmp"
        if temporary in self._files:
            self.remove(temporary)
        file = self.open(temporary, create=True)
        file.append(content)
        file.fsync()
        self.rename(temporary, path)
        self.fsync_dir(os.path.dirname(path))

    def capacity(self, path: str) -> tuple[int, int]:
        """(total, usable) bytes."""
        return 1 << 40, (1 << 40) if self.free_bytes is None else self.free_bytes

    def lock(self, path: str) -> Callable[[], None] | None:
        """Take the lock file."""
        if path in self._locks:
            return None
        self._locks.add(path)
        return lambda: self._locks.discard(path)

    def _change(self, change: _Change) -> None:
        _apply(self._files, change)
        self._changes.append(change)

    def _inode(self, path: str) -> _Inode:
        inode = self._files.get(path)
        if inode is None:
            raise _not_found(path)
        return inode

    def _require_dir(self, path: str) -> None:
        if path not in self._dirs:
            raise _not_found(path)


def _apply(names: dict[str, _Inode], change: _Change) -> None:
    if change.inode is None:
        names.pop(change.path, None)
    else:
        names[change.path] = change.inode


def _not_found(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
