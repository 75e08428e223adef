"""The log of one partition: append, roll, sync, cut. (`readable_log` has the half that reads.)

    log_start_offset        high_watermark       log_end_offset
          │  first segment  …  │  active segment        │
          ▼                    ▼                        ▼
    ──────[batch][batch]…[batch][batch][batch][batch]───
               recovery_point ▲ (synced below)

- Offsets rise; a batch is in the log as a whole or not at all; one write per append.
- `log_start_offset` ≤ `high_watermark` ≤ `log_end_offset`; the owner of replication sets the high
  watermark, and retention, compaction and DeleteRecords stay below it.
- An append is acknowledged when it is in the page cache, as Kafka's are; `when_flushed` is for those who
  want more. `recovery_point` says up to where a crash of the machine loses nothing.

The loop's thread owns a log. Whatever may block is prepared here and done in the pool (`log_sync`,
`prepare_*`). After a crash, `recovery` checks everything above the recovery point. An OSError takes the
log's dir offline and is never retried.

Cheap when idle: no file is open, no index loaded, until somebody reads or writes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from odradek.config.topic import TopicConfig
from odradek.errors import ApiError, Err
from odradek.interfaces import File
from odradek.records.batch import PREFIX_BYTES, BatchHeader, stamp
from odradek.records.control import EndMarker, parse_end_marker
from odradek.records.validation import (
    APPEND_TIME,
    CheckedBatches,
    check_batches,
    opens_records,
)
from odradek.storage import file_names
from odradek.storage.indexes import RELATIVE_OFFSET_MAX
from odradek.storage.log_dir import LogDir
from odradek.storage.log_sync import LogSync
from odradek.storage.log_values import AppendResult, LogSlice, Origin, append_rules
from odradek.storage.producer_state import (
    BatchMetadata,
    ProducerEntry,
    ProducerState,
    encode_snapshot,
)
from odradek.storage.readable_log import ReadableLog
from odradek.storage.recovery import LoadedLog
from odradek.storage.replay import load_producer_state, note_marker
from odradek.storage.segment import Segment
from odradek.types import NO_TIMESTAMP, TopicPartition

__all__ = ["AppendResult", "LogSlice", "Origin", "PartitionLog"]

_NEVER: Final = 2**63 - 1


class PartitionLog(ReadableLog):
    """The log of one partition."""

    __slots__ = (
        "_flush_messages",
        "_idle_since_offset",
        "_last_flush_ms",
        "_roll_timestamp",
        "_rules",
        "_segment_bytes",
        "_snapshot_offset",
        "_sync",
        "config",
        "generation",
        "is_closed",
        "opens_records",
    )

    def __init__(
        self,
        log_dir: LogDir,
        topic_partition: TopicPartition,
        topic_id: UUID,
        config: TopicConfig,
        loaded: LoadedLog,
        high_watermark: int = 0,
    ) -> None:
        super().__init__(log_dir, topic_partition, topic_id, loaded, high_watermark)
        self._snapshot_offset = loaded.snapshot_offset
        self._sync: LogSync | None = None
        self._idle_since_offset = -1
        self._last_flush_ms = log_dir.clock.monotonic_ms()
        self.generation = 0  # changes with every cut
        self.is_closed = False
        self.config = config
        self.update_config(config)

    def update_config(self, config: TopicConfig) -> None:
        """From now on this configuration holds."""
        self.config = config
        self._segment_bytes = config.segment_bytes
        self._flush_messages = config.flush_messages
        self._rules = append_rules(config)
        # Whether a check looks into batches, which may take long: then `prepare_check` is for the pool.
        self.opens_records = opens_records(self._rules)
        self._roll_timestamp = NO_TIMESTAMP  # worked out at the next append
        self._active.configure(config.index_interval_bytes, config.segment_index_bytes)

    # Appending.

    def prepare_check(self, data: memoryview, now_ms: int) -> Callable[[], CheckedBatches]:
        """Work for the pool: the check of a client's batch, whose result `append` takes."""
        rules = self._rules
        return lambda: check_batches(data, rules, now_ms)

    def append(
        self,
        data: memoryview,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        checked: CheckedBatches | None = None,
    ) -> AppendResult:
        """Append as leader: check, give offsets and epoch, write. A repeated batch is not written."""
        if self.dir.offline_reason is not None:
            self.dir.raise_offline()
        from_client = origin is Origin.CLIENT
        if checked is None:
            checked = check_batches(data, self._rules, now_ms, from_client=from_client)
        data, headers = checked
        first_offset = offset = self.log_end_offset
        position = record_count = 0
        max_timestamp = NO_TIMESTAMP
        markers: dict[int, EndMarker] | None = None
        for header in headers:
            if header.producer_id >= 0:
                if header.is_control:
                    marker = self._check_marker(header, data, position)
                    if marker is not None:
                        markers = {**(markers or {}), offset: marker}
                elif self._producers is not None:
                    duplicate = self._producers.check(header, check_sequence=from_client)
                    if duplicate is not None:
                        return self._duplicate(duplicate, header)
            stamp(data, position, offset, leader_epoch)
            position += PREFIX_BYTES + header.batch_length
            offset += header.last_offset_delta + 1
            record_count += header.record_count
            if header.max_timestamp > max_timestamp:
                max_timestamp = header.max_timestamp
        self._write(data, headers, offset, max_timestamp, now_ms, record_count, markers, False)
        if leader_epoch > self._latest_epoch:
            self.assign_epoch(leader_epoch, first_offset)
        return AppendResult(
            first_offset,
            offset - 1,
            max_timestamp,
            now_ms if self._rules.timestamp_type == APPEND_TIME else NO_TIMESTAMP,
            self.log_start_offset,
            record_count,
            position,
            False,
        )

    def append_as_follower(self, data: memoryview) -> AppendResult:
        """Append what the leader has: offsets and epochs stay, epochs are recorded."""
        if self.dir.offline_reason is not None:
            self.dir.raise_offline()
        now_ms = self.dir.clock.now_ms()
        data, headers = check_batches(data, self._rules, now_ms, from_client=False)
        next_offset = self.log_end_offset
        position = record_count = 0
        max_timestamp = NO_TIMESTAMP
        markers: dict[int, EndMarker] | None = None
        for header in headers:
            if header.base_offset < next_offset:
                raise ApiError(
                    Err.OFFSET_OUT_OF_RANGE,
                    f"the leader sent offset {header.base_offset} where this log ends at "
                    f"{next_offset}: truncate before fetching",
                )
            if header.is_control and header.producer_id >= 0:
                marker = parse_end_marker(data[position : position + header.size_bytes])
                if marker is not None:
                    markers = {**(markers or {}), header.base_offset: marker}
            next_offset = header.next_offset
            position += header.size_bytes
            record_count += header.record_count
            max_timestamp = max(max_timestamp, header.max_timestamp)
        self._write(data, headers, next_offset, max_timestamp, now_ms, record_count, markers, True)
        for header in headers:
            if header.partition_leader_epoch > self._latest_epoch:
                self.assign_epoch(header.partition_leader_epoch, header.base_offset)
        return AppendResult(
            headers[0].base_offset,
            next_offset - 1,
            max_timestamp,
            NO_TIMESTAMP,
            self.log_start_offset,
            record_count,
            position,
            False,
        )

    def _check_marker(
        self, header: BatchHeader, data: memoryview, position: int
    ) -> EndMarker | None:
        marker = parse_end_marker(data[position : position + header.size_bytes])
        if marker is not None and self._producers is not None:
            self._producers.check_marker(header, marker)
        return marker

    def producer(self, producer_id: int) -> ProducerEntry | None:
        """What this log knows of a producer."""
        return self._producers.get(producer_id) if self._producers is not None else None

    def check_end_marker(self, producer_id: int, epoch: int, transaction_version: int) -> None:
        """Refuse a coordinator's marker that is of an earlier transaction (KIP-890)."""
        if self._producers is not None:
            self._producers.check_end_marker(producer_id, epoch, transaction_version)

    def _duplicate(self, earlier: BatchMetadata, header: BatchHeader) -> AppendResult:
        return AppendResult(
            earlier.first_offset,
            earlier.last_offset,
            earlier.timestamp,
            earlier.timestamp if self._rules.timestamp_type == APPEND_TIME else NO_TIMESTAMP,
            self.log_start_offset,
            header.record_count,
            header.size_bytes,
            True,
        )

    def _write(
        self,
        data: memoryview,
        headers: list[BatchHeader],
        end_offset: int,
        max_timestamp: int,
        now_ms: int,
        record_count: int,
        markers: dict[int, EndMarker] | None,
        own_offsets: bool,
    ) -> None:
        """Write checked batches and everything that follows from them."""
        size_bytes, active = len(data), self._active
        if size_bytes > self._segment_bytes:
            raise ApiError(
                Err.RECORD_LIST_TOO_LARGE,
                f"{size_bytes} bytes do not fit into a segment of {self._segment_bytes} bytes: "
                "send less at once, or raise segment.bytes",
            )
        clock = self.dir.clock
        position = -1
        try:
            if active.size_bytes:
                if self._roll_timestamp < 0:
                    self._set_roll_timestamp()
                if (
                    active.size_bytes + size_bytes > self._segment_bytes
                    or max_timestamp > self._roll_timestamp
                    or active.is_index_full
                    or end_offset - 1 - active.base_offset > RELATIVE_OFFSET_MAX
                ):
                    self.roll(now_ms)
                    active = self._active
            started_ms = clock.monotonic_ms()
            position = active.write(data)
            write_ms = clock.monotonic_ms() - started_ms
            offset = self.log_end_offset
            if not position:
                self._roll_timestamp = NO_TIMESTAMP
            for header in headers:
                if own_offsets and header.base_offset != offset:
                    active.forget_recent()
                    offset = header.base_offset
                last_offset = offset + header.last_offset_delta
                batch_bytes = PREFIX_BYTES + header.batch_length
                active.note_batch(offset, last_offset, position, batch_bytes, header.max_timestamp)
                if header.producer_id >= 0:
                    self._note_producer(header, offset, markers)
                position += batch_bytes
                offset = last_offset + 1
        except OSError as error:
            raise self.dir.fail(error, half_done=position >= 0) from error
        self.log_end_offset = offset
        self.dir.probe.appended(self.topic_partition.topic, record_count, size_bytes, write_ms)
        if offset - self.recovery_point >= self._flush_messages:
            self.flush()

    def _note_producer(
        self, header: BatchHeader, offset: int, markers: dict[int, EndMarker] | None
    ) -> None:
        producers = self._producers
        if producers is None:
            producers = self._producers = ProducerState()
        if not header.is_control:
            producers.apply(header, offset)
        elif markers is not None and offset in markers:
            note_marker(producers, header, markers[offset], offset, self._active.append_aborted)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """The epoch begins here; called by a new leader, and by appends."""
        if self._epochs.assign(epoch, start_offset):
            self._latest_epoch = epoch
            if self.log_end_offset > 0:  # an empty log's epochs are written with its first sync
                self._syncer().write_epochs()

    # Rolling and syncing.

    def _set_roll_timestamp(self) -> None:
        first_timestamp = self._active.first_timestamp
        wait_ms = self._roll_after_ms()
        # Records without a time roll by the segment's age, in `maybe_roll`.
        self._roll_timestamp = first_timestamp + wait_ms if first_timestamp >= 0 else _NEVER

    def _roll_after_ms(self) -> int:
        segment_ms = self.config.segment_ms
        if "compact" in self.config.cleanup_policy:
            # A record is compacted in time only if its segment is not the active one any more.
            segment_ms = min(segment_ms, self.config.max_compaction_lag_ms)
        jitter_ms = min(self.config.segment_jitter_ms, segment_ms)
        if jitter_ms:
            # Any spread will do as long as it stays the same: no random numbers needed.
            jitter_ms = zlib.crc32(str(self.topic_partition).encode()) % jitter_ms
        return segment_ms - jitter_ms

    def maybe_roll(self, now_ms: int) -> bool:
        """Roll when the active segment is older than segment.ms, though nobody appends."""
        active = self._active
        if not active.size_bytes:
            return False
        since_ms = max(active.first_timestamp, active.created_ms)
        if since_ms <= 0 or now_ms - since_ms <= self._roll_after_ms():
            return False
        self._guard(lambda: self.roll(now_ms))
        return True

    def roll(self, now_ms: int) -> None:
        """Begin a new segment; the old one, its indexes and the producers' state get synced."""
        active, base_offset = self._active, self.log_end_offset
        if not active.size_bytes and active.base_offset == base_offset:
            return
        active.finish_time_index()
        active.write_tails()
        self._start_segment(base_offset, now_ms)
        syncer = self._syncer()
        syncer.write_snapshot(base_offset, self._encode_producers())
        syncer.flush(base_offset)
        self.dir.probe.rolled(self.topic_partition.topic)

    def _start_segment(self, base_offset: int, now_ms: int) -> None:
        self._active = self._segments.start(self.path_text, base_offset, self.config, now_ms)
        self._roll_timestamp = NO_TIMESTAMP

    def _encode_producers(self) -> bytes:
        return self._producers.encode() if self._producers is not None else encode_snapshot(())

    def _syncer(self) -> LogSync:
        if self._sync is None:
            self._sync = LogSync(self)
        return self._sync

    def flush(self) -> None:
        """Sync the whole log in the background; then the recovery point moves."""
        self._last_flush_ms = self.dir.clock.monotonic_ms()
        self._syncer().flush(self.log_end_offset)

    def maybe_flush(self) -> None:
        """Flush when records have waited for flush.ms."""
        now_ms = self.dir.clock.monotonic_ms()
        if self.log_end_offset > self.recovery_point:
            if now_ms - self._last_flush_ms >= self.config.flush_ms:
                self.flush()
        else:
            self._last_flush_ms = now_ms

    def when_flushed(self, offset: int, callback: Callable[[], None]) -> None:
        """Call once everything below `offset` is synced; never, when the dir fails before."""
        self._syncer().when_flushed(offset, callback)

    def files_to_sync(self, upto: int) -> tuple[list[File], bool]:
        """For `log_sync`: the files that hold what is not synced below `upto`; also the folder?"""
        return self._segments.to_sync(self.recovery_point, upto)

    @property
    def epochs_are_dirty(self) -> bool:
        """For `log_sync`: whether the epochs file lacks something."""
        return self._epochs.dirty

    def commit_sync(self, recovery_point: int, snapshot_offset: int) -> None:
        """For `log_sync`: everything below is durable, and so is the snapshot."""
        self.recovery_point = max(self.recovery_point, recovery_point)
        self._snapshot_offset = max(self._snapshot_offset, snapshot_offset)

    def encode_epochs(self) -> bytes:
        """For `log_sync`: the epochs file's content, which is about to be written."""
        self._epochs.dirty = False
        return self._epochs.encode()

    # Cutting.

    def advance_log_start(self, offset: int) -> None:
        """Records below `offset` are gone (DeleteRecords, or the leader's log start)."""
        if offset > self.high_watermark:
            raise ApiError(
                Err.OFFSET_OUT_OF_RANGE,
                f"offset {offset} is above the high watermark {self.high_watermark}",
            )
        if offset > self.log_start_offset:
            self._set_log_start(offset)

    def _set_log_start(self, offset: int) -> None:
        self.log_start_offset = offset
        self._epochs.truncate_from_start(offset)
        self._write_epochs_if_dirty()

    def remove_first_segments(self, count: int, now_ms: int) -> None:
        """Retention: drop the oldest segments, the active one too (the log rolls first)."""
        if not count:
            return
        size_bytes = sum(segment.size_bytes for segment in self.segments[:count])

        def remove() -> None:
            if count == len(self._segments):
                self.roll(now_ms)
            self._remove_later(self._segments.remove_first(count))

        self._guard(remove)
        self._set_log_start(max(self.log_start_offset, self._segments.first_offset))
        self.dir.probe.deleted(self.topic_partition.topic, count, size_bytes)

    def replace_segments(self, old: Sequence[Segment], new: Sequence[Segment]) -> None:
        """Compaction: put `new` (files ending in .cleaned, synced) in the place of `old`."""
        self._guard(lambda: self._remove_later(self._segments.exchange(old, new)))

    def truncate_to(self, offset: int) -> None:
        """Cut off everything from `offset` on."""
        assert offset >= 0
        if offset >= self.log_end_offset:
            return
        if offset < max(self.log_start_offset, self._segments.first_offset):
            self.truncate_fully_and_start_at(offset)
            return

        def cut() -> None:
            self._before_cut()
            end_offset, paths = self._segments.truncate_to(offset)
            self._remove_later(paths)
            self._active = self._segments.active
            self._active.configure(
                self.config.index_interval_bytes, self.config.segment_index_bytes
            )
            if end_offset < self.log_start_offset:
                # The cut batch began below the log's start: nothing is left that may be read.
                self.truncate_fully_and_start_at(self.log_start_offset)
                return
            self._after_cut(end_offset)
            self._producers, self._snapshot_offset = load_producer_state(
                self.dir.disk,
                self.path_text,
                self.segments,
                self.log_start_offset,
                end_offset,
            )

        self._guard(cut)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything; the next record gets `offset`."""

        def cut() -> None:
            self._before_cut()
            self._remove_later(self._segments.remove_all())
            self._start_segment(offset, self.dir.clock.now_ms())
            self.dir.disk.fsync_dir(self.path_text)
            self.log_start_offset = offset
            self._epochs.clear()
            self._producers = None
            self._snapshot_offset = offset
            self._after_cut(offset)

        self._guard(cut)

    def _before_cut(self) -> None:
        self._stop_sync()
        self.generation += 1

    def _stop_sync(self) -> None:
        if self._sync is not None:
            self._sync.stop()
            self._epochs.dirty = True  # perhaps they were about to be written

    def _after_cut(self, end_offset: int) -> None:
        self.log_end_offset = end_offset
        if self.recovery_point > end_offset:
            self.recovery_point = end_offset
            # Before anything is appended: what is written above the cut is not synced.
            self.dir.save_recovery_points()
        self.high_watermark = max(min(self.high_watermark, end_offset), self.log_start_offset)
        self._roll_timestamp = NO_TIMESTAMP
        self._epochs.truncate_from_end(end_offset)
        self._latest_epoch = self._epochs.latest
        self._write_epochs_if_dirty()

    def _write_epochs_if_dirty(self) -> None:
        if self._epochs.dirty:
            self._syncer().write_epochs()

    def _remove_later(self, paths: list[str]) -> None:
        self.dir.remove_later(paths, self.config.file_delete_delay_ms)

    def _guard(self, work: Callable[[], None]) -> None:
        """Do something to files on this thread; a failure takes the dir offline."""
        if self.dir.offline_reason is not None:
            self.dir.raise_offline()
        try:
            work()
        except OSError as error:
            raise self.dir.fail(error) from error

    # Time passes.

    def remove_expired_producers(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that have been silent for so long."""
        if self._producers is None:
            return 0
        return self._producers.remove_expired(now_ms, expiration_ms)

    def release_idle(self) -> None:
        """Close the files that are not in use: those of inactive segments, and all when nothing was
        appended since the last call; they open again on need."""
        for segment in self.segments[:-1]:
            segment.release()
        if self._idle_since_offset == self.log_end_offset:
            self._guard(self._active.write_tails)
            self._active.release()
        self._idle_since_offset = self.log_end_offset

    # The end.

    def close(self) -> None:
        """Sync everything and let go of the files; blocks. OSError when the disk fails."""
        self._stop_sync()
        self.is_closed = True
        if self.log_end_offset > self.recovery_point:
            self._active.finish_time_index()
            files, needs_dir_sync = self.files_to_sync(self.log_end_offset)
            for file in files:
                file.fsync()
            if needs_dir_sync:
                self.dir.disk.fsync_dir(self.path_text)
            self.recovery_point = self.log_end_offset
        if self.log_end_offset > self._snapshot_offset:
            name = file_names.segment_name(self.log_end_offset, file_names.SNAPSHOT)
            path = f"{self.path_text}/{name}"
            self.dir.disk.write_atomically(path, self._encode_producers())
            self._snapshot_offset = self.log_end_offset
        if self._epochs.dirty:
            path = f"{self.path_text}/{file_names.LEADER_EPOCHS}"
            self.dir.disk.write_atomically(path, self.encode_epochs())
        for segment in self._segments:
            segment.release()

    def abandon(self) -> None:
        """The log is deleted or its dir is gone: nothing is written any more."""
        self._stop_sync()
        self.is_closed = True
