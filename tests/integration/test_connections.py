"""Connections at the level of frames: order, pieces, garbage, versions from the future, many at once."""

from __future__ import annotations

import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from odradek.errors import Err
from odradek.protocol import codec, headers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages import describe_topic_partitions as dtp
from odradek.protocol.messages import fetch as f
from odradek.protocol.messages import offset_for_leader_epoch as ofle
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.records.builder import build_batch
from odradek.records.record import Record


def frame_of(request, version, correlation_id):
    """A whole frame, with its length."""
    key = type(request).API_KEY
    head = headers.encode_request_header(key, version, correlation_id, "frames")
    body = head + codec.encode(request, version)
    return struct.pack(">i", len(body)) + body


def read_frame(sock):
    """The next frame; b"" when the broker has closed the connection."""
    with sock.makefile("rb") as stream:
        head = stream.read(4)
        return stream.read(int.from_bytes(head, "big")) if head else b""


@pytest.fixture
def sock(broker):
    """A plain connection."""
    with socket.create_connection(broker.address, 30) as opened:
        yield opened


def is_closed(sock) -> bool:
    """Whether the broker closed the connection without another word."""
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_answers_come_in_the_order_of_requests(sock, topic):
    """A fetch that waits holds back the answers behind it; none overtakes."""
    partition = f.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    waiting = f.FetchRequest(
        max_wait_ms=200,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[f.FetchTopic(topic=topic, partitions=[partition])],
    )
    sock.sendall(
        frame_of(waiting, 11, 1)
        + frame_of(MetadataRequest(topics=[]), 9, 2)
        + frame_of(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3, 3)
    )
    stream = sock.makefile("rb")
    order = []
    for _ in range(3):
        answer = stream.read(int.from_bytes(stream.read(4), "big"))
        order.append(int.from_bytes(answer[:4], "big"))
    stream.close()
    assert order == [1, 2, 3]


