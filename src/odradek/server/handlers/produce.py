"""Produce: append each partition's batch, answer when `acks` is satisfied.

acks 0 gets no bytes back; an error then closes the connection, which is all such a client can notice.
acks 1 is answered once the leader's log has the records, acks -1 once all in-sync replicas have them.
Record batches go from the receive buffer to the file without being copied or opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final
from uuid import UUID

from odradek.errors import ApiError, Err, RecordError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import decode_from, encode
from odradek.protocol.hot.produce import TOPIC_IDS_FROM, PartitionDone, encode_success
from odradek.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.records.batch import CRC_START, HEADER_BYTES, TRANSACTIONAL, read_header
from odradek.records.compression import Codec
from odradek.records.validation import CheckedBatches
from odradek.replication.partition import Partition
from odradek.replication.purgatory import DelayedProduce, Required
from odradek.server.context import Context
from odradek.server.registry import handles_raw
from odradek.server.replies import frame_reply
from odradek.server.session import Session
from odradek.server.transactional_writes import TransactionalBatch, refused_writes

ACKS: Final = (0, 1, -1)
VERSIONS: Final = range(3, 14)
# KIP-110: a client that speaks an older version cannot have zstd.
ZSTD_FROM: Final = 7
# Batches up to this are opened where they are: about two milliseconds at the most.
CHECK_HERE_BYTES_MAX: Final = 4 * 1024

Checked = CheckedBatches | ApiError


# Advertised from 0: librdkafka decides by that whether it may compress (KAFKA-18659).
@handles_raw(ApiKey.PRODUCE, versions=VERSIONS, advertised_from=0)
def produce(session: Session, context: Context, frame: memoryview, body_offset: int) -> None:
    """Append, then answer now, later (followers must fetch, a disk must sync), or never (acks 0)."""
    request, _ = decode_from(ProduceRequest, frame, body_offset, context.api_version)
    work = _Produce(session, context, request)
    checks = work.long_checks()
    if not checks:
        work.append_and_answer()
        return
    session.park()

    def checked(results: dict[int, Checked] | BaseException) -> None:
        assert isinstance(results, dict), results
        work.checked = results
        if session.closed:
            work.append_all()  # what was sent is appended, whether or not somebody hears of it
        else:
            session.retry(session.guard(work.append_and_answer))

    context.services.background.submit(partial(_check_all, checks), checked)


class _Produce:
    """One request on its way."""

    __slots__ = (
        "_refused",
        "checked",
        "context",
        "done",
        "errors",
        "request",
        "required",
        "session",
    )

    def __init__(self, session: Session, context: Context, request: ProduceRequest) -> None:
        self.session = session
        self.context = context
        self.request = request
        # What the pool found out about batches that it checked, by the id of their request entry.
        self.checked: dict[int, Checked] = {}
        self.done: list[tuple[str | bytes, list[PartitionDone]]] = []
        # (topic, index, error) of the partitions that refused.
        self.errors: list[tuple[str | bytes, int, ApiError]] = []
        # What must still happen before the answer.
        self.required: dict[Partition, Required] = {}
        # Partitions that are no part of the producer's transaction; None: nobody has asked.
        self._refused: dict[Partition, ApiError] | None = None

    def long_checks(self) -> dict[int, Callable[[], CheckedBatches]]:
        """Batches whose records must be opened, which may take seconds: the pool checks them first."""
        checks = {}
        now_ms = self.context.services.clock.now_ms()
        for topic_data in self.request.topic_data:
            topic = self._key(topic_data)
            for data in topic_data.partition_data:
                records = data.records
                if isinstance(records, memoryview) and len(records) > CHECK_HERE_BYTES_MAX:
                    try:
                        log = self._find(topic, data.index).log
                    except ApiError:
                        continue  # told when it comes to appending
                    if log.opens_records:
                        checks[id(data)] = log.prepare_check(records, now_ms)
        return checks

    def append_and_answer(self) -> None:
        """Append, then answer now, or when what is required has happened."""
        session, context, request = self.session, self.context, self.request
        self.append_all()
        if request.acks == 0:
            if self.failed:
                reason = self.errors[0][2].message
                session.close(f"acks=0 produce of client {context.client_id!r} failed: {reason}")
        elif self.required:
            session.park()
            waiting = DelayedProduce(
                self.required,
                request.timeout_ms,
                context.services.timers,
                context.services.call_soon,
                session.guard(self.finish_waiting),
            )
            session.on_abandon = waiting.cancel
        else:
            session.reply_bytes(self.reply())

    @property
    def failed(self) -> bool:
        return bool(self.errors)

    def append_all(self) -> None:
        if self.request.acks not in ACKS:
            error = ApiError(
                Err.INVALID_REQUIRED_ACKS,
                f"acks is {self.request.acks}; it must be 0, 1 or -1 (all)",
            )
            self.errors = [
                (self._key(topic), data.index, error)
                for topic in self.request.topic_data
                for data in topic.partition_data
            ]
            return
        now_ms = self.context.services.clock.now_ms()
        for topic in self.request.topic_data:
            self._append_topic(topic, now_ms)

    def _key(self, topic: TopicProduceData) -> str | bytes:
        """How the request names a topic: by the bytes of its id from v13 on."""
        by_id = self.context.api_version >= TOPIC_IDS_FROM
        return topic.topic_id.bytes if by_id else topic.name

    def _append_topic(self, topic_data: TopicProduceData, now_ms: int) -> None:
        topic = self._key(topic_data)
        acks = self.request.acks
        version = self.context.api_version
        replicas = self.context.services.replicas
        probe = self.context.services.probe
        done: list[PartitionDone] = []
        for data in topic_data.partition_data:
            index, records = data.index, data.records
            try:
                partition = self._find(topic, index)
                if not isinstance(records, memoryview):
                    raise ApiError(
                        Err.INVALID_RECORD, "send at least one record batch per partition"
                    )
                if version < ZSTD_FROM:
                    _refuse_zstd(records)
                if _is_transactional(records):
                    self._check_transaction(partition)
                result = replicas.append(
                    partition, records, acks, now_ms, checked=self._take_check(data)
                )
            except ApiError as error:
                # Not the one that was raised: with its traceback it holds all that those frames held,
                # expanded batches for one, and in a cycle with this frame.
                refusal = ApiError(error.err, error.message, error.record_errors)
                self.errors.append((topic, index, refusal))
                probe.produce_failed(error.err)
                continue
            if not result.duplicate:
                probe.appended(
                    partition.topic_partition.topic, result.record_count, result.size_bytes
                )
            done.append(
                (index, result.first_offset, result.log_append_time_ms, result.log_start_offset)
            )
            end_offset = result.last_offset + 1
            log = partition.log
            replicated = acks == -1 and log.high_watermark < end_offset
            synced = end_offset - log.recovery_point >= log.config.flush_messages
            if replicated or synced:
                self.required[partition] = Required(end_offset, replicated, synced)
        self.done.append((topic, done))

    def _take_check(self, data: PartitionProduceData) -> CheckedBatches | None:
        """What the pool found out about a batch; None when it is to be checked here."""
        found = self.checked.get(id(data))
        if isinstance(found, ApiError):
            raise found
        return found

    def _find(self, topic: str | bytes, index: int) -> Partition:
        replicas = self.context.services.replicas
        if isinstance(topic, str):
            return replicas.find(topic, index)
        return replicas.find_by_id(topic, index)

    def _check_transaction(self, partition: Partition) -> None:
        """ApiError unless the partition is part of the producer's open transaction."""
        if self._refused is None:
            transactional_id = self.request.transactional_id
            self._refused = refused_writes(
                self.context, transactional_id, self._transactional_batches()
            )
        error = self._refused.get(partition)
        if error is not None:
            raise error

    def _transactional_batches(self) -> Iterator[TransactionalBatch]:
        for topic_data in self.request.topic_data:
            topic = self._key(topic_data)
            for data in topic_data.partition_data:
                records = data.records
                if isinstance(records, memoryview) and _is_transactional(records):
                    try:
                        partition = self._find(topic, data.index)
                    except ApiError:
                        continue  # told when its turn comes
                    yield TransactionalBatch(partition, read_header(records))

    def finish_waiting(self) -> None:
        """It is where it has to be, or never will be, or the time is up."""
        late = [p for p, wanted in self.required.items() if not wanted.is_met_by(p)]
        for partition in late:
            error = _why_late(partition)
            for topic, done in self.done:
                for entry in tuple(done):
                    if _is(partition, topic, entry[0]):
                        done.remove(entry)
                        self.errors.append((topic, entry[0], error))
        self.session.resume((self.reply(),))

    def reply(self) -> bytes:
        context = self.context
        version = context.api_version
        if self.errors:
            body = encode(self._response_with_errors(), version)
        else:
            body = encode_success(version, self.done)
        return frame_reply(ApiKey.PRODUCE, version, context.correlation_id, body)

    def _response_with_errors(self) -> ProduceResponse:
        done = {
            (topic, entry[0]): PartitionProduceResponse(
                index=entry[0],
                error_code=Err.NONE,
                base_offset=entry[1],
                log_append_time_ms=entry[2],
                log_start_offset=entry[3],
            )
            for topic, entries in self.done
            for entry in entries
        }
        for topic, index, error in self.errors:
            done[topic, index] = self._refusal(topic, index, error)
        responses = []
        for topic_data in self.request.topic_data:
            topic = self._key(topic_data)
            answers = [done[topic, data.index] for data in topic_data.partition_data]
            if isinstance(topic, str):
                responses.append(TopicProduceResponse(name=topic, partition_responses=answers))
            else:
                responses.append(
                    TopicProduceResponse(topic_id=UUID(bytes=topic), partition_responses=answers)
                )
        return ProduceResponse(responses=responses)

    def _refusal(self, topic: str | bytes, index: int, error: ApiError) -> PartitionProduceResponse:
        return PartitionProduceResponse(
            index=index,
            error_code=error.err,
            base_offset=-1,
            log_append_time_ms=-1,
            log_start_offset=-1,
            record_errors=[_record_error(e) for e in error.record_errors],
            error_message=error.message,
            current_leader=self._current_leader(topic, index, error),
        )

    def _current_leader(self, topic: str | bytes, index: int, error: ApiError) -> LeaderIdAndEpoch:
        """Who leads instead (KIP-951), so that the client need not ask again."""
        if error.err is not Err.NOT_LEADER_OR_FOLLOWER or not isinstance(topic, str):
            return LeaderIdAndEpoch()
        image = self.context.image.topics.get(topic)
        if image is None or index >= len(image.partitions):
            return LeaderIdAndEpoch()
        partition = image.partitions[index]
        return LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)


