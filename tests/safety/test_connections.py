"""Connections that misuse their being open: idle, slow, deaf, half closed, vanished, too many.

None of them costs much, and clients that behave are served as if they were alone.
"""

from __future__ import annotations

import resource
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages import fetch, produce
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.testing import EmbeddedBroker

LATENCY_SECONDS_MAX = 1.0
TOPIC = "connections"


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    """Room for a thousand sockets in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("needs 4096 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def broker(shared_broker: Any, talk: Any) -> Any:
    """A broker with a topic that holds some megabytes."""
    with socket.create_connection(shared_broker.address, 30) as sock:
        talk.create_topic(sock, TOPIC)
        batch = bytes(build_batch([Record(0, now_ms(), None, bytes(900_000), ())]))
        for _ in range(20):
            answer = talk.ask(sock, produce_request(batch), 9)
            assert answer.responses[0].partition_responses[0].error_code == 0
    return shared_broker


def now_ms() -> int:
    return int(time.time() * 1000)


def produce_request(batch: bytes, topic: str = TOPIC, acks: int = -1) -> produce.ProduceRequest:
    data = produce.PartitionProduceData(index=0, records=batch)
    topic_data = produce.TopicProduceData(name=topic, partition_data=[data])
    return produce.ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[topic_data])


def fetch_request(topic: str, offset: int, wait_ms: int = 0) -> fetch.FetchRequest:
    wanted = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=50_000_000)
    return fetch.FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=50_000_000,
        topics=[fetch.FetchTopic(topic=topic, partitions=[wanted])],
    )


def until(condition: Any, what: str, seconds: float = 20.0) -> None:
    """Wait for something that must come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


# -- many, slow, deaf --------------------------------------------------------------------------


def test_a_thousand_idle_connections(broker: Any, dial: Any, talk: Any, bystander: Any) -> None:
    """They cost a few megabytes, and every one of them is served when it speaks at last."""
    before_mb = broker.rss_mb()
    idle = [dial(broker.address) for _ in range(1000)]
    with bystander(broker.address) as client:
        time.sleep(0.5)
    assert max(client.seconds) < LATENCY_SECONDS_MAX
    assert broker.rss_mb() - before_mb < 40
    for sock in idle[::50]:
        assert talk.ask(sock, ApiVersionsRequest(), 0).error_code == 0


def test_two_hundred_connections_of_one_byte_at_a_time(
    broker: Any, dial: Any, talk: Any, bystander: Any
) -> None:
    """Requests that trickle in for seconds are answered like others, and do not hold others up."""
    request = talk.frame(MetadataRequest(topics=[]), 1)
    slow = [dial(broker.address) for _ in range(200)]
    with bystander(broker.address) as client:
        for at in range(len(request)):
            for sock in slow:
                sock.sendall(request[at : at + 1])
            time.sleep(4.0 / len(request))
    assert max(client.seconds) < LATENCY_SECONDS_MAX
    for sock in slow:
        answer = talk.receive(sock, ApiKey.METADATA, 1)
        assert answer.brokers


def test_readers_that_never_read(broker: Any, dial: Any, talk: Any, bystander: Any) -> None:
    """A client that asks and does not listen is not served beyond what the sockets hold."""
    before_mb = broker.rss_mb()
    fetches = talk.frame(fetch_request(TOPIC, 0), 4) * 200  # 18 MB each, from the page cache
    metadata = talk.frame(MetadataRequest(topics=None), 1) * 20_000
    deaf = []
    for number in range(40):
        sock = dial(broker.address)
        sock.setblocking(False)
        deaf.append((sock, memoryview(fetches if number % 2 else metadata)))
    with bystander(broker.address) as client:
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            for number, (sock, rest) in enumerate(deaf):
                try:
                    deaf[number] = sock, rest[sock.send(rest[:100_000]) :]
                except BlockingIOError:
                    continue
            time.sleep(0.01)
    assert max(client.seconds) < LATENCY_SECONDS_MAX
    assert broker.rss_mb() - before_mb < 60
    # Whoever begins to read gets what was asked for, from the first byte on.
    sock = deaf[1][0]
    sock.setblocking(True)
    (size,) = struct.unpack(">i", talk.receive_exactly(sock, 4))
    assert size > 18_000_000
    assert len(talk.receive_exactly(sock, size)) == size


