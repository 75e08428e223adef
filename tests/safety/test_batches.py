"""Record batches that lie or explode: refused with Kafka's codes, or kept without harm to anybody.

A broker that keeps batches opaque meets their content late: when a topic is compacted, recompressed, bounded
in time or searched by time. Whatever it finds there, it goes on, within bounds of memory and time.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from crc32c import crc32c

from odradek.errors import Err
from odradek.protocol.messages import fetch, produce
from odradek.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.records.builder import build_batch
from odradek.records.compression import Codec, compress
from odradek.records.record import Record, read_records

PLAIN = "batches-plain"
COMPACTED = "batches-compacted"
RECOMPRESSED = "batches-recompressed"
BOUNDED = "batches-bounded"
SEARCHED = "batches-searched"
# What one batch may expand to, in megabytes, and a copy of it on the way.
BOMB_PEAK_MB_MAX = 400


@pytest.fixture(scope="module")
def broker(start_module_broker: Any, talk: Any) -> Any:
    """A broker whose cleaner is always at work."""
    broker = start_module_broker({"log.cleaner.backoff.ms": "200"})
    with socket.create_connection(broker.address, 30) as sock:
        talk.create_topic(sock, PLAIN)
        talk.create_topic(sock, COMPACTED, 1, {"cleanup.policy": "compact"})
        talk.create_topic(sock, RECOMPRESSED, 1, {"compression.type": "gzip"})
        talk.create_topic(sock, BOUNDED, 1, {"message.timestamp.before.max.ms": "86400000"})
        talk.create_topic(sock, SEARCHED, 1, {"segment.bytes": "1100000"})
    return broker


@pytest.fixture
def sock(broker: Any, dial: Any) -> socket.socket:
    return dial(broker.address)


@pytest.fixture(autouse=True)
def stays_well(broker: Any, bystander: Any) -> Iterator[Any]:
    """Around every test: a client that must be served, and no traceback."""
    logged = len(broker.output())
    with bystander(broker.address) as client:
        yield client
    assert broker.is_alive()
    log = broker.output()[logged:]
    assert "Traceback" not in log, log[-4000:]


def now_ms() -> int:
    return int(time.time() * 1000)


def batch_of(
    payload: bytes,
    *,
    count: int = 1,
    last_offset_delta: int | None = None,
    attributes: int = 0,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    base_offset: int = 0,
    magic: int = 2,
    crc_off: int = 0,
    length_off: int = 0,
) -> bytes:
    """A batch with a right CRC that says whatever it is told to say."""
    base_timestamp = now_ms() if base_timestamp is None else base_timestamp
    rest = (
        struct.pack(
            ">hiqqqhii",
            attributes,
            count - 1 if last_offset_delta is None else last_offset_delta,
            base_timestamp,
            base_timestamp if max_timestamp is None else max_timestamp,
            *producer,
            count,
        )
        + payload
    )
    crc = (crc32c(rest) + crc_off) & 0xFFFFFFFF
    return struct.pack(">qiibI", base_offset, len(rest) + 9 + length_off, -1, magic, crc) + rest


def record(value: bytes, key: bytes = b"k", delta: int = 0) -> bytes:
    body = b"\0\0" + varint(delta) + varint(len(key)) + key + varint(len(value)) + value + b"\0"
    return varint(len(body)) + body


def varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 127:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def send(talk: Any, sock: socket.socket, topic: str, batch: bytes) -> Any:
    data = produce.PartitionProduceData(index=0, records=batch)
    request = produce.ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[produce.TopicProduceData(name=topic, partition_data=[data])],
    )
    return talk.ask(sock, request, 9).responses[0].partition_responses[0]


def read(talk: Any, sock: socket.socket, topic: str, offset: int) -> Any:
    wanted = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 24)
    request = fetch.FetchRequest(
        max_bytes=1 << 24, topics=[fetch.FetchTopic(topic=topic, partitions=[wanted])]
    )
    return talk.ask(sock, request, 4).responses[0].partitions[0]


def offset_at(talk: Any, sock: socket.socket, topic: str, timestamp: int) -> Any:
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsTopic(name=topic, partitions=[wanted])]
    answer = talk.ask(sock, ListOffsetsRequest(replica_id=-1, topics=topics), 7)
    return answer.topics[0].partitions[0]


# -- headers that lie --------------------------------------------------------------------------

ONE = record(b"value")
LIES: dict[str, tuple[Callable[[], bytes], Err]] = {
    "CRC": (lambda: batch_of(ONE, crc_off=1), Err.CORRUPT_MESSAGE),
    "magic 0": (lambda: batch_of(ONE, magic=0), Err.INVALID_RECORD),
    "magic 1": (lambda: batch_of(ONE, magic=1), Err.INVALID_RECORD),
    "magic 3": (lambda: batch_of(ONE, magic=3), Err.CORRUPT_MESSAGE),
    "magic -1": (lambda: batch_of(ONE, magic=-1), Err.CORRUPT_MESSAGE),
    "no batch": (lambda: b"", Err.INVALID_RECORD),
    "half a header": (lambda: batch_of(ONE)[:30], Err.INVALID_RECORD),
    "cut short": (lambda: batch_of(ONE)[:-1], Err.INVALID_RECORD),
    "length negative": (lambda: batch_of(ONE, length_off=-1000), Err.CORRUPT_MESSAGE),
    "length too large": (lambda: batch_of(ONE, length_off=1 << 30), Err.INVALID_RECORD),
    "two batches": (lambda: batch_of(ONE) * 2, Err.INVALID_RECORD),
    "count 0": (lambda: batch_of(b"", count=0), Err.INVALID_RECORD),
    "count negative": (lambda: batch_of(ONE, count=-1), Err.INVALID_RECORD),
    "count and delta differ": (lambda: batch_of(ONE, last_offset_delta=7), Err.INVALID_RECORD),
    "base offset": (lambda: batch_of(ONE, base_offset=5), Err.INVALID_RECORD),
    "control": (lambda: batch_of(ONE, attributes=0x20), Err.INVALID_RECORD),
    "codec 5": (lambda: batch_of(ONE, attributes=5), Err.UNSUPPORTED_COMPRESSION_TYPE),
    "codec 7": (lambda: batch_of(ONE, attributes=7), Err.UNSUPPORTED_COMPRESSION_TYPE),
    "producer without epoch": (lambda: batch_of(ONE, producer=(5, -1, 0)), Err.INVALID_RECORD),
    "producer without sequence": (lambda: batch_of(ONE, producer=(5, 0, -1)), Err.INVALID_RECORD),
    "transactional without producer": (
        lambda: batch_of(ONE, attributes=0x10),
        Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    "time far in the future": (
        lambda: batch_of(ONE, base_timestamp=2**62),
        Err.INVALID_TIMESTAMP,
    ),
    "too large": (lambda: batch_of(record(bytes(2_000_000))), Err.MESSAGE_TOO_LARGE),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_headers_that_lie_are_refused(broker: Any, sock: Any, talk: Any, lie: str) -> None:
    """Nothing of it is appended; the reply has Kafka's code and a text that says why."""
    make, err = LIES[lie]
    end = offset_at(talk, sock, PLAIN, -1).offset
    answer = send(talk, sock, PLAIN, make())
    assert Err(answer.error_code) is err
    assert answer.error_message
    assert answer.base_offset == -1
    assert offset_at(talk, sock, PLAIN, -1).offset == end


