"""Where a consumer reads: assignments, seeks, look-ups by time, the limits of a fetch.

Scenarios S-5.5 (assign, then more partitions), S-5.11 (seek), S-5.12 and D3-09 (offsets for times, exact,
also when timestamps go backwards), S-5.13 (fetch limits and an oversized first batch).
"""

from __future__ import annotations

import asyncio
import time

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from odradek.errors import Err
from odradek.protocol.messages import fetch as f
from odradek.protocol.messages import list_offsets as lo
from odradek.records.batch import read_header, walk_headers
from odradek.records.builder import build_batch
from odradek.records.record import Record

# Recent, since retention removes what is older than a week at any moment.
T0 = time.time_ns() // 1_000_000 - 3_600_000


def batch_of(*records: tuple[int, bytes], codec: int = 0) -> bytes:
    """A batch of (timestamp, value) records."""
    return bytes(
        build_batch([Record(i, t, None, v, ()) for i, (t, v) in enumerate(records)], codec=codec)
    )


@pytest.fixture
def consumer(broker):
    """A librdkafka consumer that starts at the beginning and is in no group."""
    opened = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    yield opened
    opened.close()


def take(consumer: Consumer, count: int):
    """The next `count` messages."""
    found = []
    while len(found) < count:
        messages = consumer.consume(count - len(found), 30)
        assert messages, f"only {len(found)} of {count} came"
        assert all(message.error() is None for message in messages)
        found += messages
    return found


# -- assignments -----------------------------------------------------------------------------------


def test_an_assigned_consumer_reads_its_partitions_only(
    broker, make_topic, confluent, consumer, sent, settle
):
    """S-5.5: assigned to 0 and 1 it sees nothing of 2 and of partitions that come later."""
    topic = make_topic(partitions=3)
    confluent.produce(topic, [sent(b"%d" % p, partition=p) for p in (0, 1, 2)])
    consumer.assign([TopicPartition(topic, p, 0) for p in (0, 1)])
    assert {message.partition() for message in take(consumer, 2)} == {0, 1}

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(30)
    settle()
    confluent.produce(topic, [sent(b"again %d" % p, partition=p) for p in range(4)])
    assert {message.partition() for message in take(consumer, 2)} == {0, 1}
    assert consumer.consume(1, 0.2) == []

    consumer.incremental_assign([TopicPartition(topic, 3, 0)])
    (message,) = take(consumer, 1)
    assert (message.partition(), message.value()) == (3, b"again 3")


def test_an_unknown_topic_is_told(consumer):
    """A consumer that asks for a topic that is not there learns it, and makes none."""
    for _ in range(2):
        metadata = consumer.list_topics("there-is-no-such-topic", 30)
        error = metadata.topics["there-is-no-such-topic"].error
        assert error.name() == "UNKNOWN_TOPIC_OR_PART"


# -- seeks -----------------------------------------------------------------------------------------


def test_a_seek_decides_the_next_record(client, topic, sent):
    """S-5.11: after seek(n) the next record has offset n."""
    client.produce(topic, [sent(b"%d" % i) for i in range(20)])
    for offset in (13, 0, 19, 7):
        assert client.read(topic, 1, 0, offset)[0].offset == offset


def test_a_seek_inside_a_batch_finds_the_record(wire, topic, client):
    """S-5.11: the broker sends the whole batch that holds the offset; the client skips to it."""
    wire.produce(topic, batch_of(*((T0 + i, b"%d" % i) for i in range(10))))
    assert read_header(bytes(wire.fetch(topic, 6).records)).base_offset == 0
    assert [record.value for record in client.read(topic, 2, 0, 6)] == [b"6", b"7"]


def test_out_of_range_is_an_error_of_the_partition(wire, topic):
    """Offsets before the start and after the end are refused; the end itself is not."""
    wire.produce(topic, batch_of((T0, b"a"), (T0, b"b")))
    assert wire.fetch(topic, 2).error_code == 0
    assert wire.fetch(topic, 3).error_code == Err.OFFSET_OUT_OF_RANGE
    assert wire.fetch(topic, -1).error_code == Err.OFFSET_OUT_OF_RANGE


