"""Listeners admit within their limits, sweep by the clock, and survive a lack of descriptors."""

from __future__ import annotations

import dataclasses
import errno
import logging
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.server.listener import ACCEPT_PAUSE_MS, ConnectionLimits, Listener
from odradek.server.session import BUFFER_BYTES_INITIAL, Session

IDLE_MS = 10_000
LIMITS = ConnectionLimits(
    connections_max=100,
    connections_per_ip_max=100,
    per_ip_overrides={},
    idle_ms_max=IDLE_MS,
    request_bytes_max=1 << 20,
    send_buffer_bytes=100_000,
    receive_buffer_bytes=-1,
    backlog=50,
)


class Bound:
    """A listener on a free port, and the clients that came."""

    def __init__(self, listener: Listener, loop: Any) -> None:
        self.listener = listener
        self.loop = loop
        self.port = listener.bind("L", "127.0.0.1", 0)
        self.clients: list[socket.socket] = []
        self.parks = False
        listener.start(self.handle)

    def handle(self, session: Session, frame: memoryview) -> None:
        if self.parks:
            session.park()
        else:
            session.reply_bytes(b"\0\0\0\1!")

    def connect(self) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), 5)
        self.clients.append(client)
        self.loop.run()
        return client

    def ask(self, client: socket.socket) -> None:
        client.sendall(b"\0\0\0\1?")
        deadline = time.monotonic() + 5
        while not self.loop.turn():
            assert time.monotonic() < deadline
        self.loop.run()

    def is_open(self, client: socket.socket) -> bool:
        self.loop.run()
        client.setblocking(False)
        try:
            while client.recv(100):
                pass
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        return False


@pytest.fixture
def bound(loop: Any, clock: Any, timers: Any) -> Iterator[Bound]:
    bound = Bound(Listener(loop, clock, timers, LIMITS), loop)
    yield bound
    bound.listener.close()
    for client in bound.clients:
        client.close()


def test_sessions_know_where_they_come_from(bound: Bound) -> None:
    client = bound.connect()
    (session,) = bound.listener.sessions
    assert session.listener == "L"
    assert session.address == f"127.0.0.1:{client.getsockname()[1]}"
    assert bound.listener.accepted_total == 1


@pytest.mark.parametrize(
    "limits",
    [
        {"connections_max": 2},
        {"connections_per_ip_max": 2},
        {"connections_per_ip_max": 0, "per_ip_overrides": {"127.0.0.1": 2}},
    ],
)
def test_limits_hold_and_places_become_free(bound: Bound, limits: dict[str, Any]) -> None:
    """The third is closed without a word; after one has left, the next is welcome."""
    bound.listener.limits = dataclasses.replace(LIMITS, **limits)
    first, second, third = (bound.connect() for _ in range(3))
    assert [bound.is_open(client) for client in (first, second, third)] == [True, True, False]
    assert bound.listener.refused_total == 1
    first.close()
    bound.loop.run()
    assert bound.is_open(bound.connect())
    assert len(bound.listener.sessions) == 2


def test_limits_may_change_while_it_runs(bound: Bound) -> None:
    """What is open stays open; newcomers meet the new limit."""
    first = bound.connect()
    bound.listener.limits = dataclasses.replace(LIMITS, connections_max=1)
    assert not bound.is_open(bound.connect())
    assert bound.is_open(first)


def test_idle_connections_are_swept(bound: Bound, clock: Any, timers: Any) -> None:
    """Closed after the idle time and not before; what is asked in between counts."""
    idle, busy = bound.connect(), bound.connect()
    clock.ms += IDLE_MS - 1
    bound.ask(busy)
    timers.fire()
    assert bound.is_open(idle)
    clock.ms += 1
    timers.fire()
    assert not bound.is_open(idle)
    assert bound.is_open(busy)


def test_one_long_jump_of_the_clock_is_enough(bound: Bound, clock: Any, timers: Any) -> None:
    """A test that moves the clock by an hour sees idle connections go at the next sweep."""
    client = bound.connect()
    clock.ms += 3_600_000
    timers.fire()
    assert not bound.is_open(client)


