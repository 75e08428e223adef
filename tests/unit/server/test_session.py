"""A session cuts frames rightly however they arrive, answers in order, and never queues without bound."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import random
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.server.session import (
    BUFFER_BYTES_BUSY,
    BUFFER_BYTES_INITIAL,
    BUFFER_BYTES_KEPT,
    OUT_BYTES_MAX,
    OUT_CHUNKS_MAX,
    REQUESTS_PER_TURN,
    Chunk,
    FileChunk,
    Session,
)

REQUEST_BYTES_MAX = 4 * 1024 * 1024


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class Client:
    """Both ends: the session under test, and the socket of its client."""

    def __init__(
        self,
        ends: tuple[socket.socket, socket.socket],
        loop: Any,
        clock: Any,
        handle: Callable[[Session, memoryview], None] | None = None,
    ) -> None:
        ours, self.sock = ends
        self.loop = loop
        self.requests: list[bytes] = []
        self.closed: list[Session] = []
        self.session = Session(
            ours,
            loop=loop,
            listener="L",
            address="me:1",
            request_bytes_max=REQUEST_BYTES_MAX,
            now_ms=clock.monotonic_ms,
            handle=handle or self.echo,
            on_close=self.closed.append,
        )

    def echo(self, session: Session, body: memoryview) -> None:
        """Answer with what was asked; a body that begins with `park` parks instead."""
        self.requests.append(bytes(body))
        if bytes(body[:4]) == b"park":
            session.park()
        else:
            session.reply_bytes(frame(bytes(body)))

    def send(self, data: bytes) -> None:
        """Send all of it while the loop turns."""
        rest = memoryview(data)
        while rest and not self.session.closed:
            with contextlib.suppress(BlockingIOError):
                rest = rest[self.sock.send(rest) :]
            self.loop.turn()
        self.loop.run()

    def receive(self) -> bytes:
        """Whatever comes until nothing comes any more, or the end."""
        data = bytearray()
        while True:
            self.loop.run()
            try:
                part = self.sock.recv(1 << 16)
            except BlockingIOError:
                return bytes(data)
            if not part:
                return bytes(data)
            data += part

    def is_hung_up(self) -> bool:
        self.loop.run()
        try:
            return self.sock.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True


@pytest.fixture
def connect(sockets: Any, loop: Any, clock: Any) -> Callable[..., Client]:
    return lambda handle=None: Client(sockets(), loop, clock, handle)


@pytest.fixture
def client(connect: Callable[..., Client]) -> Client:
    return connect()


# -- in ----------------------------------------------------------------------------------------

THREE = [b"one", b"the second", b"3"]


def test_frames_cut_at_every_byte(connect: Callable[..., Client]) -> None:
    """Wherever the stream is cut in two, three frames come out, whole and in order."""
    stream = b"".join(map(frame, THREE))
    for cut in range(len(stream) + 1):
        client = connect()
        client.send(stream[:cut])
        client.send(stream[cut:])
        assert client.requests == THREE
        assert client.receive() == stream


def test_frames_byte_by_byte(client: Client) -> None:
    stream = b"".join(map(frame, THREE))
    for byte in stream:
        client.send(bytes([byte]))
    assert client.requests == THREE
    assert client.receive() == stream


SIZES = [
    1,
    BUFFER_BYTES_INITIAL - 5,
    BUFFER_BYTES_INITIAL - 4,
    BUFFER_BYTES_INITIAL - 3,
    BUFFER_BYTES_INITIAL,
    2 * BUFFER_BYTES_INITIAL + 1,
    BUFFER_BYTES_BUSY - 4,
    BUFFER_BYTES_BUSY - 3,
    BUFFER_BYTES_BUSY + 1,
    BUFFER_BYTES_KEPT + 1,
    REQUEST_BYTES_MAX,
]


@pytest.mark.parametrize("size", SIZES)
def test_frames_of_any_size(client: Client, size: int) -> None:
    """A frame that just fits the buffer, just does not, or is far larger arrives unchanged."""
    large = random.Random(size).randbytes(size)
    received = bytearray()
    for body in (b"before", large, b"after", large):
        client.send(frame(body))
        received += client.receive()
    assert client.requests == [b"before", large, b"after", large]
    assert received == b"".join(map(frame, client.requests))


@pytest.mark.parametrize("seed", range(20))
def test_frames_of_random_sizes_in_random_pieces(client: Client, seed: int) -> None:
    """No order of small and large frames, cut anywhere, confuses the buffer."""
    rng = random.Random(seed)
    bodies = [rng.randbytes(rng.choice((1, 3, 100, 4090, 5000, 70_000))) for _ in range(30)]
    stream = b"".join(map(frame, bodies))
    received = bytearray()
    position = 0
    while position < len(stream):
        size = rng.choice((1, 2, 5, 1000, 4096, 50_000))
        client.send(stream[position : position + size])
        received += client.receive()
        position += size
    assert client.requests == bodies
    assert received == stream


@pytest.mark.parametrize("size", [0, -1, -(2**31), REQUEST_BYTES_MAX + 1, 2**31 - 1])
def test_a_size_that_cannot_be_is_refused(
    client: Client, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Zero, negative and oversized lengths close the connection; the log says who and why."""
    with caplog.at_level(logging.WARNING):
        client.send(frame(b"fine") + struct.pack(">i", size) + b"rest")
    assert client.requests == [b"fine"]
    assert client.session.closed
    assert client.closed == [client.session]
    assert f"me:1: a frame of {size} bytes; socket.request.max.bytes is" in caplog.text