def test_a_consumer_out_of_range_is_reset(topic, confluent, consumer, sent):
    """auto.offset.reset=earliest: a position that does not exist becomes the beginning."""
    confluent.produce(topic, [sent(b"first"), sent(b"second")])
    consumer.assign([TopicPartition(topic, 0, 1000)])
    assert take(consumer, 1)[0].value() == b"first"


def test_the_beginning_and_the_end_are_known(client, topic, sent, consumer):
    """Watermarks: first offset and the one after the last."""
    client.produce(topic, [sent(b"x")] * 5)
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), 30) == (0, 5)


# -- by time ---------------------------------------------------------------------------------------

# Timestamps that go backwards within and between batches.
BACKWARDS = [[10, 30, 20], [15, 5], [40, 35, 50], [45]]


def expected(t: int) -> tuple[int, int] | None:
    """The first record, in offset order, with a timestamp of at least `t`."""
    times = [time for batch in BACKWARDS for time in batch]
    return next(((offset, time) for offset, time in enumerate(times) if time >= t), None)


@pytest.mark.parametrize("codec", [0, 4], ids=["plain", "zstd"])
def test_offsets_for_times_when_timestamps_go_backwards(wire, topic, broker, consumer, codec):
    """S-5.12, D3-09: the first record with timestamp >= t, exactly, for every t and client."""
    from kafka import KafkaConsumer
    from kafka import TopicPartition as KafkaPartition

    for batch in BACKWARDS:
        assert (
            wire.produce(
                topic, batch_of(*((T0 + t, b"%d" % t) for t in batch), codec=codec)
            ).error_code
            == 0
        )
    other = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    place = KafkaPartition(topic, 0)
    for t in range(0, 60, 5):
        wanted = expected(t)
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, T0 + t)], 30)
        # librdkafka says END (-1) where there is none
        assert found.offset == (wanted[0] if wanted else -1)
        answer = other.offsets_for_times({place: T0 + t})[place]
        assert (answer and (answer.offset, answer.timestamp - T0)) == wanted
    other.close()

    consumer.assign([TopicPartition(topic, 0, expected(35)[0])])
    assert take(consumer, 1)[0].value() == b"40"


def test_special_times_of_list_offsets(wire, topic, make_topic):
    """-1 is the end, -2 the beginning, -3 the record with the largest timestamp (KIP-734)."""
    for batch in BACKWARDS:
        wire.produce(topic, batch_of(*((T0 + t, b"") for t in batch)))

    def ask(name, timestamp, version=7):
        partition = lo.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = lo.ListOffsetsRequest(
            replica_id=-1, topics=[lo.ListOffsetsTopic(name=name, partitions=[partition])]
        )
        (found,) = wire.ask(request, version).topics[0].partitions
        return found.error_code, found.offset, found.timestamp

    assert ask(topic, -1) == (0, 9, -1)
    assert ask(topic, -2) == (0, 0, -1)
    assert ask(topic, -3) == (0, 7, T0 + 50)
    assert ask(topic, T0 + 1000) == (0, -1, -1)
    empty = make_topic()
    assert ask(empty, -1) == (0, 0, -1)
    assert ask(empty, -2) == (0, 0, -1)
    assert ask(empty, -3) == (0, -1, -1)
    assert ask("there-is-no-such-topic", -1)[0] == Err.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(topic, -1, version=1)[:2] == (0, 9)


def test_log_append_time_is_searched_too(wire, make_topic, broker, consumer):
    """S-5.12 on a LogAppendTime topic: the broker's times are what is looked up."""
    topic = make_topic(config={"message.timestamp.type": "LogAppendTime"})
    times = [
        wire.produce(topic, batch_of((1, b"a"), (1, b"b"))).log_append_time_ms for _ in range(2)
    ]
    assert times[0] > T0
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, times[0])], 30)
    assert found.offset == 0
    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, times[1] + 1)], 30)
    assert found.offset == -1


# -- limits of a fetch -----------------------------------------------------------------------------


