"""All logs of a broker: opening them at start, housekeeping while it runs, closing them at its end.

Life of a log dir: lock → whose is it → what did the last run leave → load the partitions that the
metadata knows → work → sync, snapshots, checkpoints, marker of a clean stop → unlock.

Partition folders that the metadata does not know are reported, never served and never deleted. Folders
that end in `-delete` were deleted by an earlier run and are removed in the background.

`open` and `close` block: they run before the broker serves and after it has stopped. Everything else is
the loop's thread's; `housekeeping` does what has to be done from time to time.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from odradek.config.broker import BrokerConfig
from odradek.config.topic import TopicConfig
from odradek.errors import ApiError, Err
from odradek.interfaces import Background, Clock, Disk, Timers
from odradek.storage import file_names, recovery
from odradek.storage.checkpoints import (
    NO_BROKER_EPOCH,
    decode_partition_metadata,
    encode_partition_metadata,
)
from odradek.storage.housekeeping import Housekeeping, all_checkpoints, recovery_points
from odradek.storage.log_dir import LogDir, LogDirRefused
from odradek.storage.partition_log import PartitionLog
from odradek.storage.probe import NoProbe, StorageProbe
from odradek.storage.recovery import Load, LoadRequest
from odradek.types import ZERO_UUID, TopicPartition

logger = logging.getLogger(__name__)

# Loading one partition takes a fraction of a millisecond: hand a thread many at a time.
_LOAD_CHUNK: Final = 64
# How long new partition folders are collected before their log dir is synced.
_SYNC_DELAY_MS: Final = 50


class KnownTopic(NamedTuple):
    """A topic of the metadata, as far as its logs are concerned."""

    topic_id: UUID
    config: TopicConfig
    partitions: Collection[int]


class LogDescription(NamedTuple):
    """One log, for DescribeLogDirs."""

    topic_partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """One log dir, for DescribeLogDirs."""

    path: str
    error: Err
    total_bytes: int
    usable_bytes: int
    logs: list[LogDescription]


OnOffline = Callable[[Path, list[TopicPartition], str], None]


class LogManager:
    """The logs of one broker."""

    def __init__(
        self,
        dirs: Sequence[Path],
        *,
        node_id: int,
        cluster_id: str,
        clock: Clock,
        timers: Timers,
        background: Background,
        disk: Disk,
        config: BrokerConfig,
        probe: StorageProbe | None = None,
        on_offline: OnOffline | None = None,
    ) -> None:
        assert dirs, "a broker needs a log dir"
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._clock = clock
        self._timers = timers
        self._background = background
        self._disk = disk
        self._config = config
        self._probe: StorageProbe = probe if probe is not None else NoProbe()
        self.on_offline: OnOffline | None = on_offline
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._unsynced_dirs: set[str] = set()
        self._is_open = False
        self.unknown_dirs: list[Path] = []
        self._dirs = [
            LogDir(
                path,
                disk=disk,
                background=background,
                timers=timers,
                clock=clock,
                probe=self._probe,
                on_offline=self._dir_failed,
            )
            for path in dirs
        ]
        for log_dir in self._dirs:
            log_dir.recovery_points = functools.partial(self._recovery_points, log_dir)
        self.housekeeping = Housekeeping(
            lambda: list(self._logs.values()),
            self._dirs,
            config=config,
            clock=clock,
            timers=timers,
        )

    # Start.

    def open(self, topics: Mapping[str, KnownTopic]) -> None:
        """Lock the dirs and load what the metadata knows; blocks. LogDirRefused: do not start.

        A dir whose disk fails is left offline, unless it is the last one.
        """
        for log_dir in self._dirs:
            try:
                log_dir.open(self._cluster_id, self._node_id, uuid.uuid4())
            except OSError as error:
                log_dir.fail(error)
            except LogDirRefused:
                self._unlock_all()
                raise
        self._require_a_dir()
        threads = self._config.num_recovery_threads_per_data_dir * len(self._dirs)
        with ThreadPoolExecutor(threads, thread_name_prefix="odradek-load") as pool:
            for log_dir in self._online():
                try:
                    self._load_dir(log_dir, topics, pool)
                except OSError as error:
                    self._forget_dir(log_dir)
                    log_dir.fail(error)
        self._require_a_dir()
        self._is_open = True
        self.housekeeping.start()

    def _require_a_dir(self) -> None:
        if all(log_dir.offline_reason is not None for log_dir in self._dirs):
            self._unlock_all()
            reasons = "; ".join(f"{d.path}: {d.offline_reason}" for d in self._dirs)
            raise LogDirRefused(f"no log dir can be used ({reasons})")

    def _unlock_all(self) -> None:
        for log_dir in self._dirs:
            log_dir.close({}, clean=False, epoch=NO_BROKER_EPOCH)

    def _load_dir(
        self, log_dir: LogDir, topics: Mapping[str, KnownTopic], pool: ThreadPoolExecutor
    ) -> None:
        recovery_points = log_dir.read_offsets(file_names.RECOVERY_POINTS)
        high_watermarks = log_dir.read_offsets(file_names.HIGH_WATERMARKS)
        log_start_offsets = log_dir.read_offsets(file_names.LOG_START_OFFSETS)
        now_ms, started_ms = self._clock.now_ms(), self._clock.monotonic_ms()
        requests = [
            LoadRequest(
                tp,
                log_dir.file(str(tp)),
                log_dir.was_clean,
                recovery_points.get(tp),
                log_start_offsets.get(tp, 0),
                topics[tp.topic].config.index_interval_bytes,
                now_ms,
            )
            for tp in self._find_partitions(log_dir, topics)
        ]
        chunks = [requests[i : i + _LOAD_CHUNK] for i in range(0, len(requests), _LOAD_CHUNK)]
        disk = self._disk
        recovered_count = 0
        for chunk, loads in zip(
            chunks,
            pool.map(lambda chunk: [recovery.load(disk, request) for request in chunk], chunks),
            strict=True,
        ):
            for request, load in zip(chunk, loads, strict=True):
                tp = request.topic_partition
                self._adopt(log_dir, tp, topics[tp.topic], load, high_watermarks.get(tp, 0))
                recovered_count += load.was_recovered
        if requests:
            logger.info(
                "log dir %s: %d logs in %d ms%s",
                log_dir.path,
                len(requests),
                self._clock.monotonic_ms() - started_ms,
                "" if not recovered_count else f", {recovered_count} checked after an unclean stop",
            )

    def _find_partitions(
        self, log_dir: LogDir, topics: Mapping[str, KnownTopic]
    ) -> Iterator[TopicPartition]:
        for name in self._disk.subdirs(log_dir.path):
            if file_names.is_deleted_dir(name):
                self._remove_tree_later(log_dir, name)
                continue
            tp = file_names.parse_partition_dir(name)
            topic = topics.get(tp.topic) if tp is not None else None
            if tp is None or topic is None or tp.partition not in topic.partitions:
                self._report_unknown(log_dir, name, "the metadata does not know it")
            elif tp in self._logs:
                other = self._logs[tp].dir.path
                self._report_unknown(log_dir, name, f"it is already served from {other}")
            elif self._has_other_topic_id(log_dir, name, topic.topic_id):
                self._report_unknown(log_dir, name, "it belongs to another topic of this name")
            else:
                yield tp

    def _report_unknown(self, log_dir: LogDir, name: str, reason: str) -> None:
        logger.warning("%s is not served and not touched: %s", log_dir.file(name), reason)
        self.unknown_dirs.append(Path(log_dir.file(name)))

    def _has_other_topic_id(self, log_dir: LogDir, name: str, topic_id: UUID) -> bool:
        path = log_dir.file(f"{name}/{file_names.PARTITION_METADATA}")
        try:
            found = decode_partition_metadata(self._disk.read_bytes(path))
        except FileNotFoundError:
            return False  # a crash came between the folder and this file
        except ValueError as error:
            logger.warning("%s is broken (%s); writing it anew", path, error)
            self._disk.write_atomically(path, encode_partition_metadata(topic_id))
            return False
        return found not in (topic_id, ZERO_UUID) and topic_id != ZERO_UUID

    def _adopt(
        self,
        log_dir: LogDir,
        tp: TopicPartition,
        topic: KnownTopic,
        load: Load,
        high_watermark: int,
    ) -> None:
        if load.was_recovered:
            self._probe.recovered(tp.topic, load.truncated_bytes)
        self._logs[tp] = PartitionLog(
            log_dir, tp, topic.topic_id, topic.config, load.log, high_watermark
        )

    # Finding, making, deleting.

    def get(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition; None when this broker has none."""
        return self._logs.get(TopicPartition(topic, partition))

    def __iter__(self) -> Iterator[PartitionLog]:
        return iter(list(self._logs.values()))

    def __len__(self) -> int:
        return len(self._logs)

    def create(
        self,
        topic: str,
        partition: int,
        topic_id: UUID,
        config: TopicConfig,
        log_dir: Path | None = None,
        *,
        is_new: bool = True,
    ) -> PartitionLog:
        """A new log, in the dir with the fewest partitions unless one is named.

        A partition that existed before (`is_new=False`) is not made anew while a dir is offline: its
        records may be there.
        """
        tp = TopicPartition(topic, partition)
        assert tp not in self._logs
        if not is_new and any(d.offline_reason is not None for d in self._dirs):
            raise ApiError(
                Err.KAFKA_STORAGE_ERROR, f"{tp} may be in a log dir that is offline: repair it"
            )
        target = self._choose_dir(log_dir)
        path = target.file(str(tp))
        try:
            if self._disk.exists(path):
                self._set_aside(target, tp)
            self._disk.mkdir(path)
            metadata = self._disk.open(f"{path}/{file_names.PARTITION_METADATA}", create=True)
            metadata.append(encode_partition_metadata(topic_id))
            loaded = recovery.new_log(
                self._disk, path, config.index_interval_bytes, self._clock.now_ms()
            )
        except OSError as error:
            with contextlib.suppress(OSError):
                self._disk.remove_tree(path)
            raise target.fail(error, half_done=False) from error
        loaded.segments[0].release()  # many logs may be made at once, and few be used soon
        self._logs[tp] = log = PartitionLog(target, tp, topic_id, config, loaded)
        self._sync_soon(target)
        return log

    def _choose_dir(self, wanted: Path | None) -> LogDir:
        online = list(self._online())
        if wanted is not None:
            online = [log_dir for log_dir in online if log_dir.path == str(wanted)]
            if not online:
                raise ApiError(Err.LOG_DIR_NOT_FOUND, f"{wanted} is not a log dir, or is offline")
        if not online:
            raise ApiError(Err.KAFKA_STORAGE_ERROR, "all log dirs are offline")
        if len(online) == 1:
            return online[0]
        counts = dict.fromkeys((log_dir.path for log_dir in online), 0)
        for log in self._logs.values():
            if log.dir.path in counts:
                counts[log.dir.path] += 1
        return min(online, key=lambda log_dir: counts[log_dir.path])

    def _set_aside(self, log_dir: LogDir, tp: TopicPartition) -> None:
        """A folder nobody knew has the name of a new partition: it keeps its content elsewhere."""
        name = f"{tp}.{uuid.uuid4().hex}-stray"
        logger.warning(
            "%s is in the way of a new log: renaming it to %s", log_dir.file(str(tp)), name
        )
        self._disk.rename(log_dir.file(str(tp)), log_dir.file(name))

    def _sync_soon(self, log_dir: LogDir) -> None:
        """Sync the dir once for all partition folders of a burst.

        A folder that a crash takes away is made anew at start: it was empty, since the first sync of
        records syncs their folder too. Syncing each folder here makes the next mkdir wait for it.
        """
        if log_dir.path not in self._unsynced_dirs:
            self._unsynced_dirs.add(log_dir.path)
            self._timers.call_later(_SYNC_DELAY_MS, lambda: self._sync_above(log_dir))

    def _sync_above(self, log_dir: LogDir) -> None:
        self._unsynced_dirs.discard(log_dir.path)
        disk, path = self._disk, log_dir.path
        log_dir.run(lambda: disk.fsync_dir(path))

    def delete(self, topic: str, partition: int) -> None:
        """Forget a partition: rename its folder now, remove it after file.delete.delay.ms."""
        tp = TopicPartition(topic, partition)
        log = self._logs.pop(tp, None)
        if log is None:
            return
        log.abandon()
        log_dir = log.dir
        log_dir.set_cleaner_offset(tp, None)
        if log_dir.offline_reason is not None:
            return
        name = file_names.deleted_dir_name(str(tp), uuid.uuid4().hex)
        try:
            self._disk.rename(log.path_text, log_dir.file(name))
        except OSError as error:
            raise log_dir.fail(error) from error
        self._timers.call_later(
            log.config.file_delete_delay_ms, lambda: self._remove_tree_later(log_dir, name)
        )

    def _remove_tree_later(self, log_dir: LogDir, name: str) -> None:
        disk, path = self._disk, log_dir.file(name)
        log_dir.run(lambda: disk.remove_tree(path))

    # Dirs.

    @property
    def dirs(self) -> Sequence[LogDir]:
        """All log dirs, offline ones too."""
        return self._dirs

    def _recovery_points(self, log_dir: LogDir) -> list[tuple[TopicPartition, int]]:
        return recovery_points(log for log in self._logs.values() if log.dir is log_dir)

    def _online(self) -> Iterator[LogDir]:
        return (log_dir for log_dir in self._dirs if log_dir.offline_reason is None)

    def _dir_failed(self, log_dir: LogDir, reason: str) -> None:
        affected = [tp for tp, log in self._logs.items() if log.dir is log_dir]
        if self._is_open and self.on_offline is not None:
            self.on_offline(Path(log_dir.path), affected, reason)

    def _forget_dir(self, log_dir: LogDir) -> None:
        self._logs = {tp: log for tp, log in self._logs.items() if log.dir is not log_dir}

    def describe(self) -> list[LogDirDescription]:
        """What is where, for DescribeLogDirs."""
        answer = []
        for log_dir in self._dirs:
            logs = [
                LogDescription(
                    tp, log.size_bytes, max(log.high_watermark - log.log_end_offset, 0), False
                )
                for tp, log in self._logs.items()
                if log.dir is log_dir
            ]
            total_bytes, usable_bytes, err = -1, -1, Err.KAFKA_STORAGE_ERROR
            if log_dir.offline_reason is None:
                with contextlib.suppress(OSError):  # then it is as good as offline
                    total_bytes, usable_bytes = self._disk.capacity(log_dir.path)
                    err = Err.NONE
            answer.append(LogDirDescription(log_dir.path, err, total_bytes, usable_bytes, logs))
        return answer

    # The end.

    def close(self, clean: bool = True, broker_epoch: int = NO_BROKER_EPOCH) -> None:
        """Sync and checkpoint everything, mark the dirs as cleanly closed, unlock; blocks."""
        self._is_open = False
        self.housekeeping.stop()
        threads = self._config.num_recovery_threads_per_data_dir * len(self._dirs)
        with ThreadPoolExecutor(threads, thread_name_prefix="odradek-close") as pool:
            for log_dir in self._dirs:
                logs = [log for log in self._logs.values() if log.dir is log_dir]
                is_clean = clean and log_dir.offline_reason is None
                if is_clean:
                    is_clean = self._close_logs(log_dir, logs, pool)
                else:
                    for log in logs:
                        log.abandon()
                log_dir.close(all_checkpoints(logs), clean=is_clean, epoch=broker_epoch)

    def _close_logs(
        self, log_dir: LogDir, logs: list[PartitionLog], pool: ThreadPoolExecutor
    ) -> bool:
        try:
            # The loop's thread waits here, so the pool's threads may touch the logs.
            for _ in pool.map(PartitionLog.close, logs):
                pass
        except OSError as error:
            log_dir.fail(error)
            return False
        return True