def test_five_thousand_pipelined_requests(broker: Any, dial: Any, talk: Any) -> None:
    """Frames written at once are answered one by one, in order, none missing."""
    talk.create_topic(dial(broker.address), "pipelined")
    sock = dial(broker.address)
    frames = []
    expected = []
    for number in range(5000):
        if number % 5:
            frames.append(talk.frame(ApiVersionsRequest(), 0, number))
            expected.append((ApiKey.API_VERSIONS, 0))
        else:
            batch = bytes(build_batch([Record(0, now_ms(), None, b"%d" % number, ())]))
            frames.append(talk.frame(produce_request(batch, "pipelined"), 9, number))
            expected.append((ApiKey.PRODUCE, 9))
    writer = threading.Thread(target=sock.sendall, args=(b"".join(frames),))
    writer.start()
    offsets = []
    for number, (api_key, version) in enumerate(expected):
        answer = talk.receive(sock, api_key, version, number)
        if api_key == ApiKey.PRODUCE:
            done = answer.responses[0].partition_responses[0]
            assert done.error_code == 0
            offsets.append(done.base_offset)
    writer.join()
    assert offsets == list(range(1000))


# -- ends --------------------------------------------------------------------------------------


def test_half_closed_clients_get_their_answers(broker: Any, dial: Any, talk: Any) -> None:
    """`shutdown(SHUT_WR)` after the requests: all answers come, then the end."""
    sock = dial(broker.address)
    sock.sendall(
        talk.frame(ApiVersionsRequest(), 0, 1)
        + talk.frame(fetch_request(TOPIC, 0), 4, 2)
        + talk.frame(MetadataRequest(topics=None), 1, 3)
    )
    sock.shutdown(socket.SHUT_WR)
    assert talk.receive(sock, ApiKey.API_VERSIONS, 0, 1).error_code == 0
    assert len(talk.receive(sock, ApiKey.FETCH, 4, 2).responses[0].partitions[0].records) > 18e6
    assert talk.receive(sock, ApiKey.METADATA, 1, 3).brokers
    assert talk.is_closed_by_peer(sock)


@pytest.fixture
def own(dial: Any, talk: Any) -> Iterator[EmbeddedBroker]:
    """A broker in this process, whose inside can be looked at; with one empty topic."""
    with EmbeddedBroker() as broker:
        talk.create_topic(dial(address_of(broker)), "empty")
        yield broker


def address_of(broker: EmbeddedBroker) -> tuple[str, int]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return host, int(port)


def waiting(broker: EmbeddedBroker) -> int:
    """How many requests are parked on the empty topic."""
    return broker.call(lambda b: len(b.services.replicas.find("empty", 0).waiting))


def connection_count(broker: EmbeddedBroker) -> int:
    return broker.call(lambda b: len(b.listener.sessions))


@pytest.mark.parametrize("how", ["close", "reset", "half-close"])
def test_a_client_that_vanishes_while_its_fetch_waits(
    own: EmbeddedBroker, dial: Any, talk: Any, how: str
) -> None:
    """The fetch is given up at once: nothing waits for an hour on behalf of nobody."""
    sock = dial(address_of(own))
    sock.sendall(talk.frame(fetch_request("empty", 0, wait_ms=3_600_000), 4))
    until(lambda: waiting(own) == 1, "the fetch does not wait")
    before = connection_count(own)
    if how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if how == "half-close":
        sock.shutdown(socket.SHUT_WR)
    else:
        sock.close()
    until(lambda: waiting(own) == 0, "the fetch still waits")
    until(lambda: connection_count(own) == before - 1, "the connection is still known")


def test_a_topic_deleted_under_a_waiting_fetch(own: EmbeddedBroker, dial: Any, talk: Any) -> None:
    """The reader is told at once."""
    from odradek.errors import Err
    from odradek.protocol.messages.delete_topics import DeleteTopicsRequest

    sock = dial(address_of(own))
    sock.sendall(talk.frame(fetch_request("empty", 0, wait_ms=3_600_000), 4))
    until(lambda: waiting(own) == 1, "the fetch does not wait")
    other = dial(address_of(own))
    talk.ask(other, DeleteTopicsRequest(topic_names=["empty"], timeout_ms=10_000), 4)
    answer = talk.receive(sock, ApiKey.FETCH, 4).responses[0].partitions[0]
    assert Err(answer.error_code) in (Err.UNKNOWN_TOPIC_OR_PARTITION, Err.NOT_LEADER_OR_FOLLOWER)