def _is_transactional(records: memoryview) -> bool:
    # The lower byte of the attributes.
    return len(records) >= HEADER_BYTES and bool(records[CRC_START + 1] & TRANSACTIONAL)


def _check_all(checks: dict[int, Callable[[], CheckedBatches]]) -> dict[int, Checked]:
    """Run in the pool: the checks, with refusals as values."""
    results: dict[int, Checked] = {}
    for key, check in checks.items():
        try:
            results[key] = check()
        except ApiError as error:
            results[key] = ApiError(error.err, error.message, error.record_errors)
    return results


def _refuse_zstd(records: memoryview) -> None:
    if len(records) >= HEADER_BYTES and read_header(records).codec == Codec.ZSTD:
        raise ApiError(
            Err.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce v{ZSTD_FROM} or newer"
        )


def _why_late(partition: Partition) -> ApiError:
    if not partition.is_leader:
        return ApiError(Err.NOT_LEADER_OR_FOLLOWER)
    if partition.log.dir.offline_reason is not None:
        return partition.log.dir.offline_error()
    return ApiError(Err.REQUEST_TIMED_OUT, "in-sync replicas or the disk did not take it in time")


def _is(partition: Partition, topic: str | bytes, index: int) -> bool:
    if partition.topic_partition.partition != index:
        return False
    return topic in (partition.topic_partition.topic, partition.topic_id.bytes)


def _record_error(error: RecordError) -> BatchIndexAndErrorMessage:
    return BatchIndexAndErrorMessage(
        batch_index=error.batch_index, batch_index_error_message=error.message
    )
