"""A loop that runs only when it is told to, so that a test decides what happens between two turns."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

TURNS_MAX = 10_000


class ManualLoop:
    """The part of an event loop that sessions and listeners use."""

    def __init__(self) -> None:
        self.readers: dict[int, Callable[[], None]] = {}
        self.writers: dict[int, Callable[[], None]] = {}
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[..., None], *args: Any) -> None:
        self.soon.append(lambda: callback(*args))

    def add_reader(self, fd: int, callback: Callable[..., None], *args: Any) -> None:
        self.readers[fd] = lambda: callback(*args)

    def remove_reader(self, fd: int) -> None:
        self.readers.pop(fd, None)

    def add_writer(self, fd: int, callback: Callable[..., None], *args: Any) -> None:
        self.writers[fd] = lambda: callback(*args)

    def remove_writer(self, fd: int) -> None:
        self.writers.pop(fd, None)

    def turn(self) -> bool:
        """One turn: call whoever is ready; whether anybody was."""
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()
        readable, writable, _ = select.select(list(self.readers), list(self.writers), [], 0)
        for fd in readable:
            if fd in self.readers:
                self.readers[fd]()
        for fd in writable:
            if fd in self.writers:
                self.writers[fd]()
        return bool(soon or readable or writable)

    def run(self) -> None:
        """Turn until nothing happens any more."""
        for _ in range(TURNS_MAX):
            if not self.turn():
                return
        raise AssertionError("the loop spins: somebody is called and does nothing")


class ManualClock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.ms = 1000.0

    def now_ms(self) -> int:
        return int(self.ms)

    def monotonic_ms(self) -> float:
        return self.ms


class ManualTimers:
    """Timers that run when the test says so."""

    class Handle:
        def __init__(self, delay_ms: float, callback: Callable[[], None]) -> None:
            self.delay_ms = delay_ms
            self.callback: Callable[[], None] | None = callback

        def cancel(self) -> None:
            self.callback = None

    def __init__(self) -> None:
        self.handles: list[ManualTimers.Handle] = []

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Handle:
        handle = self.Handle(delay_ms, callback)
        self.handles.append(handle)
        return handle

    @property
    def pending(self) -> list[Handle]:
        return [handle for handle in self.handles if handle.callback is not None]

    def fire(self) -> None:
        """Run what was pending; what is set meanwhile waits for the next call."""
        pending, self.handles = self.pending, []
        for handle in pending:
            if handle.callback is not None:
                handle.callback()


@pytest.fixture
def loop() -> ManualLoop:
    return ManualLoop()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def timers() -> ManualTimers:
    return ManualTimers()


@pytest.fixture
def sockets() -> Iterator[Callable[[], tuple[socket.socket, socket.socket]]]:
    """`sockets()`: both ends of a connection, non-blocking, closed at the end."""
    with ExitStack() as stack:

        def pair() -> tuple[socket.socket, socket.socket]:
            ours, theirs = socket.socketpair()
            for end in (ours, theirs):
                end.setblocking(False)
                stack.callback(end.close)
            return ours, theirs

        yield pair