def test_a_frame_may_come_in_pieces(sock):
    """Byte by byte, each in a packet of its own."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in frame_of(MetadataRequest(topics=[]), 9, 77):
        sock.sendall(bytes([byte]))
    assert read_frame(sock)[:4] == struct.pack(">i", 77)


def test_many_frames_may_come_at_once(sock):
    """A hundred requests in one packet get a hundred answers."""
    sock.sendall(b"".join(frame_of(MetadataRequest(topics=[]), 9, i) for i in range(100)))
    stream = sock.makefile("rb")
    for i in range(100):
        answer = stream.read(int.from_bytes(stream.read(4), "big"))
        assert int.from_bytes(answer[:4], "big") == i
    stream.close()


def test_api_versions_of_the_future_are_answered_in_version_0(sock):
    """KIP-511: UNSUPPORTED_VERSION, in the oldest form, with what the broker has of this API."""
    body = struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 5, -1) + b"\x00strange things"
    sock.sendall(struct.pack(">i", len(body)) + body)
    answer = read_frame(sock)
    assert answer[:4] == struct.pack(">i", 5)
    response = codec.decode(ApiVersionsResponse, answer, 0, 4)
    assert response.error_code == Err.UNSUPPORTED_VERSION
    served = {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}
    assert served[ApiKey.API_VERSIONS] == (0, 4)
    sock.sendall(frame_of(MetadataRequest(topics=[]), 9, 6))
    assert read_frame(sock)[:4] == struct.pack(">i", 6)


def test_api_versions_lists_what_is_served(wire):
    """Produce is listed from 0, or librdkafka would not compress; minimums are those of KIP-896."""
    request = ApiVersionsRequest(client_software_name="t", client_software_version="1")
    answer = wire.ask(request, 4)
    served = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
    assert served[ApiKey.PRODUCE] == (0, 13)
    assert served[ApiKey.FETCH] == (4, 18)
    assert served[ApiKey.LIST_OFFSETS][0] == 1
    assert served[ApiKey.METADATA] == (0, 13)
    assert served[ApiKey.CREATE_TOPICS] == (2, 7)
    assert served[ApiKey.INIT_PRODUCER_ID][0] == 0


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(struct.pack(">hhih", ApiKey.METADATA, 99, 1, -1), id="version-of-the-future"),
        pytest.param(struct.pack(">hhih", 999, 0, 1, -1), id="unknown-api"),
        pytest.param(struct.pack(">hhih", ApiKey.PRODUCE, 1, 1, -1), id="produce-before-0.11"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="http"),
        pytest.param(struct.pack(">hhih", ApiKey.METADATA, 9, 1, -1) + b"\x00\xff", id="cut-short"),
        pytest.param(b"", id="empty"),
    ],
)
def test_what_cannot_be_answered_closes_the_connection(sock, body, wire):
    """Only that connection ends; others go on."""
    sock.sendall(struct.pack(">i", len(body)) + body)
    assert is_closed(sock)
    assert wire.ask(MetadataRequest(topics=[]), 9).brokers


@pytest.mark.parametrize("length", [-1, 2_000_000_000])
def test_an_impossible_length_closes_the_connection(sock, length, wire):
    """Before anything of that size is read or kept."""
    sock.sendall(struct.pack(">i", length) + b"x" * 100)
    assert is_closed(sock)
    assert wire.ask(MetadataRequest(topics=[]), 9).brokers


def test_a_client_may_leave_at_any_time(broker, wire, topic):
    """In the middle of a frame, or while its fetch waits: nobody else notices."""
    partition = f.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    waiting = f.FetchRequest(
        max_wait_ms=60_000,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[f.FetchTopic(topic=topic, partitions=[partition])],
    )
    for data in (frame_of(waiting, 11, 1), frame_of(waiting, 11, 1)[:-3], b"\x00\x00"):
        with socket.create_connection(broker.address, 30) as leaving:
            leaving.sendall(data)
    batch = bytes(build_batch([Record(0, time.time_ns() // 1_000_000, None, b"v", ())]))
    assert wire.produce(topic, batch).error_code == 0


def test_hundreds_of_connections_at_once(connect):
    """Two hundred connects in a burst are all served."""

    def ask(_):
        return len(connect().ask(MetadataRequest(topics=[]), 9).brokers)

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(ask, range(200))) == [1] * 200


@pytest.mark.odradek({"connections.max.idle.ms": "60000"})
def test_idle_connections_are_closed(embedded, connect):
    """After connections.max.idle.ms of silence; a busy one stays."""
    idle, busy = connect(embedded.bootstrap_servers), connect(embedded.bootstrap_servers)
    for wire in (idle, busy):
        assert wire.ask(MetadataRequest(topics=[]), 9).brokers
    for _ in range(6):
        embedded.clock.advance(20_000)
        assert busy.ask(MetadataRequest(topics=[]), 9).brokers
    assert idle.receive() == b""


def test_topics_are_described_page_by_page(wire, make_topic):
    """DescribeTopicPartitions: a page holds so many partitions, its cursor says where to go on."""
    names = sorted(make_topic(partitions=3) for _ in range(2))
    topics = [dtp.TopicRequest(name=name) for name in names]
    cursor, seen, pages = None, [], 0
    while pages == 0 or cursor is not None:
        request = dtp.DescribeTopicPartitionsRequest(
            topics=topics, response_partition_limit=2, cursor=cursor
        )
        answer = wire.ask(request, 0)
        found = [(t.name, p.partition_index) for t in answer.topics for p in t.partitions]
        assert 0 < len(found) <= 2
        seen += found
        pages += 1
        cursor = answer.next_cursor and dtp.DescribeTopicPartitionsRequestCursor(
            topic_name=answer.next_cursor.topic_name,
            partition_index=answer.next_cursor.partition_index,
        )
    assert seen == [(name, partition) for name in names for partition in range(3)]
    assert pages == 3


def test_the_end_of_an_epoch_is_told(wire, topic):
    """OffsetForLeaderEpoch: the current epoch ends at the log's end; one of the future is unknown."""
    batch = bytes(build_batch([Record(0, time.time_ns() // 1_000_000, None, b"v", ())]))
    for _ in range(3):
        wire.produce(topic, batch)

    def ask(epoch, current=-1):
        partition = ofle.OffsetForLeaderPartition(
            partition=0, current_leader_epoch=current, leader_epoch=epoch
        )
        request = ofle.OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=[ofle.OffsetForLeaderTopic(topic=topic, partitions=[partition])],
        )
        (found,) = wire.ask(request, 4).topics[0].partitions
        return found.error_code, found.leader_epoch, found.end_offset

    assert ask(0) == (Err.NONE, 0, 3)
    assert ask(5) == (Err.NONE, -1, -1)
    assert ask(0, current=7)[0] == Err.UNKNOWN_LEADER_EPOCH
