"""Fetch: read each partition up to what the reader may see, wait for more, answer by sendfile.

A fetch is answered at once when it has `min_bytes`, an error or something else to say; otherwise it is
parked on its partitions until enough is appended or `max_wait_ms` is over. At least one whole batch goes
out even when it is larger than every limit, or a consumer could never get past it.

Records leave the page cache by `sendfile`. What is not in the page cache is read ahead in the pool
first, so that one consumer of old data does not stall everybody else.
"""

from __future__ import annotations

import struct
from typing import Final

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import decode_from
from odradek.protocol.headers import response_header
from odradek.protocol.hot.fetch import (
    TOPIC_IDS_FROM,
    PartitionHead,
    encode_head,
    encode_partition,
    encode_topic,
    topic_end,
)
from odradek.protocol.messages.fetch import FetchRequest
from odradek.replication.partition import Partition
from odradek.replication.purgatory import DelayedFetch
from odradek.server.context import Context
from odradek.server.fetch_sessions import (
    NO_SESSION,
    FetchPartition,
    FetchSession,
    Partitions,
)
from odradek.server.page_cache import is_warm, read_warm, warm
from odradek.server.registry import handles_raw
from odradek.server.session import Chunk, FileChunk, Session
from odradek.storage.log_values import LogSlice

VERSIONS: Final = range(4, 19)
READ_COMMITTED: Final = 1
# KIP-110: a client that speaks an older version cannot read zstd.
ZSTD_FROM: Final = 10
# Below this a copy into the reply is as cheap as a sendfile of its own (measured equal at 16 KB).
SENDFILE_BYTES_MIN: Final = 24 * 1024

_SIZE = struct.Struct(">i")


class _Read:
    """One partition of the answer."""

    __slots__ = ("fetch", "head", "partition", "records", "slice")

    def __init__(
        self,
        fetch: FetchPartition,
        head: PartitionHead,
        partition: Partition | None = None,
        log_slice: LogSlice | None = None,
    ) -> None:
        self.fetch = fetch
        self.head = head
        self.partition = partition
        self.slice = log_slice
        self.records: bytes | None = None

    def is_ready(self) -> bool:
        """Whether the records can go out now; small ones are taken into memory on the way."""
        log_slice = self.slice
        if log_slice is None:
            return True
        file, position, size = log_slice
        if size >= SENDFILE_BYTES_MIN:
            return is_warm(file.fileno(), position, size)
        self.records = read_warm(file.fileno(), position, size)
        return self.records is not None


@handles_raw(ApiKey.FETCH, versions=VERSIONS)
def fetch(session: Session, context: Context, frame: memoryview, body_offset: int) -> None:
    """Answer now, or park until there is something to say."""
    version = context.api_version
    request, _ = decode_from(FetchRequest, frame, body_offset, version)
    work = _Fetch(session, context, request)
    try:
        work.open()
    except ApiError as error:
        session.reply(work.refusal(error.err))
        return
    if work.read_all() or request.max_wait_ms <= 0:
        work.answer(parked=False)
    else:
        session.park()
        work.wait(request.max_wait_ms)


