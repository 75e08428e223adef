"""Fetch by Apache Kafka's rules: when it answers, with how much, and what a session leaves out.

The tests talk to whatever `broker` is, so that `ODRADEK_TEST_BOOTSTRAP` proves them against Apache Kafka;
those that look inside run on an embedded broker only.
"""

from __future__ import annotations

import select
import time
from typing import Any
from uuid import UUID

import pytest

from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages import fetch as f
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.records.builder import build_batch
from odradek.records.control import build_end_marker
from odradek.records.record import Record
from odradek.storage.partition_log import Origin

BY_ID = 13
READ_COMMITTED = 1


def batch_of(size: int = 100, **header: Any) -> bytes:
    """A batch with one record of so many bytes."""
    record = Record(0, int(time.time() * 1000), None, bytes(size), ())
    return bytes(build_batch([record], **header))


def write(wire: Any, topic: str, size: int = 100, partition: int = 0) -> int:
    """Append a batch; how many bytes it takes in the log."""
    batch = batch_of(size)
    assert wire.produce(topic, batch, partition=partition).error_code == 0
    return len(batch)


def request_of(
    topic: str, positions: dict[int, int], *, partition_max_bytes: int = 1 << 20, **fields: Any
) -> f.FetchRequest:
    wanted = [
        f.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes
        )
        for partition, offset in positions.items()
    ]
    topics = [f.FetchTopic(topic=topic, partitions=wanted)] if wanted else []
    return f.FetchRequest(
        **{"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "topics": topics, **fields}
    )


def sizes(answer: Any) -> dict[int, int]:
    """Bytes of records per partition of an answer."""
    return {
        p.partition_index: len(p.records or b"") for t in answer.responses for p in t.partitions
    }


def errors(answer: Any) -> dict[int, Err]:
    return {p.partition_index: Err(p.error_code) for t in answer.responses for p in t.partitions}


class Pending:
    """A fetch that was sent and is not answered yet."""

    def __init__(self, wire: Any, talk: Any, request: f.FetchRequest, version: int = 4) -> None:
        self._wire, self._talk, self._version = wire, talk, version
        wire._socket.sendall(talk.frame(request, version, 5))
        self._sent = time.monotonic()

    def is_answered_within(self, seconds: float) -> bool:
        return bool(select.select([self._wire._socket], [], [], seconds)[0])

    def answer(self) -> Any:
        return self._talk.receive(self._wire._socket, ApiKey.FETCH, self._version, 5)

    def seconds(self) -> float:
        return time.monotonic() - self._sent


# -- when --------------------------------------------------------------------------------------


def test_enough_bytes_are_answered_at_once(wire: Any, talk: Any, topic: str) -> None:
    """min.bytes that are there already: no wait."""
    size = write(wire, topic)
    pending = Pending(wire, talk, request_of(topic, {0: 0}, min_bytes=size, max_wait_ms=20_000))
    assert sizes(pending.answer()) == {0: size}
    assert pending.seconds() < 5


def test_a_fetch_waits_for_min_bytes(wire: Any, connect: Any, talk: Any, topic: str) -> None:
    """One batch is not enough, two are: the answer has both."""
    writer = connect()
    size = len(batch_of())
    pending = Pending(wire, talk, request_of(topic, {0: 0}, min_bytes=size + 1, max_wait_ms=20_000))
    write(writer, topic)
    assert not pending.is_answered_within(0.3)
    write(writer, topic)
    assert sizes(pending.answer()) == {0: 2 * size}
    assert pending.seconds() < 10


def test_min_bytes_count_over_all_partitions(
    wire: Any, connect: Any, talk: Any, make_topic: Any
) -> None:
    """A batch here and a batch there make enough together."""
    topic = make_topic(partitions=3)
    writer = connect()
    size = len(batch_of())
    positions = dict.fromkeys(range(3), 0)
    request = request_of(topic, positions, min_bytes=2 * size, max_wait_ms=20_000)
    pending = Pending(wire, talk, request)
    write(writer, topic, partition=0)
    assert not pending.is_answered_within(0.2)
    write(writer, topic, partition=2)
    assert sizes(pending.answer()) == {0: size, 1: 0, 2: size}
    assert pending.seconds() < 10


def test_a_fetch_waits_no_longer_than_asked(wire: Any, talk: Any, topic: str) -> None:
    """After max.wait.ms it is answered with what there is."""
    size = write(wire, topic)
    pending = Pending(wire, talk, request_of(topic, {0: 0}, min_bytes=10_000, max_wait_ms=300))
    assert sizes(pending.answer()) == {0: size}
    assert 0.25 < pending.seconds() < 5


def test_min_bytes_beyond_max_bytes_is_not_waited_for(wire: Any, talk: Any, topic: str) -> None:
    """More than the answer may hold can never come together."""
    for _ in range(5):
        write(wire, topic, 1000)
    request = request_of(topic, {0: 0}, min_bytes=1 << 30, max_bytes=2000, max_wait_ms=20_000)
    pending = Pending(wire, talk, request)
    assert sum(sizes(pending.answer()).values()) > 0
    assert pending.seconds() < 5


@pytest.mark.parametrize("offset", [-1, 7, 2**62])
def test_an_error_is_told_at_once(wire: Any, talk: Any, topic: str, offset: int) -> None:
    """An offset that is not there does not wait, whatever else was asked for."""
    write(wire, topic)
    request = request_of(topic, {0: offset}, min_bytes=1 << 20, max_wait_ms=20_000)
    pending = Pending(wire, talk, request)
    assert errors(pending.answer()) == {0: Err.OFFSET_OUT_OF_RANGE}
    assert pending.seconds() < 5


def test_an_unknown_topic_is_told_at_once(wire: Any, talk: Any) -> None:
    request = request_of("nobody-made-this", {0: 0}, min_bytes=1, max_wait_ms=20_000)
    pending = Pending(wire, talk, request)
    assert errors(pending.answer()) == {0: Err.UNKNOWN_TOPIC_OR_PARTITION}
    assert pending.seconds() < 5


def test_no_partitions_are_answered_at_once(wire: Any, talk: Any) -> None:
    pending = Pending(wire, talk, request_of("t", {}, min_bytes=1, max_wait_ms=20_000))
    assert pending.answer().responses == []
    assert pending.seconds() < 5


# -- how much ----------------------------------------------------------------------------------


def test_one_batch_always_goes_out(wire: Any, topic: str) -> None:
    """Even when it is larger than every limit, or a consumer could never get past it."""
    size = write(wire, topic, 50_000)
    write(wire, topic, 50_000)
    for limits in ({"max_bytes": 1}, {"partition_max_bytes": 1}, {"max_bytes": 0}):
        assert sizes(wire.ask(request_of(topic, {0: 0}, **limits), 4)) == {0: size}


def test_only_the_first_batch_may_exceed_the_limit(wire: Any, make_topic: Any) -> None:
    """Of two partitions with large batches one gets through, the other waits for the next fetch."""
    topic = make_topic(partitions=2)
    size = write(wire, topic, 50_000, partition=0)
    write(wire, topic, 50_000, partition=1)
    found = sizes(wire.ask(request_of(topic, {0: 0, 1: 0}, max_bytes=1000), 4))
    assert sorted(found.values()) == [0, size]


def test_partition_max_bytes_bounds_each_partition(wire: Any, make_topic: Any) -> None:
    """Several batches fit or do not; what is returned never exceeds the limit beyond one batch."""
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        for _ in range(10):
            size = write(wire, topic, 1000, partition=partition)
    found = sizes(wire.ask(request_of(topic, {0: 0, 1: 0}, partition_max_bytes=3 * size), 4))
    assert found == {0: 3 * size, 1: 3 * size}


def test_max_bytes_bounds_the_answer(wire: Any, make_topic: Any) -> None:
    topic = make_topic(partitions=4)
    for partition in range(4):
        for _ in range(10):
            size = write(wire, topic, 1000, partition=partition)
    positions = dict.fromkeys(range(4), 0)
    found = sizes(wire.ask(request_of(topic, positions, max_bytes=15 * size), 4))
    assert 10 * size <= sum(found.values()) <= 15 * size


def test_an_offset_inside_a_batch_gets_the_whole_batch(wire: Any, topic: str) -> None:
    """Clients skip what they did not ask for."""
    records = [Record(i, int(time.time() * 1000), None, b"x", ()) for i in range(5)]
    batch = bytes(build_batch(records))
    assert wire.produce(topic, batch).error_code == 0
    for offset in range(5):
        assert sizes(wire.ask(request_of(topic, {0: offset}), 4)) == {0: len(batch)}
    assert sizes(wire.ask(request_of(topic, {0: 5}), 4)) == {0: 0}


@pytest.mark.parametrize(
    ("epoch", "err"), [(-1, Err.NONE), (1000, Err.UNKNOWN_LEADER_EPOCH), (0, Err.NONE)]
)
def test_leader_epochs_are_checked(wire: Any, topic: str, epoch: int, err: Err) -> None:
    """KIP-320: a reader that knows a newer leader than we do is told."""
    write(wire, topic)
    request = request_of(topic, {0: 0})
    request.topics[0].partitions[0].current_leader_epoch = epoch
    assert errors(wire.ask(request, 11)) == {0: err}


# -- sessions ----------------------------------------------------------------------------------


class InSession:
    """Fetches in one session, epoch by epoch."""

    def __init__(self, wire: Any, topic: str, positions: dict[int, int], **fields: Any) -> None:
        self._wire, self._topic, self._fields = wire, topic, fields
        self.epoch = 0
        request = request_of(topic, positions, session_epoch=0, **fields)
        self.first = wire.ask(request, 11)
        self.id = self.first.session_id
        assert self.id != 0

    def next(self, positions: dict[int, int] | None = None, forget: tuple[int, ...] = ()) -> Any:
        self.epoch += 1
        request = request_of(self._topic, positions or {}, **self._fields)
        request.session_id, request.session_epoch = self.id, self.epoch
        if forget:
            forgotten = f.ForgottenTopic(topic=self._topic, partitions=list(forget))
            request.forgotten_topics_data = [forgotten]
        return self._wire.ask(request, 11)


def test_a_session_tells_errors_again_and_again(wire: Any, topic: str) -> None:
    """A partition in error is in every answer until it is well."""
    session = InSession(wire, topic, {0: 99})
    assert errors(session.first) == {0: Err.OFFSET_OUT_OF_RANGE}
    for _ in range(2):
        assert errors(session.next()) == {0: Err.OFFSET_OUT_OF_RANGE}
    assert errors(session.next({0: 0})) == {0: Err.NONE}  # the cleared error is news
    assert errors(session.next()) == {}


def test_a_session_serves_partitions_in_turn(wire: Any, make_topic: Any) -> None:
    """With room for one batch per answer, none starves."""
    topic = make_topic(partitions=3)
    for partition in range(3):
        write(wire, topic, 5000, partition=partition)
    session = InSession(wire, topic, dict.fromkeys(range(3), 0), max_bytes=1000)
    served = [p for p, size in sizes(session.first).items() if size]
    for _ in range(3):
        answer = session.next()
        served += [p for p, size in sizes(answer).items() if size]
    assert set(served) == {0, 1, 2}


def test_a_session_without_partitions_ends(wire: Any, topic: str) -> None:
    """When everything was forgotten there is nothing to remember."""
    session = InSession(wire, topic, {0: 0})
    answer = session.next(forget=(0,))
    assert (answer.error_code, answer.session_id, answer.responses) == (0, 0, [])
    assert Err(session.next().error_code) is Err.FETCH_SESSION_ID_NOT_FOUND


def test_names_and_ids_do_not_mix_in_a_session(wire: Any, topic: str) -> None:
    """KIP-516: a session began with names goes on with names."""
    session = InSession(wire, topic, {0: 0})
    request = request_of(topic, {})
    request.session_id, request.session_epoch = session.id, 1
    answer = wire.ask(request, BY_ID)
    assert Err(answer.error_code) is Err.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_topic_is_found_by_its_id(wire: Any, topic: str) -> None:
    """From v13 on; an id that nobody has is told per partition."""
    size = write(wire, topic)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    topic_id = wire.ask(asked, 12).topics[0].topic_id
    request = request_of(topic, {0: 0})
    request.topics[0].topic, request.topics[0].topic_id = "", topic_id
    assert sizes(wire.ask(request, BY_ID)) == {0: size}
    request.topics[0].topic_id = UUID(int=12345)
    request.max_wait_ms, request.min_bytes = 20_000, 1
    assert errors(wire.ask(request, BY_ID)) == {0: Err.UNKNOWN_TOPIC_ID}


# -- what readers may see ----------------------------------------------------------------------


@pytest.fixture
def transactions(embedded: Any, connect: Any, make_topic_on: Any) -> Any:
    """A partition with an undecided transaction after two plain batches."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)()
    wire = connect(servers)
    write(wire, topic)
    open_batch = batch_of(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    append(embedded, topic, open_batch)
    write(wire, topic)
    return embedded, wire, topic


def append(embedded: Any, topic: str, batch: bytes) -> None:
    """Append as the coordinator would: transactions have no other way in yet."""

    def do(broker: Any) -> None:
        partition = broker.services.replicas.find(topic, 0)
        partition.log.append(
            memoryview(bytearray(batch)),
            leader_epoch=partition.leader_epoch,
            now_ms=broker.services.clock.now_ms(),
            origin=Origin.COORDINATOR,
        )
        partition.maybe_advance_high_watermark()

    embedded.call(do)


def visible(wire: Any, topic: str, isolation_level: int) -> Any:
    request = request_of(topic, {0: 0}, isolation_level=isolation_level)
    return wire.ask(request, 11).responses[0].partitions[0]


def offsets_in(records: Any) -> list[int]:
    found, position = [], 0
    data = bytes(records or b"")
    while position < len(data):
        found.append(int.from_bytes(data[position : position + 8], "big"))
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return found


def test_read_committed_ends_at_the_last_stable_offset(transactions: Any) -> None:
    """Nothing at or after an undecided transaction is shown; read_uncommitted sees all."""
    _, wire, topic = transactions
    committed = visible(wire, topic, READ_COMMITTED)
    assert offsets_in(committed.records) == [0]
    assert (committed.high_watermark, committed.last_stable_offset) == (3, 1)
    assert committed.aborted_transactions == []
    uncommitted = visible(wire, topic, 0)
    assert offsets_in(uncommitted.records) == [0, 1, 2]
    assert uncommitted.aborted_transactions is None


@pytest.mark.parametrize("commit", [True, False])
def test_a_decided_transaction_is_shown(transactions: Any, commit: bool) -> None:
    """With its marker, and, when it was aborted, named so that the reader drops it."""
    embedded, wire, topic = transactions
    append(embedded, topic, marker(commit))
    found = visible(wire, topic, READ_COMMITTED)
    assert offsets_in(found.records) == [0, 1, 2, 3]
    aborted = [(a.producer_id, a.first_offset) for a in found.aborted_transactions]
    assert aborted == ([] if commit else [(7, 1)])


def test_a_waiting_reader_is_woken_by_the_marker(
    transactions: Any, connect: Any, talk: Any
) -> None:
    """read_committed waits behind an open transaction until it is decided."""
    embedded, wire, topic = transactions
    request = request_of(
        topic, {0: 1}, isolation_level=READ_COMMITTED, min_bytes=1, max_wait_ms=20_000
    )
    pending = Pending(wire, talk, request)
    write(connect(embedded.bootstrap_servers), topic)
    assert not pending.is_answered_within(0.3)

    append(embedded, topic, marker(commit=True))
    write(connect(embedded.bootstrap_servers), topic)  # an append tells those who wait
    assert offsets_in(pending.answer().responses[0].partitions[0].records) == [1, 2, 3, 4, 5]
    assert pending.seconds() < 10


def marker(commit: bool) -> bytes:
    """What the coordinator writes when transaction 7 is decided."""
    return bytes(
        build_end_marker(
            producer_id=7,
            producer_epoch=0,
            commit=commit,
            coordinator_epoch=0,
            timestamp=int(time.time() * 1000),
        )
    )