def test_memory_follows_what_came_not_what_was_announced(client: Client) -> None:
    """An announced frame of megabytes costs nothing until its bytes arrive."""
    client.send(struct.pack(">i", REQUEST_BYTES_MAX) + b"x")
    assert len(client.session._buffer) <= BUFFER_BYTES_INITIAL
    client.send(b"x" * 100_000)
    assert len(client.session._buffer) <= 4 * BUFFER_BYTES_BUSY


def test_large_buffers_are_given_back(client: Client) -> None:
    """A huge one at once, a moderate one when the connection is calm."""
    client.send(frame(bytes(BUFFER_BYTES_KEPT + 1)))
    client.receive()
    assert len(client.session._buffer) == BUFFER_BYTES_INITIAL
    client.send(frame(bytes(BUFFER_BYTES_BUSY)))
    client.receive()
    assert len(client.session._buffer) > BUFFER_BYTES_BUSY
    client.session.relax()
    assert len(client.session._buffer) == BUFFER_BYTES_INITIAL


def test_a_buffer_in_use_is_not_given_back(client: Client) -> None:
    """Half a frame, or the frame of a parked request, stays where it is."""
    body = b"park" + bytes(10_000)
    client.send(frame(body)[:6000])
    client.session.relax()
    client.send(frame(body)[6000:])
    client.session.relax()
    assert client.requests == [body]
    client.session.resume([frame(b"done")])
    assert client.receive() == frame(b"done")


# -- parking -----------------------------------------------------------------------------------


def test_a_parked_request_holds_back_what_follows(client: Client) -> None:
    """Nothing is handled while a request waits; afterwards everything is answered in order."""
    client.send(frame(b"1") + frame(b"park") + frame(b"2") + frame(b"3"))
    assert client.receive() == frame(b"1")
    assert client.requests == [b"1", b"park"]
    assert client.session.is_parked()
    client.send(frame(b"4"))
    client.session.resume([frame(b"unparked")])
    answers = [b"unparked", b"2", b"3", b"4"]
    assert client.receive() == b"".join(map(frame, answers))
    assert not client.session.is_parked()


def test_a_request_that_resumes_at_once(connect: Callable[..., Client]) -> None:
    """A handler may park and resume within its own call."""

    def handle(session: Session, body: memoryview) -> None:
        session.park()
        session.resume([frame(bytes(body))])

    client = connect(handle)
    stream = b"".join(map(frame, THREE))
    client.send(stream)
    assert client.receive() == stream