def test_who_waits_for_an_answer_is_not_idle(bound: Bound, clock: Any, timers: Any) -> None:
    """However long; its idle time begins with the answer."""
    bound.parks = True
    client = bound.connect()
    bound.ask(client)
    (session,) = bound.listener.sessions
    for _ in range(3):
        clock.ms += IDLE_MS
        timers.fire()
    assert bound.is_open(client)
    session.resume([b"\0\0\0\1!"])
    clock.ms += IDLE_MS - 1
    timers.fire()
    assert bound.is_open(client)
    clock.ms += 1
    timers.fire()
    assert not bound.is_open(client)


def test_calm_connections_give_their_buffers_back(bound: Bound, clock: Any, timers: Any) -> None:
    client = bound.connect()
    (session,) = bound.listener.sessions
    client.sendall(b"\0\1\0\0" + bytes(65536))
    deadline = time.monotonic() + 5
    while len(session._buffer) <= 65536:
        bound.loop.run()
        assert time.monotonic() < deadline
    clock.ms += IDLE_MS / 10
    timers.fire()
    assert len(session._buffer) == BUFFER_BYTES_INITIAL
    assert bound.is_open(client)


def test_idle_times_may_be_unlimited(loop: Any, clock: Any, timers: Any) -> None:
    limits = dataclasses.replace(LIMITS, idle_ms_max=-1)
    listener = Listener(loop, clock, timers, limits)
    listener.start(lambda session, frame: None)
    assert timers.pending == []


def test_a_lack_of_descriptors_is_waited_out(
    bound: Bound, timers: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """EMFILE: an error in the log, a pause instead of a busy loop, then it accepts again."""

    class Exhausted:
        def fileno(self) -> int:
            return bound.listener._sockets[0][1].fileno()

        def accept(self) -> Any:
            raise OSError(errno.EMFILE, "Too many open files")

    before = len(timers.pending)
    bound.listener._on_acceptable("L", Exhausted())  # type: ignore[arg-type]
    assert "raise the limit on open files" in caplog.text
    assert Exhausted().fileno() not in bound.loop.readers
    pause = timers.pending[before]
    assert pause.delay_ms == ACCEPT_PAUSE_MS
    pause.callback()
    assert Exhausted().fileno() in bound.loop.readers


def test_a_pause_that_ends_after_the_stop_does_nothing(bound: Bound, timers: Any) -> None:
    name, sock = bound.listener._sockets[0]
    bound.listener.close()
    bound.listener._accept_on(name, sock)
    assert bound.loop.readers == {}


def test_a_port_in_use_says_what_to_do(bound: Bound, loop: Any, clock: Any, timers: Any) -> None:
    other = Listener(loop, clock, timers, LIMITS)
    with pytest.raises(OSError, match=r"cannot listen on 127\.0\.0\.1:.*--set listeners="):
        other.bind("L", "127.0.0.1", bound.port)


def test_close_ends_everything(bound: Bound, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        client = bound.connect()
        bound.listener.close()
    assert not bound.is_open(client)
    assert "the broker stops" in caplog.text
    assert bound.listener.sessions == set()
    assert bound.loop.readers == {}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", bound.port), 5)


def test_ipv6(loop: Any, clock: Any, timers: Any) -> None:
    """Addresses with colons are counted like others."""
    listener = Listener(loop, clock, timers, dataclasses.replace(LIMITS, connections_per_ip_max=1))
    try:
        port = listener.bind("L", "::1", 0)
    except OSError:
        pytest.skip("no IPv6 here")
    listener.start(lambda session, frame: None)
    first = socket.create_connection(("::1", port), 5)
    loop.run()
    second = socket.create_connection(("::1", port), 5)
    loop.run()
    assert len(listener.sessions) == 1
    first.close()
    loop.run()
    assert listener._per_ip == {}
    second.close()
    listener.close()
