"""What a leader checks before it appends: the header always, records only where asked.

The usual produce request (one batch, CreateTime, the producer's own codec, not compacted) is
accepted by one chain of comparisons over the unpacked header and one CRC pass. Whatever does not
pass goes through the careful path, which finds the reason and says it, or does the work that the
topic asks for:

- LogAppendTime: attributes, max timestamp and CRC are rewritten in place;
- compacted: every record must have a key (KIP-467 names each that has none);
- timestamps outside the topic's bounds: each such record is named;
- a topic codec other than the producer's: the batch is rebuilt;
- a max timestamp that cannot be true: it is read from the records and corrected, as Kafka does.

Errors and their codes are those of Apache Kafka 4; formats 0 and 1 are refused as there.

Pure functions; any thread may call them. `data` must be writable for LogAppendTime, else a copy
is made.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from crc32c import crc32c

from odradek.errors import ApiError, Err, RecordError
from odradek.records.batch import (
    CODEC_MASK,
    CONTROL,
    CRC_START,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_OFFSET,
    PREFIX,
    PREFIX_BYTES,
    TRANSACTIONAL,
    BatchHeader,
    read_header,
    stamp_append_time,
    stamp_max_timestamp,
)
from odradek.records.builder import build_batch
from odradek.records.compression import DECOMPRESSED_BYTES_MAX, Codec, codec_of
from odradek.records.record import payload_of, read_records, scan_records
from odradek.types import NO_TIMESTAMP

CREATE_TIME: Final = "CreateTime"
APPEND_TIME: Final = "LogAppendTime"
PRODUCER_CODEC: Final = "producer"
# The default of message.timestamp.before.max.ms: any time in the past will do.
ANY_TIME_BEFORE: Final = 2**63 - 1
# Bits that a client's batch may have: a codec, transactional.
_CLIENT_ATTRIBUTES: Final = CODEC_MASK | TRANSACTIONAL
_MAX_CODEC: Final = Codec.ZSTD
# Kafka's shortest record, of format 0, after the log's own 12 bytes; less is not even an old batch.
_LEGACY_BYTES_MIN: Final = 14


class AppendRules(NamedTuple):
    """What a topic's configuration says about appends."""

    max_message_bytes: int = 1024 * 1024 + 12
    timestamp_type: str = CREATE_TIME
    timestamp_before_max_ms: int = ANY_TIME_BEFORE
    timestamp_after_max_ms: int = 3_600_000
    compression: str = PRODUCER_CODEC
    compacted: bool = False
    compression_level: int | None = None


# What to append, and the headers of the batches in it.
CheckedBatches = tuple[memoryview, list[BatchHeader]]


def opens_records(rules: AppendRules) -> bool:
    """Whether checking a batch of such a topic means to look at each of its records."""
    return (
        rules.compacted
        or rules.compression != PRODUCER_CODEC
        or rules.timestamp_before_max_ms != ANY_TIME_BEFORE
    )


def check_batches(
    data: memoryview, rules: AppendRules, now_ms: int, *, from_client: bool = True
) -> CheckedBatches:
    """What to append and its headers; ApiError with Kafka's code when it must not be appended.

    What does not come from a client was built by a broker: it may hold several batches and
    markers, keeps its timestamps and codec, and only has to be whole.
    """
    size = len(data)
    if from_client and size >= HEADER_BYTES:
        header = HEADER.unpack_from(data)
        (
            base_offset,
            batch_length,
            _,
            magic,
            crc,
            attributes,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            record_count,
        ) = header
        (
            max_message_bytes,
            timestamp_type,
            timestamp_before_max_ms,
            timestamp_after_max_ms,
            compression,
            compacted,
            _,
        ) = rules
        if (
            magic == MAGIC
            and batch_length == size - PREFIX_BYTES
            and size <= max_message_bytes
            and not attributes & ~_CLIENT_ATTRIBUTES
            and attributes & CODEC_MASK <= _MAX_CODEC
            and record_count == last_offset_delta + 1 > 0
            and not base_offset
            and base_timestamp <= max_timestamp <= now_ms + timestamp_after_max_ms
            and (
                (base_sequence >= 0 and producer_epoch >= 0)
                if producer_id >= 0
                else not attributes & TRANSACTIONAL
            )
            and compression == PRODUCER_CODEC
            and not compacted
            and timestamp_type == CREATE_TIME
            and timestamp_before_max_ms == ANY_TIME_BEFORE
            and crc32c(data[CRC_START:]) == crc
        ):
            return data, [BatchHeader._make(header)]
    headers = _split(data)
    if from_client:
        if len(headers) > 1:
            raise ApiError(Err.INVALID_RECORD, "send exactly one record batch per partition")
        _check_size(headers[0], rules.max_message_bytes)
    _check_crcs(data, headers)
    if not from_client:
        return data, headers
    _check_client_header(headers[0])
    return _check_and_rewrite(data, headers[0], rules, now_ms)