# -- records that lie --------------------------------------------------------------------------

LYING_RECORDS = {
    "noise": bytes(range(200)),
    "nothing": b"",
    "fewer than counted": ONE,
    "more than counted": ONE * 4,
    "a length beyond the end": varint(1 << 20) + ONE,
    "a negative length": varint(-5) + ONE,
    "an endless varint": b"\xff" * 50,
    "the same delta twice": record(b"a", delta=0) + record(b"b", delta=0) + record(b"c", delta=2),
    "a delta beyond the last": record(b"a") + record(b"b", delta=1) + record(b"c", delta=1 << 20),
    "a key beyond the record": b"\x10\0\0\0" + varint(100) + b"k" * 20,
}
NOT_COMPRESSED = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


@pytest.mark.parametrize("topic", [COMPACTED, RECOMPRESSED, BOUNDED])
def test_records_that_lie_are_refused_where_they_are_opened(
    broker: Any, sock: Any, talk: Any, topic: str
) -> None:
    """A topic whose settings make the broker open batches refuses those it cannot read."""
    refusals = (Err.CORRUPT_MESSAGE, Err.INVALID_RECORD)
    for payload in LYING_RECORDS.values():
        answer = send(talk, sock, topic, batch_of(payload, count=3))
        assert Err(answer.error_code) in refusals
        assert answer.error_message
    for codec in NOT_COMPRESSED.values():
        if topic == RECOMPRESSED and codec == Codec.GZIP:
            continue  # as the topic wants it: stays closed
        answer = send(talk, sock, topic, batch_of(b"not compressed at all", attributes=codec))
        assert Err(answer.error_code) is Err.CORRUPT_MESSAGE


