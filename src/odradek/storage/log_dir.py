"""One log dir: its lock, whose it is, its checkpoints, and whether it still works.

    meta.properties                    cluster, node and directory id; another's dir is refused
    .lock                              held while a broker uses the dir
    .kafka_cleanshutdown               written last by a clean stop, removed first by the next start
    recovery-point-offset-checkpoint   per partition: everything below is synced
    replication-offset-checkpoint      per partition: the high watermark
    log-start-offset-checkpoint        per partition, where it is not the first segment's offset
    cleaner-offset-checkpoint          per partition: everything below has been compacted

A write or a sync that fails takes the dir offline for the rest of the run: after a failed fsync nobody
knows what is on the disk, so nothing is tried again. Its partitions answer KAFKA_STORAGE_ERROR, the
other dirs go on.

The loop's thread owns the state. A checkpoint's text is made there and written in the background, one
write per file at a time; a newer text that comes meanwhile is written after it.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NoReturn
from uuid import UUID

from odradek.errors import ApiError, Err
from odradek.interfaces import Background, Clock, Disk, Timers
from odradek.storage import file_names
from odradek.storage.checkpoints import (
    MetaProperties,
    decode_meta,
    decode_offsets,
    encode_clean_shutdown,
    encode_meta,
    encode_offsets,
)
from odradek.storage.probe import StorageProbe
from odradek.types import TopicPartition

logger = logging.getLogger(__name__)

# Too many open files, of the process or of the machine: the disk is fine.
_NOT_THE_DISK: Final = (errno.EMFILE, errno.ENFILE)


class LogDirRefused(Exception):  # noqa: N818 - it is the dir that is refused, not an error of ours
    """This folder must not be used; the text says why and what to do."""

    @classmethod
    def in_use(cls, path: str) -> LogDirRefused:
        """Somebody else holds the lock."""
        return cls(f"{path} is in use by another broker: stop it, or give this one other log.dirs")


class LogDir:
    """A folder of partition folders."""

    def __init__(
        self,
        path: Path,
        *,
        disk: Disk,
        background: Background,
        timers: Timers,
        clock: Clock,
        probe: StorageProbe,
        on_offline: Callable[[LogDir, str], None],
    ) -> None:
        self.path = str(path)
        self.disk = disk
        self.background = background
        self.timers = timers
        self.clock = clock
        self.probe = probe
        self.offline_reason: str | None = None
        self.directory_id: UUID | None = None
        self.was_clean = False
        self.cleaner_offsets: dict[TopicPartition, int] = {}
        self._on_offline = on_offline
        self._release_lock: Callable[[], None] | None = None
        self._writers: dict[str, _FileWriter] = {}
        # Set by the manager: what the checkpoint of recovery points should say now.
        self.recovery_points: Callable[[], list[tuple[TopicPartition, int]]] = list

    def __repr__(self) -> str:
        return f"LogDir({self.path})"

    def file(self, name: str) -> str:
        """The path of something in the dir."""
        return f"{self.path}/{name}"

    # Opening.

    def open(self, cluster_id: str, node_id: int, new_directory_id: UUID) -> None:
        """Lock the dir and make sure it is ours; LogDirRefused when it is not, OSError when broken."""
        with contextlib.suppress(FileExistsError):
            self.disk.mkdir(self.path)
        self._release_lock = self.disk.lock(self.file(file_names.LOCK))
        if self._release_lock is None:
            raise LogDirRefused.in_use(self.path)
        try:
            self._check_owner(cluster_id, node_id, new_directory_id)
        except LogDirRefused:
            self._unlock()
            raise
        marker = self.file(file_names.CLEAN_SHUTDOWN)
        self.was_clean = self.disk.exists(marker)
        if self.was_clean:
            self.disk.remove(marker)
            self.disk.fsync_dir(self.path)
        self.cleaner_offsets = self.read_offsets(file_names.CLEANER_OFFSETS)

    def _check_owner(self, cluster_id: str, node_id: int, new_directory_id: UUID) -> None:
        path = self.file(file_names.META_PROPERTIES)
        if not self.disk.exists(path):
            meta = MetaProperties(cluster_id, node_id, new_directory_id)
            self.disk.write_atomically(path, encode_meta(meta))
            self.directory_id = new_directory_id
            return
        try:
            meta = decode_meta(self.disk.read_bytes(path))
        except ValueError as error:
            raise LogDirRefused(
                f"{path} cannot be read ({error}): restore it, or empty the folder"
            ) from error
        if meta.cluster_id != cluster_id:
            raise LogDirRefused(
                f"{self.path} belongs to cluster {meta.cluster_id}, this broker to {cluster_id}: "
                "give this broker other log.dirs"
            )
        if meta.node_id != node_id:
            raise LogDirRefused(
                f"{self.path} belongs to node {meta.node_id}, this broker is node {node_id}: "
                "set node.id back, or give this broker other log.dirs"
            )
        self.directory_id = meta.directory_id

    def read_offsets(self, name: str) -> dict[TopicPartition, int]:
        """Read an offset checkpoint; one that is missing or broken counts as empty."""
        path = self.file(name)
        try:
            return decode_offsets(self.disk.read_bytes(path))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            logger.warning("%s is broken (%s) and counts as empty", path, error)
            return {}

    # Working.

    def fail(self, error: OSError, *, half_done: bool = True) -> ApiError:
        """Take the dir offline; gives the error to raise for the operation that failed.

        An operation that changed nothing yet (not `half_done`) may fail for want of descriptors
        without that: the disk is fine, and the next try may succeed.
        """
        if not half_done and error.errno in _NOT_THE_DISK:
            logger.error("log dir %s: %s", self.path, error)
            return ApiError(Err.KAFKA_STORAGE_ERROR, f"{error}: raise the limit of open files")
        if self.offline_reason is None:
            self.offline_reason = str(error)
            logger.error("log dir %s goes offline: %s", self.path, error)
            self.probe.dir_failed(self.path)
            self._on_offline(self, self.offline_reason)
        return self.offline_error()

    def offline_error(self) -> ApiError:
        """What partitions of an offline dir answer."""
        return ApiError(
            Err.KAFKA_STORAGE_ERROR,
            f"log dir {self.path} is offline ({self.offline_reason}): "
            "repair the disk and restart the broker",
        )

    def raise_offline(self) -> NoReturn:
        """Raise `offline_error()`."""
        raise self.offline_error()

    def write_offsets(self, name: str, offsets: Iterable[tuple[TopicPartition, int]]) -> None:
        """Write an offset checkpoint in the background."""
        snapshot = list(offsets)
        self._write_later(name, lambda: encode_offsets(snapshot))

    def save_recovery_points(self) -> None:
        """Write that checkpoint before returning: a recovery point has gone back."""
        offsets = self.recovery_points()
        self._writer(file_names.RECOVERY_POINTS).write_now(encode_offsets(offsets))

    def set_cleaner_offset(self, topic_partition: TopicPartition, offset: int | None) -> None:
        """Everything below `offset` has been compacted; None forgets the partition."""
        if offset is None:
            if self.cleaner_offsets.pop(topic_partition, None) is None:
                return
        else:
            self.cleaner_offsets[topic_partition] = offset
        self.write_offsets(file_names.CLEANER_OFFSETS, self.cleaner_offsets.items())

    def _write_later(self, name: str, content: Callable[[], bytes]) -> None:
        if self.offline_reason is None:
            self._writer(name).write(content)

    def _writer(self, name: str) -> _FileWriter:
        writer = self._writers.get(name)
        if writer is None:
            writer = self._writers[name] = _FileWriter(self, self.file(name))
        return writer

    def run(self, work: Callable[[], None], done: Callable[[], None] | None = None) -> None:
        """Do `work` in the background; a failure takes the dir offline, else `done` is called."""

        def finished(result: BaseException | None) -> None:
            if isinstance(result, OSError):
                self.fail(result)
            elif isinstance(result, BaseException):
                raise result
            elif done is not None:
                done()

        self.background.submit(work, finished)

    def remove_later(self, paths: list[str], delay_ms: float) -> None:
        """Remove files that nobody needs any more, after a while."""
        disk = self.disk

        def remove() -> None:
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    disk.remove(path)

        if paths:
            self.timers.call_later(delay_ms, lambda: self.run(remove))

    # Closing.

    def close(
        self, checkpoints: dict[str, list[tuple[TopicPartition, int]]], *, clean: bool, epoch: int
    ) -> None:
        """Write the last checkpoints and, when all is well, the marker of a clean stop; unlock."""
        try:
            if clean and self.offline_reason is None:
                for name, offsets in checkpoints.items():
                    self.disk.write_atomically(self.file(name), encode_offsets(offsets))
                marker = self.file(file_names.CLEAN_SHUTDOWN)
                self.disk.write_atomically(marker, encode_clean_shutdown(epoch))
        except OSError as error:
            self.fail(error)
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._release_lock is not None:
            self._release_lock()
            self._release_lock = None


class _FileWriter:
    """Writes the newest content of one file, one write at a time."""

    __slots__ = ("_busy", "_dir", "_lock", "_next", "_path", "_version", "_written_content")

    def __init__(self, log_dir: LogDir, path: str) -> None:
        self._dir = log_dir
        self._path = path
        self._busy = False
        self._next: Callable[[], bytes] | None = None
        self._lock = threading.Lock()  # held by whoever writes
        self._version = 0  # a write in the pool that is not of this version comes too late
        self._written_content: bytes | None = None

    def write(self, content: Callable[[], bytes]) -> None:
        """Write `content()`, called in the pool, now or after the write that is under way."""
        if self._busy:
            self._next = content
            return
        self._busy = True
        version, disk = self._version, self._dir.disk

        def work() -> None:
            with self._lock:
                # An idle broker leaves its disk alone: what is there already is not written again.
                if version == self._version and (text := content()) != self._written_content:
                    disk.write_atomically(self._path, text)
                    self._written_content = text

        self._dir.run(work, self._written)

    def write_now(self, content: bytes) -> None:
        """Write on this thread; older contents that are on their way are dropped."""
        self._next = None
        self._version += 1
        with self._lock:
            self._dir.disk.write_atomically(self._path, content)
            self._written_content = content

    def _written(self) -> None:
        self._busy = False
        content, self._next = self._next, None
        if content is not None:
            self.write(content)