def test_idle_connections_are_closed(own: EmbeddedBroker, dial: Any, talk: Any) -> None:
    """After connections.max.idle.ms, and not before; one that waits for an answer is not idle."""
    idle, half, busy = (dial(address_of(own)) for _ in range(3))
    half.sendall(b"\0\0")
    busy.sendall(talk.frame(fetch_request("empty", 0, wait_ms=3_600_000), 4))
    until(lambda: waiting(own) == 1, "the fetch does not wait")
    talk.ask(idle, ApiVersionsRequest(), 0)
    own.clock.advance(9 * 60_000)
    assert talk.ask(idle, ApiVersionsRequest(), 0).error_code == 0
    own.clock.advance(9 * 60_000)
    assert talk.ask(idle, ApiVersionsRequest(), 0).error_code == 0
    assert talk.is_closed_by_peer(half)  # it has been idle for 18 minutes
    own.clock.advance(10 * 60_000 + 1000)
    assert talk.is_closed_by_peer(idle)
    assert waiting(own) == 1


# -- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys",
    [
        {"max.connections": "5"},
        {"max.connections.per.ip": "5"},
        {"max.connections.per.ip": "100", "max.connections.per.ip.overrides": "127.0.0.1:5"},
    ],
    ids=lambda keys: list(keys)[-1],
)
def test_too_many_connections_are_refused(dial: Any, talk: Any, keys: dict[str, str]) -> None:
    """Those within the limit go on; a place that becomes free can be taken again."""
    with EmbeddedBroker(keys) as broker:
        first = [dial(address_of(broker)) for _ in range(5)]
        for sock in first:
            assert talk.ask(sock, ApiVersionsRequest(), 0).error_code == 0
        for _ in range(20):
            assert talk.is_closed_by_peer(dial(address_of(broker)))
        for sock in first:
            assert talk.ask(sock, ApiVersionsRequest(), 0).error_code == 0
        assert connection_count(broker) == 5
        first.pop().close()
        until(lambda: connection_count(broker) == 4, "a closed connection is still counted")
        assert talk.ask(dial(address_of(broker)), ApiVersionsRequest(), 0).error_code == 0


def test_connections_leave_descriptors_for_files(
    start_broker: Any, dial: Any, talk: Any, bystander: Any
) -> None:
    """Half of the open files is for connections: with all of them taken, logs can still be made."""
    limit = 200
    broker = start_broker(open_files=limit)
    admin = dial(broker.address)
    with ExitStack() as stack:
        with bystander(broker.address) as client:
            for _ in range(2 * limit):
                stack.enter_context(socket.create_connection(broker.address, 5))
            until(lambda: "too many connections" in broker.output(), "no limit was met")
            talk.create_topic(admin, "made-at-the-limit", 5)
        assert max(client.seconds) < LATENCY_SECONDS_MAX
    with socket.create_connection(broker.address, 10) as sock:
        assert talk.ask(sock, ApiVersionsRequest(), 0).error_code == 0
    assert "goes offline" not in broker.output()


# -- the broker goes ---------------------------------------------------------------------------


def test_requests_after_sigterm(start_broker: Any, dial: Any, talk: Any) -> None:
    """Open connections end, new ones are refused, and a waiting fetch does not delay the stop."""
    broker = start_broker()
    talk.create_topic(dial(broker.address), "empty")
    parked, idle = dial(broker.address), dial(broker.address)
    parked.sendall(talk.frame(fetch_request("empty", 0, wait_ms=3_600_000), 4))
    talk.ask(idle, ApiVersionsRequest(), 0)
    time.sleep(0.1)
    started = time.monotonic()
    assert broker.terminate() == 0
    assert time.monotonic() - started < 5
    assert talk.is_closed_by_peer(parked)
    assert talk.is_closed_by_peer(idle)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(broker.address, 5)


def test_a_deaf_http_client_does_not_delay_the_stop(start_broker: Any) -> None:
    """Nor does one that never finishes its request."""
    port = free_port_of(start_broker)
    broker = start_broker({"odradek.http.listener": f"127.0.0.1:{port}"})
    with socket.create_connection(("127.0.0.1", port), 5) as sock:
        sock.sendall(b"GET /metrics HT")
        time.sleep(0.1)
        started = time.monotonic()
        assert broker.terminate() == 0
        assert time.monotonic() - started < 3


def free_port_of(start_broker: Any) -> int:
    return start_broker(launch=False).port