def _split(data: memoryview) -> list[BatchHeader]:
    """The headers of whole batches of format 2, which fill `data` to its last byte."""
    headers: list[BatchHeader] = []
    position, end = 0, len(data)
    while position < end:
        if end - position > PREFIX_BYTES:
            _, batch_length = PREFIX.unpack_from(data, position)
            if batch_length < _LEGACY_BYTES_MIN:
                raise ApiError(Err.CORRUPT_MESSAGE, f"a batch says it has {batch_length} bytes")
        if end - position > MAGIC_OFFSET:
            _check_magic(data[position + MAGIC_OFFSET])
        if end - position < HEADER_BYTES:
            raise ApiError(Err.INVALID_RECORD, "the record batch is shorter than its header")
        header = read_header(data, position)
        if header.size_bytes > end - position:
            raise ApiError(Err.INVALID_RECORD, "the record batch is longer than what was sent")
        if header.size_bytes < HEADER_BYTES:
            raise ApiError(Err.CORRUPT_MESSAGE, f"a batch says it has {header.batch_length} bytes")
        headers.append(header)
        position += header.size_bytes
    if not headers:
        raise ApiError(Err.INVALID_RECORD, "send at least one record batch per partition")
    return headers


def _check_crcs(data: memoryview, headers: list[BatchHeader]) -> None:
    position = 0
    for header in headers:
        end = position + header.size_bytes
        if crc32c(data[position + CRC_START : end]) != header.crc:
            raise ApiError(
                Err.CORRUPT_MESSAGE,
                "the batch's CRC-32C does not match: it changed on its way here",
            )
        position = end


def _check_magic(magic: int) -> None:
    if magic == MAGIC:
        return
    if magic < MAGIC:
        raise ApiError(
            Err.INVALID_RECORD,
            f"record format {magic} is no longer accepted; use a client of Kafka 0.11 or later",
        )
    raise ApiError(Err.CORRUPT_MESSAGE, f"there is no record format {magic}")


def _check_size(header: BatchHeader, max_message_bytes: int) -> None:
    if header.size_bytes > max_message_bytes:
        raise ApiError(
            Err.MESSAGE_TOO_LARGE,
            f"the batch has {header.size_bytes} bytes; max.message.bytes is {max_message_bytes}",
        )


def _check_client_header(header: BatchHeader) -> None:
    """What a client may say in a header."""
    if header.base_offset != 0:
        raise ApiError(Err.INVALID_RECORD, f"base offset must be 0, not {header.base_offset}")
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        raise ApiError(
            Err.INVALID_RECORD,
            f"a batch with last offset delta {header.last_offset_delta} "
            f"cannot have {header.record_count} records",
        )
    if header.attributes & CONTROL:
        raise ApiError(Err.INVALID_RECORD, "clients may not write control records")
    if header.codec > _MAX_CODEC:
        raise ApiError(
            Err.UNSUPPORTED_COMPRESSION_TYPE, f"there is no codec with number {header.codec}"
        )
    if header.producer_id >= 0 and (header.base_sequence < 0 or header.producer_epoch < 0):
        raise ApiError(
            Err.INVALID_RECORD,
            f"producer id {header.producer_id} comes with sequence {header.base_sequence} "
            f"and epoch {header.producer_epoch}",
        )
    if header.is_transactional and header.producer_id < 0:
        raise ApiError(Err.INVALID_RECORD, "a transactional batch needs a producer id")