def test_a_parked_frame_is_not_overwritten(client: Client, connect: Callable[..., Client]) -> None:
    """The view of a parked request keeps its bytes, however much arrives meanwhile."""
    kept: list[memoryview] = []

    def handle(session: Session, body: memoryview) -> None:
        kept.append(body)
        session.park()

    client = connect(handle)
    client.send(frame(b"the parked one"))
    client.sock.send(b"\xff" * 20_000)
    client.loop.run()
    assert bytes(kept[0]) == b"the parked one"


def test_back_pressure_while_parked(client: Client) -> None:
    """A client that sends on while its request waits fills its buffer, then the kernel's, not ours."""
    client.send(frame(b"park"))
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while sent < 64 * 1024 * 1024:
            sent += client.sock.send(frame(b"x" * 1000) * 100)
            client.loop.run()
    assert sent < 4 * 1024 * 1024
    assert len(client.session._buffer) <= BUFFER_BYTES_BUSY
    assert client.requests == [b"park"]


def test_retry_handles_the_parked_request_again(client: Client) -> None:
    """A delayed request is handled as if it had just come, then those behind it."""
    client.send(frame(b"park") + frame(b"next"))
    client.session.retry(lambda: client.session.reply_bytes(frame(b"late")))
    assert client.receive() == frame(b"late") + frame(b"next")


