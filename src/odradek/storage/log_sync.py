"""Making one log durable in the background: at most one job per log, never two at once.

What a log wants on the disk: its segments up to an offset, its producer snapshots, its leader epochs.
Wishes collect while a job runs; the next job takes them all. A job

    on the loop's thread   writes index tails, takes the files and texts         (prepare)
    in the pool            writes snapshots and epochs, syncs files and folder   (work)
    on the loop's thread   moves the recovery point                              (commit)

so the recovery point moves only when everything below it, epochs and snapshots too, is on the disk. Who
cuts or closes the log calls `stop` first: a job that has not begun never will, one that has is waited
for, and neither commits anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from odradek.interfaces import Disk, File
from odradek.storage import file_names

if TYPE_CHECKING:
    from odradek.storage.partition_log import PartitionLog

# A sync that takes longer than this is a dead disk; its dir is about to go offline.
_STOP_WAIT_SECONDS: Final = 30.0


class LogSync:
    """The wishes of one log, and the job that fulfils them."""

    __slots__ = ("_job", "_log", "_snapshots", "_waiting", "_wanted_offset", "_wants_epochs")

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._job: _Job | None = None
        self._wanted_offset = 0
        self._wants_epochs = False
        self._snapshots: list[tuple[int, bytes]] = []
        self._waiting: list[tuple[int, Callable[[], None]]] = []

    def flush(self, upto: int) -> None:
        """Sync everything below `upto`."""
        self._wanted_offset = max(self._wanted_offset, upto)
        self._maybe_start()

    def when_flushed(self, offset: int, callback: Callable[[], None]) -> None:
        """Sync everything below `offset`, then call."""
        if self._log.recovery_point >= offset:
            callback()
        else:
            self._waiting.append((offset, callback))
            self.flush(offset)

    def write_epochs(self) -> None:
        """Write the leader epochs."""
        self._wants_epochs = True
        self._maybe_start()

    def write_snapshot(self, offset: int, content: bytes) -> None:
        """Write the producers' state before `offset`; a flush follows."""
        self._snapshots.append((offset, content))

    def stop(self) -> None:
        """Forget all wishes, and end the job in the pool: it will not commit."""
        self._wanted_offset = 0
        self._snapshots.clear()
        job, self._job = self._job, None
        if job is not None:
            job.stop()

    def _maybe_start(self) -> None:
        log = self._log
        if self._job is not None or log.is_closed or log.dir.offline_reason is not None:
            return
        upto = min(self._wanted_offset, log.log_end_offset)
        snapshots, self._snapshots = self._snapshots, []
        wants_epochs, self._wants_epochs = self._wants_epochs, False
        if upto <= log.recovery_point and not snapshots and not wants_epochs:
            return
        try:
            files, needs_dir_sync = log.files_to_sync(upto)
        except OSError as error:
            self._snapshots, self._wants_epochs = snapshots, wants_epochs  # for the next try
            log.dir.fail(error, half_done=False)
            return
        epochs = log.encode_epochs() if wants_epochs or log.epochs_are_dirty else None
        job = _Job(log.dir.disk, log.path_text, snapshots, epochs, files, needs_dir_sync)
        self._job = job
        started_ms = log.dir.clock.monotonic_ms()

        def done(result: BaseException | None) -> None:
            if self._job is not job:
                return  # stopped
            self._job = None
            if isinstance(result, OSError):
                log.dir.fail(result)
            elif isinstance(result, BaseException):
                raise result
            else:
                if files:
                    log.dir.probe.flushed(log.dir.clock.monotonic_ms() - started_ms)
                log.commit_sync(upto, max((offset for offset, _ in snapshots), default=0))
                self._tell()
                self._maybe_start()

        log.dir.background.submit(job.run, done)

    def _tell(self) -> None:
        recovery_point = self._log.recovery_point
        ready = [callback for offset, callback in self._waiting if offset <= recovery_point]
        self._waiting = [pair for pair in self._waiting if pair[0] > recovery_point]
        for callback in ready:
            callback()


class _Job:
    """What the pool does."""

    __slots__ = (
        "_disk",
        "_epochs",
        "_files",
        "_is_stopped",
        "_lock",
        "_needs_dir_sync",
        "_path",
        "_snapshots",
    )

    def __init__(
        self,
        disk: Disk,
        path: str,
        snapshots: list[tuple[int, bytes]],
        epochs: bytes | None,
        files: list[File],
        needs_dir_sync: bool,
    ) -> None:
        self._disk = disk
        self._path = path
        self._snapshots = snapshots
        self._epochs = epochs
        self._files = files
        self._needs_dir_sync = needs_dir_sync
        self._lock = threading.Lock()
        self._is_stopped = False

    def run(self) -> None:
        """Write and sync everything, unless stopped before."""
        with self._lock:
            if self._is_stopped:
                return
            for offset, content in self._snapshots:
                name = file_names.segment_name(offset, file_names.SNAPSHOT)
                self._disk.write_atomically(f"{self._path}/{name}", content)
            if self._epochs is not None:
                self._disk.write_atomically(
                    f"{self._path}/{file_names.LEADER_EPOCHS}", self._epochs
                )
            for file in self._files:
                file.fsync()
            if self._needs_dir_sync:
                self._disk.fsync_dir(self._path)

    def stop(self) -> None:
        """Return once it neither runs nor ever will."""
        self._is_stopped = True
        if self._lock.acquire(timeout=_STOP_WAIT_SECONDS):
            self._lock.release()