class _Fetch:
    """One request on its way."""

    __slots__ = (
        "bytes_max",
        "bytes_min",
        "context",
        "deadline_ms",
        "fetch_session",
        "incremental",
        "partitions",
        "reads",
        "request",
        "session",
        "size",
    )

    def __init__(self, session: Session, context: Context, request: FetchRequest) -> None:
        self.session = session
        self.context = context
        self.request = request
        self.fetch_session: FetchSession | None = None
        self.partitions: Partitions = {}
        self.incremental = False
        self.reads: list[_Read] = []
        self.size = 0
        self.deadline_ms = 0.0
        self.bytes_max = min(request.max_bytes, context.services.config.fetch_max_bytes)
        # More than the answer may hold can never come together.
        self.bytes_min = min(request.min_bytes, self.bytes_max)

    def open(self) -> None:
        """Find out what is wanted, from the request and its session."""
        by_id = self.context.api_version >= TOPIC_IDS_FROM
        self.fetch_session, self.partitions, self.incremental = (
            self.context.services.fetch_sessions.open(self.request, by_id)
        )

    # -- reading -------------------------------------------------------------------------------

    def read_all(self) -> bool:
        """Read every partition; whether the answer should go out now."""
        self.reads = reads = []
        self.size = 0
        say_now = not self.partitions
        for wanted in self.partitions.values():
            try:
                read = self._read(wanted)
            except ApiError as error:
                say_now = True
                head = PartitionHead(wanted.index, error.err, -1, -1, -1, None, 0)
                read = _Read(wanted, head)
            else:
                say_now = say_now or read.head.diverging_epoch is not None
            reads.append(read)
        return say_now or self.size >= self.bytes_min

    def _read(self, wanted: FetchPartition) -> _Read:
        replicas = self.context.services.replicas
        if isinstance(wanted.topic, str):
            partition = replicas.find(wanted.topic, wanted.index)
        else:
            partition = replicas.find_by_id(wanted.topic, wanted.index)
        partition.check_leader(wanted.current_leader_epoch)
        log = partition.log
        if self.context.api_version < ZSTD_FROM and log.config.compression_type == "zstd":
            raise ApiError(
                Err.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Fetch v{ZSTD_FROM} or newer"
            )
        high_watermark = log.high_watermark
        last_stable_offset = log.last_stable_offset
        diverging = self._diverging(partition, wanted)
        log_slice: LogSlice | None = None
        aborted: list[tuple[int, int]] | None = None
        upto = high_watermark
        if self.request.isolation_level == READ_COMMITTED:
            upto = last_stable_offset
            aborted = []
        if diverging is None:
            left = self.bytes_max - self.size
            log_slice = log.read(
                wanted.fetch_offset,
                min(wanted.max_bytes, max(left, 0)),
                upto=upto,
                at_least_one=self.size == 0,
            )
        size = 0
        if log_slice is not None:
            size = log_slice.size
            self.size += size
            if aborted is not None:
                aborted = log.aborted_transactions(wanted.fetch_offset, upto)
        head = PartitionHead(
            wanted.index,
            Err.NONE,
            high_watermark,
            last_stable_offset,
            log.log_start_offset,
            aborted,
            size,
            diverging_epoch=diverging,
        )
        return _Read(wanted, head, partition, log_slice)

    def _diverging(self, partition: Partition, wanted: FetchPartition) -> tuple[int, int] | None:
        """Where the reader's log parts from ours (KIP-595), if it says what it read last."""
        if wanted.last_fetched_epoch < 0:
            return None
        end = partition.log.epoch_end_offset(wanted.last_fetched_epoch)
        if end.leader_epoch < wanted.last_fetched_epoch or end.offset < wanted.fetch_offset:
            return end.leader_epoch, end.offset
        return None

    # -- waiting -------------------------------------------------------------------------------

    def wait(self, wait_ms: float) -> None:
        """Park on the partitions until enough was appended or the time is over."""
        services = self.context.services
        self.deadline_ms = services.clock.monotonic_ms() + wait_ms
        waiting = DelayedFetch(
            [read.partition for read in self.reads if read.partition is not None],
            self.bytes_min - self.size,
            wait_ms,
            services.timers,
            services.call_soon,
            self.session.guard(self._wake),
        )
        self.session.on_abandon = waiting.cancel

    def _wake(self) -> None:
        if self.session.closed:
            return
        left_ms = self.deadline_ms - self.context.services.clock.monotonic_ms()
        if not self.read_all() and left_ms >= 1:
            self.wait(left_ms)  # what was appended is not visible yet, to this reader
        else:
            self.answer(parked=True)

    # -- answering -----------------------------------------------------------------------------

    def answer(self, *, parked: bool) -> None:
        """Send the answer, after reading ahead what the page cache does not have."""
        cold = [read.slice for read in self.reads if read.slice and not read.is_ready()]
        if not cold:
            chunks = self._chunks()
            if parked:
                self.session.resume(chunks)
            else:
                self.session.reply(chunks)
            return
        if not parked:
            self.session.park()
        self.context.services.probe.cold_reads += len(cold)
        self.context.services.background.submit(lambda: _warm_all(cold), self._send_warmed)

    def _send_warmed(self, result: BaseException | None) -> None:
        if isinstance(result, BaseException):
            self.session.close(f"reading from disk failed: {result}", warn=True)
        elif not self.session.closed:
            self.session.guard(lambda: self.session.resume(self._chunks()))()

    def refusal(self, err: Err) -> list[Chunk]:
        """An answer that has an error for the whole request and nothing else."""
        version = self.context.api_version
        body = encode_head(version, err, NO_SESSION, 0) + topic_end(version)
        return self._frame([body], len(body))

    def _chunks(self) -> list[Chunk]:
        reads = self._worth_telling() if self.incremental else self.reads
        version = self.context.api_version
        topics: dict[str | bytes, list[_Read]] = {}
        for read in reads:
            topics.setdefault(read.fetch.topic, []).append(read)
        session_id = NO_SESSION if self.fetch_session is None else self.fetch_session.id
        pieces: list[Chunk] = []
        run = [encode_head(version, Err.NONE, session_id, len(topics))]
        size = 0
        end = topic_end(version)
        for topic, topic_reads in topics.items():
            run.append(encode_topic(version, topic, len(topic_reads)))
            for read in topic_reads:
                before, after = encode_partition(version, read.head)
                run.append(before)
                if read.slice is not None:
                    size += self._put_records(read, run, pieces)
                run.append(after)
            run.append(end)
        run.append(end)
        size += _close_run(run, pieces)
        self._remember(reads)
        return self._frame(pieces, size)

    def _put_records(self, read: _Read, run: list[bytes], pieces: list[Chunk]) -> int:
        """Put a partition's records into the answer; how many bytes `pieces` grew by."""
        log_slice = read.slice
        assert log_slice is not None
        if read.records is not None:
            run.append(read.records)
            return 0
        grown = _close_run(run, pieces) + log_slice.size
        pieces.append(FileChunk(log_slice.file, log_slice.position, log_slice.size))
        return grown

    def _worth_telling(self) -> list[_Read]:
        """The partitions of an incremental answer: records, an error, or a moved mark."""
        return [
            read
            for read in self.reads
            if read.slice is not None
            or read.head.error_code
            or read.head.diverging_epoch is not None
            or read.head.high_watermark != read.fetch.told_high_watermark
            or read.head.log_start_offset != read.fetch.told_log_start_offset
        ]

    def _remember(self, reads: list[_Read]) -> None:
        probe = self.context.services.probe
        served = []
        for read in reads:
            wanted, head = read.fetch, read.head
            # An error is told again, and cleared by a changed mark, until it is gone.
            wanted.told_high_watermark = -1 if head.error_code else head.high_watermark
            wanted.told_log_start_offset = head.log_start_offset
            if read.slice is not None:
                served.append((wanted.topic, wanted.index))
                assert read.partition is not None
                probe.fetched(read.partition.topic_partition.topic, read.slice.size)
            elif head.error_code:
                probe.fetch_failed(Err(head.error_code))
        if self.fetch_session is not None and len(self.partitions) > 1:
            self.fetch_session.serve_later(served)

    def _frame(self, pieces: list[Chunk], size: int) -> list[Chunk]:
        context = self.context
        header = response_header(ApiKey.FETCH, context.api_version, context.correlation_id)
        first = pieces[0]
        assert isinstance(first, bytes)
        pieces[0] = b"".join((_SIZE.pack(len(header) + size), header, first))
        return pieces


def _close_run(run: list[bytes], pieces: list[Chunk]) -> int:
    """Join the byte pieces so far into one; how many bytes that is."""
    joined = b"".join(run)
    run.clear()
    if joined:
        pieces.append(joined)
    return len(joined)


def _warm_all(slices: list[LogSlice]) -> None:
    for log_slice in slices:
        warm(log_slice.file.fileno(), log_slice.position, log_slice.size)