def test_records_that_lie_stay_closed_elsewhere(broker: Any, sock: Any, talk: Any) -> None:
    """Opaque batches are kept; readers get their bytes, look-ups by time and compaction survive them.

    The records around them are found, kept and compacted as if the liars were not there.
    """
    topic = "batches-liars"
    talk.create_topic(sock, topic, 1, {"segment.bytes": "2000", "min.cleanable.dirty.ratio": "0"})
    liars = [batch_of(payload, count=3) for payload in LYING_RECORDS.values()]
    liars += [batch_of(b"no " * 20, attributes=codec) for codec in NOT_COMPRESSED.values()]
    honest_offsets = []
    for number, liar in enumerate(liars * 2):
        honest = bytes(build_batch([Record(0, now_ms(), b"key", b"%d" % number, ())]))
        honest_offsets.append(send(talk, sock, topic, honest).base_offset)
        assert send(talk, sock, topic, liar).error_code == 0
    end = offset_at(talk, sock, topic, -1).offset
    for offset in range(end):
        found = read(talk, sock, topic, offset)
        assert found.error_code == 0
        assert len(found.records) > 0
    for timestamp in (0, now_ms() - 1000, now_ms(), -3):
        assert offset_at(talk, sock, topic, timestamp).error_code == 0
    compact(talk, sock, topic)
    deadline = time.monotonic() + 30
    while read(talk, sock, topic, honest_offsets[0]).records[:8] == bytes(8):
        assert time.monotonic() < deadline, "the cleaner does nothing"
        time.sleep(0.2)
    found = read(talk, sock, topic, honest_offsets[-1])
    first = bytes(found.records)
    size = 12 + struct.unpack_from(">i", first, 8)[0]
    (kept,) = read_records(first[:size])
    assert (kept.offset, kept.key) == (honest_offsets[-1], b"key")


def compact(talk: Any, sock: socket.socket, topic: str) -> None:
    change = AlterableConfig(name="cleanup.policy", config_operation=0, value="compact")
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=[change])
    answer = talk.ask(sock, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0


# -- bombs -------------------------------------------------------------------------------------

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
# As much as fits into a message of a megabyte, but not into what a broker expands.
BOMB_BYTES = {
    Codec.GZIP: 300 * 10**6,
    Codec.SNAPPY: 20 * 10**6,
    Codec.LZ4: 240 * 10**6,
    Codec.ZSTD: 300 * 10**6,
}


@pytest.fixture(scope="module")
def bombs() -> dict[Codec, bytes]:
    """One record of many megabytes of zeros, in each codec."""
    return {
        codec: batch_of(compress(codec, record(bytes(BOMB_BYTES[codec]))), attributes=codec)
        for codec in CODECS
    }


@pytest.mark.parametrize("topic", [COMPACTED, RECOMPRESSED, BOUNDED])
@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_bombs_are_defused(
    broker: Any, sock: Any, talk: Any, bombs: dict[Codec, bytes], codec: Codec, topic: str
) -> None:
    """What expands beyond the bound is refused; memory stays bounded; nobody waits for long."""
    broker.reset_peak_rss()
    before_mb = broker.rss_mb()
    started = time.monotonic()
    answer = send(talk, sock, topic, bombs[codec])
    stays_closed = topic == RECOMPRESSED and codec is Codec.GZIP
    small_enough = codec is Codec.SNAPPY
    expected = Err.NONE if small_enough or stays_closed else Err.CORRUPT_MESSAGE
    assert Err(answer.error_code) is expected
    assert broker.peak_rss_mb() - before_mb < BOMB_PEAK_MB_MAX
    assert time.monotonic() - started < 5


def test_bombs_may_lie_in_a_log(
    broker: Any, sock: Any, talk: Any, bombs: dict[Codec, bytes], stays_well: Any
) -> None:
    """A topic that keeps them closed serves them; look-ups by time and compaction stay bounded."""
    sent_ms = now_ms()
    for bomb in bombs.values():
        assert send(talk, sock, SEARCHED, bomb).error_code == 0
    broker.reset_peak_rss()
    before_mb = broker.rss_mb()
    for timestamp in (0, sent_ms, -3):
        assert offset_at(talk, sock, SEARCHED, timestamp).error_code == 0
    compact(talk, sock, SEARCHED)
    time.sleep(2.0)
    assert "goes offline" not in broker.output()
    for offset in range(len(bombs)):
        assert len(read(talk, sock, SEARCHED, offset).records) > 0
    assert broker.peak_rss_mb() - before_mb < BOMB_PEAK_MB_MAX
    assert max(stays_well.seconds) < 2.0


def test_many_bombs_leave_nothing_behind(
    broker: Any, sock: Any, talk: Any, bombs: dict[Codec, bytes]
) -> None:
    """Twenty in a row cost as much memory as one."""
    before_mb = broker.rss_mb()
    broker.reset_peak_rss()
    for _ in range(20):
        assert send(talk, sock, COMPACTED, bombs[Codec.ZSTD]).error_code != 0
    assert broker.peak_rss_mb() - before_mb < BOMB_PEAK_MB_MAX


@pytest.mark.parametrize("topic", [COMPACTED, RECOMPRESSED])
def test_many_small_records_do_not_make_others_wait(
    broker: Any, sock: Any, talk: Any, topic: str, stays_well: Any
) -> None:
    """Half a megabyte of tiny records, on a topic that must open them."""
    count = 500_000
    payload = b"".join(record(b"", b"k", delta) for delta in range(count))
    batch = batch_of(compress(Codec.ZSTD, payload), count=count, attributes=Codec.ZSTD)
    answer = send(talk, sock, topic, batch)
    assert Err(answer.error_code) in (Err.NONE, Err.MESSAGE_TOO_LARGE)
    time.sleep(0.1)
    assert max(stays_well.seconds) < 0.4