def _check_and_rewrite(
    data: memoryview, header: BatchHeader, rules: AppendRules, now_ms: int
) -> tuple[memoryview, list[BatchHeader]]:
    """Do what the topic asks for beyond the header."""
    append_time = rules.timestamp_type == APPEND_TIME
    if append_time and header.attributes & LOG_APPEND_TIME:
        # Kafka names every record; their number is all that is needed to do the same.
        text = "LogAppendTime is set by the broker, not by a producer"
        raise _refusal(
            Err.INVALID_TIMESTAMP,
            [RecordError(index, text) for index in range(header.record_count)],
        )
    max_timestamp = header.max_timestamp
    if rules.compacted or _may_break_bounds(header, rules, now_ms):
        max_timestamp = _check_records(data, header, rules, now_ms)
    wanted = header.codec if rules.compression == PRODUCER_CODEC else codec_of(rules.compression)
    if wanted != header.codec:
        data = memoryview(_rebuild(data, header, wanted, rules, now_ms if append_time else None))
        header = read_header(data)
        _check_size(header, rules.max_message_bytes)
    elif append_time:
        data = _writable(data)
        stamp_append_time(data, 0, now_ms)
        header = read_header(data)
    elif max_timestamp != header.max_timestamp or header.attributes & ~_CLIENT_ATTRIBUTES:
        data = _writable(data)
        stamp_max_timestamp(data, 0, max_timestamp, _CLIENT_ATTRIBUTES)
        header = read_header(data)
    return data, [header]


def _may_break_bounds(header: BatchHeader, rules: AppendRules, now_ms: int) -> bool:
    """Whether only the records can tell if every timestamp is allowed."""
    return rules.timestamp_type == CREATE_TIME and (
        rules.timestamp_before_max_ms != ANY_TIME_BEFORE
        or header.max_timestamp > now_ms + rules.timestamp_after_max_ms
        or header.base_timestamp > header.max_timestamp
    )


def _check_records(data: memoryview, header: BatchHeader, rules: AppendRules, now_ms: int) -> int:
    """The true max timestamp; or a refusal that names all bad keys and timestamps (KIP-467)."""
    payload = payload_of(data, header, DECOMPRESSED_BYTES_MAX)
    earliest = now_ms - rules.timestamp_before_max_ms
    latest = now_ms + rules.timestamp_after_max_ms
    create_time = rules.timestamp_type == CREATE_TIME
    base, stamped = header.base_timestamp, header.attributes & LOG_APPEND_TIME
    max_timestamp = NO_TIMESTAMP
    errors: list[RecordError] = []
    err = Err.INVALID_RECORD
    for index, span in enumerate(
        scan_records(payload, header.record_count, header.last_offset_delta)
    ):
        timestamp = header.max_timestamp if stamped else base + span.timestamp_delta
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        if rules.compacted and span.key is None:
            errors.append(RecordError(index, "a compacted topic needs a key in every record"))
        elif create_time and timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
            err = Err.INVALID_TIMESTAMP
            text = f"timestamp {timestamp} is not within [{earliest}, {latest}]"
            errors.append(RecordError(index, text))
    if errors:
        raise _refusal(err, errors)
    return max_timestamp


def _refusal(err: Err, errors: list[RecordError]) -> ApiError:
    reason = errors[0].message
    return ApiError(err, f"{len(errors)} records are refused; the first: {reason}", errors)


def _rebuild(
    data: memoryview,
    header: BatchHeader,
    codec: int,
    rules: AppendRules,
    append_time_ms: int | None,
) -> bytearray:
    """The same records under another codec."""
    return build_batch(
        list(read_records(data, DECOMPRESSED_BYTES_MAX)),
        codec=codec,
        level=rules.compression_level,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        append_time_ms=append_time_ms,
    )


def _writable(data: memoryview) -> memoryview:
    return memoryview(bytearray(data)) if data.readonly else data