def test_work_on_a_parked_request_may_fail(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Then the connection ends: its client must not wait for ever."""

    def fail() -> None:
        raise RuntimeError("a bug")

    client.send(frame(b"park"))
    client.session.guard(fail)()
    assert client.session.closed
    assert "RuntimeError: a bug" in caplog.text


def test_retry_may_park_again(client: Client) -> None:
    client.send(frame(b"park") + frame(b"next"))
    client.session.retry(client.session.park)
    assert client.receive() == b""
    client.session.resume([frame(b"late")])
    assert client.receive() == frame(b"late") + frame(b"next")


# -- out ---------------------------------------------------------------------------------------


def chunks_of(data: bytes, sizes: Iterator[int]) -> list[Chunk]:
    found: list[Chunk] = []
    position = 0
    while position < len(data):
        size = next(sizes)
        piece = data[position : position + size]
        found.append((bytes, bytearray, memoryview)[len(found) % 3](piece))
        position += size
    return found


def read_slowly(client: Client, size: int) -> bytes:
    """Read through a straw: a little, then a turn of the loop, and so on."""
    data = bytearray()
    while len(data) < size:
        with contextlib.suppress(BlockingIOError):
            data += client.sock.recv(7001)
        client.loop.turn()
    return bytes(data)


@pytest.mark.parametrize("sizes", [(1 << 20,), (1,), (1000, 1, 70_000)])
def test_partial_writes_continue_where_they_stopped(
    connect: Callable[..., Client], sizes: tuple[int, ...]
) -> None:
    """A reply in any number of pieces reaches a slow reader unchanged."""
    reply = random.Random(1).randbytes(5000 if sizes == (1,) else 1 << 20)

    def handle(session: Session, _: memoryview) -> None:
        session.reply(chunks_of(reply, itertools.cycle(sizes)))

    client = connect(handle)
    client.session.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    client.send(frame(b"go") + frame(b"go"))
    assert read_slowly(client, 2 * len(reply)) == reply + reply
    assert client.loop.writers == {}


def test_sendfile_to_a_slow_reader(connect: Callable[..., Client], tmp_path: Path) -> None:
    """Pieces of a file between pieces of bytes arrive in order, through many partial sends."""
    content = random.Random(2).randbytes(600_000)
    path = tmp_path / "segment"
    path.write_bytes(content)
    with path.open("rb") as file:

        def handle(session: Session, _: memoryview) -> None:
            session.reply(
                [
                    b"head",
                    FileChunk(file, 1000, 300_000),
                    b"between",
                    FileChunk(file, 0, 1),
                    b"tail",
                ]
            )

        client = connect(handle)
        client.session.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
        client.send(frame(b"go") * 3)
        expected = b"head" + content[1000:301_000] + b"between" + content[:1] + b"tail"
        assert read_slowly(client, 3 * len(expected)) == expected * 3


def test_a_file_that_ended_too_early_closes(
    connect: Callable[..., Client], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Promised bytes that are not there cannot be made up: the client must notice."""
    path = tmp_path / "segment"
    path.write_bytes(b"short")
    with path.open("rb") as file:
        client = connect(lambda session, _: session.reply([b"head", FileChunk(file, 0, 100)]))
        client.send(frame(b"go"))
    assert client.session.closed
    assert "the file ended before" in caplog.text


def test_replies_nobody_reads_stop_the_handling(client: Client) -> None:
    """A client that only writes is no longer read; its requests wait, and are answered once it reads."""
    client.session.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    body = b"y" * 2000
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while sent < 64 * 1024 * 1024:
            sent += client.sock.send(frame(body))
            client.loop.run()
    handled = len(client.requests)
    assert handled < sent // len(frame(body))
    assert len(client.session._out) <= OUT_CHUNKS_MAX
    assert len(client.session._buffer) <= 2 * BUFFER_BYTES_BUSY
    whole = sent // len(frame(body))
    assert read_slowly(client, whole * len(frame(body))) == frame(body) * whole


def test_large_replies_do_not_pile_up(connect: Callable[..., Client]) -> None:
    """Pipelined requests with large replies: the next is handled when the one before has left."""
    handled: list[int] = []

    def handle(session: Session, _: memoryview) -> None:
        handled.append(1)
        session.reply_bytes(bytes(OUT_BYTES_MAX))

    client = connect(handle)
    client.session.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    client.send(frame(b"?") * 50)
    assert len(handled) < 5
    read_slowly(client, 50 * OUT_BYTES_MAX)
    assert len(handled) == 50


def test_many_pipelined_requests_are_answered_in_order(client: Client) -> None:
    """Thousands of frames in one write: as many replies, in order."""
    bodies = [b"%d" % number for number in range(5000)]
    stream = b"".join(map(frame, bodies))
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    received = bytearray()
    rest = memoryview(stream)
    while len(received) < len(stream):
        with contextlib.suppress(BlockingIOError):
            rest = rest[client.sock.send(rest) :]
        received += client.receive()
    assert bytes(received) == stream


def test_others_get_their_turn(client: Client) -> None:
    """A buffer full of tiny requests is not handled in one go."""
    count = 3 * REQUESTS_PER_TURN + 5
    client.sock.send(frame(b"?") * count)
    handled = []
    while len(client.requests) < count:
        client.loop.turn()
        handled.append(len(client.requests))
    assert all(b - a <= 2 * REQUESTS_PER_TURN for a, b in itertools.pairwise([0, *handled]))
    assert len(handled) > 1
    assert client.receive() == frame(b"?") * count


def test_a_half_closed_client_is_not_cut_off_between_turns(client: Client) -> None:
    """The end comes while requests wait for the next turn: they are answered all the same."""
    stream = frame(b"!") * (5 * REQUESTS_PER_TURN)
    client.sock.send(stream)
    client.sock.shutdown(socket.SHUT_WR)
    assert client.receive() == stream
    assert client.session.closed


# -- ends --------------------------------------------------------------------------------------


def test_a_client_that_goes_is_forgotten(client: Client) -> None:
    client.sock.close()
    client.loop.run()
    assert client.closed == [client.session]
    assert client.loop.readers == {}
    assert client.loop.writers == {}


def test_a_client_that_goes_abandons_what_it_waited_for(client: Client) -> None:
    """Whoever holds a parked request is told, once, and a late answer does no harm."""
    abandoned: list[int] = []
    client.send(frame(b"park"))
    client.session.on_abandon = lambda: abandoned.append(1)
    client.sock.close()
    client.loop.run()
    assert abandoned == [1]
    client.session.resume([frame(b"too late")])
    client.session.retry(lambda: abandoned.append(2))
    client.session.close("again")
    assert abandoned == [1]
    assert client.closed == [client.session]


def test_a_client_that_goes_is_noticed_though_its_frame_fills_the_buffer(client: Client) -> None:
    """A large fetch request leaves no room to read the end into; it is noticed all the same."""
    client.send(frame(b"park" + bytes(20_000)))
    assert client.session._end == len(client.session._buffer)
    client.session.on_abandon = lambda: None
    client.sock.close()
    client.loop.run()
    assert client.session.closed


@pytest.mark.parametrize("parked", [False, True])
def test_a_half_closed_client_gets_its_answers(client: Client, parked: bool) -> None:
    """`shutdown(SHUT_WR)` after the last request is no reason to drop the answers."""
    first = b"park" if parked else b"1"
    client.sock.send(frame(first) + frame(b"2"))
    client.sock.shutdown(socket.SHUT_WR)
    client.loop.run()
    answers = [b"unparked", b"2"] if parked else [b"1", b"2"]
    if parked:
        assert not client.session.closed
        client.session.resume([frame(b"unparked")])
    assert client.receive() == b"".join(map(frame, answers))
    assert client.is_hung_up()
    assert client.session.closed


def test_a_half_closed_client_that_reads_slowly(client: Client) -> None:
    client.session.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    stream = frame(b"z" * 3000) * 30
    client.sock.send(stream)
    client.sock.shutdown(socket.SHUT_WR)
    client.loop.run()
    assert not client.session.closed
    assert read_slowly(client, len(stream)) == stream
    assert client.is_hung_up()


def test_a_half_closed_client_does_not_wait_for_what_may_never_come(client: Client) -> None:
    """Behind an answered request comes one that waits for events: then it is over."""
    abandoned: list[int] = []
    client.sock.send(frame(b"park") + frame(b"park for long"))
    client.sock.shutdown(socket.SHUT_WR)
    client.loop.run()

    def handle(session: Session, body: memoryview) -> None:
        session.park()
        session.on_abandon = lambda: abandoned.append(1)

    client.session._handle = handle
    client.session.resume([frame(b"first")])
    assert client.receive() == frame(b"first")
    assert client.session.closed
    assert abandoned == [1]


def test_a_handler_may_close(connect: Callable[..., Client]) -> None:
    """Frames behind the one that closed are not handled."""
    seen: list[bytes] = []

    def handle(session: Session, body: memoryview) -> None:
        seen.append(bytes(body))
        session.close("enough", warn=True)

    client = connect(handle)
    client.send(frame(b"1") + frame(b"2"))
    assert seen == [b"1"]
    assert client.is_hung_up()


def test_a_client_that_vanishes_while_we_write(connect: Callable[..., Client]) -> None:
    """A broken pipe in the middle of a reply ends the session quietly."""
    client = connect(lambda session, _: session.reply_bytes(bytes(1 << 22)))
    client.send(frame(b"go"))
    assert not client.session.closed
    client.sock.close()
    client.loop.run()
    assert client.session.closed


def test_activity_is_timed(client: Client, clock: Any) -> None:
    """What comes and what is answered late counts as activity, by the clock that was handed in."""
    clock.ms = 5000
    client.send(frame(b"park"))
    assert client.session.active_ms == 5000
    clock.ms = 9000
    client.session.resume([frame(b"x")])
    assert client.session.active_ms == 9000


def test_a_file_chunk_keeps_its_file(tmp_path: Path) -> None:
    """The descriptor lives as long as the chunk: a segment may be deleted while it is sent."""

    class File:
        def __init__(self) -> None:
            self.fd = os.open(tmp_path, os.O_RDONLY)

        def fileno(self) -> int:
            return self.fd

        def __del__(self) -> None:
            os.close(self.fd)

    chunk = FileChunk(File(), 0, 1)
    os.fstat(chunk.fd)
    fd = chunk.fd
    del chunk
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