def test_an_oversized_first_batch_still_comes(client, broker, topic, sent):
    """S-5.13: a batch larger than the limits is sent whole, or a consumer would never move on."""
    from kafka import KafkaConsumer
    from kafka import TopicPartition as KafkaPartition

    values = [bytes([i]) * 50_000 for i in range(4)]
    for value in values:
        client.produce(topic, [sent(value)])
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        fetch_max_bytes=1000,
        max_partition_fetch_bytes=1000,
    )
    place = KafkaPartition(topic, 0)
    consumer.assign([place])
    consumer.seek(place, 0)
    found = []
    while len(found) < len(values):
        polled = consumer.poll(30_000)
        assert polled
        found += [record.value for record in polled[place]]
    consumer.close()
    assert found == values


def test_a_fetch_is_bounded(wire, make_topic, connect):
    """S-5.13: whole first batch, then no more than the limits; each answer bounded."""
    topic = make_topic(partitions=2)
    batch = batch_of((T0, b"x" * 10_000))
    for _ in range(10):
        for partition in (0, 1):
            assert wire.produce(topic, batch, partition=partition).error_code == 0

    def ask(max_bytes, partition_max_bytes, version=11):
        partitions = [
            f.FetchPartition(partition=p, fetch_offset=0, partition_max_bytes=partition_max_bytes)
            for p in (0, 1)
        ]
        request = f.FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=max_bytes,
            topics=[f.FetchTopic(topic=topic, partitions=partitions)],
        )  # fmt: skip
        answer = wire.ask(request, version)
        return [len(p.records or b"") for p in answer.responses[0].partitions]

    size = len(batch)
    first, second = ask(1, 1 << 20)
    assert size <= first < 2 * size, "the first batch comes whole, and little more"
    assert second == 0
    first, second = ask(1 << 20, 1)
    assert size <= first < 2 * size
    assert second < size, "only the first partition's first batch may exceed its limit"
    first, second = ask(5 * size, 3 * size)
    assert 0 < first <= 3 * size
    assert first + second <= 5 * size
    assert ask(1 << 20, 1 << 20) == [10 * size, 10 * size]


def test_a_fetch_waits_for_what_is_not_there_yet(broker, topic, consumer, confluent, sent):
    """A consumer at the end gets a record when it is written, long before max_wait is over."""
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert consumer.poll(0.2) is None
    confluent.produce(topic, [sent(b"now")])
    assert take(consumer, 1)[0].value() == b"now"


def test_fetch_min_bytes_holds_the_answer_back(wire, topic, connect):
    """min_bytes that are not there: the answer comes at max_wait_ms, with what there is."""
    wire.produce(topic, batch_of((T0, b"little")))
    partition = f.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = f.FetchRequest(
        max_wait_ms=300, min_bytes=1 << 20, max_bytes=1 << 20,
        topics=[f.FetchTopic(topic=topic, partitions=[partition])],
    )  # fmt: skip
    start = time.monotonic()
    answer = connect().ask(request, 11)
    assert time.monotonic() - start >= 0.29
    (header,) = [h for _, h in walk_headers(bytes(answer.responses[0].partitions[0].records))]
    assert header.record_count == 1


def test_a_fetch_that_waits_is_answered_by_a_write(wire, topic, connect):
    """A parked fetch is completed by the produce it waited for, not by its time-out."""
    from concurrent.futures import ThreadPoolExecutor

    partition = f.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = f.FetchRequest(
        max_wait_ms=60_000, min_bytes=1, max_bytes=1 << 20,
        topics=[f.FetchTopic(topic=topic, partitions=[partition])],
    )  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(connect().ask, request, 11)
        wire.produce(topic, batch_of((T0, b"awaited")))
        answer = waiting.result(20)
    assert b"awaited" in bytes(answer.responses[0].partitions[0].records)


def test_many_consumers_read_the_same_partition(broker, topic, sent, open_client):
    """D0-07: reading takes nothing away; five readers at once all see everything."""
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as AioPartition

    open_client("confluent-kafka", broker.bootstrap_servers).produce(
        topic, [sent(b"%d" % i) for i in range(100)]
    )

    async def read():
        place = AioPartition(topic, 0)
        async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers) as consumer:
            consumer.assign([place])
            await consumer.seek_to_beginning(place)
            return [(await asyncio.wait_for(consumer.getone(), 30)).offset for _ in range(100)]

    async def run():
        return await asyncio.gather(*(read() for _ in range(5)))

    assert asyncio.run(run()) == [list(range(100))] * 5
