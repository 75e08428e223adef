"""Sockets that accept connections, and the table of those that are open.

The accept callback takes every waiting connection of a turn. Limits on connections are applied before a
session is made. A sweep closes idle connections and takes large buffers back from calm ones.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from odradek.interfaces import Clock, TimerHandle, Timers
from odradek.server.session import Session

log = logging.getLogger(__name__)

# How often a connection is looked at during its idle time: it is closed at most a tenth too late.
SWEEPS_PER_IDLE_TIME: Final = 10
# And not more often than this.
SWEEP_MS_MIN: Final = 10
# Connections taken in one turn before others get theirs.
ACCEPTS_PER_TURN: Final = 128
# After "too many open files": how long to leave the backlog alone.
ACCEPT_PAUSE_MS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Bounds on what strangers may open and send."""

    connections_max: int
    connections_per_ip_max: int
    per_ip_overrides: dict[str, int]
    idle_ms_max: int
    request_bytes_max: int
    send_buffer_bytes: int
    receive_buffer_bytes: int
    backlog: int


class Listener:
    """All listening sockets of a broker and the sessions accepted on them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        timers: Timers,
        limits: ConnectionLimits,
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._timers = timers
        self.limits = limits
        self._handle: Callable[[Session, memoryview], None] | None = None
        self._sockets: list[tuple[str, socket.socket]] = []
        self._per_ip: Counter[str] = Counter()
        self._sweep_timer: TimerHandle | None = None
        self.sessions: set[Session] = set()
        self.accepted_total = 0
        self.refused_total = 0

    def bind(self, name: str, host: str, port: int) -> int:
        """Open a listening socket and return its port (the one the system chose for port 0)."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        try:
            sock.bind((host, port))
            sock.listen(self.limits.backlog)
        except OSError as error:
            sock.close()
            raise OSError(
                error.errno,
                f"cannot listen on {host or '*'}:{port} ({error.strerror}); "
                "is another broker running there? change it with --set listeners=PLAINTEXT://host:port",
            ) from error
        self._sockets.append((name, sock))
        bound: int = sock.getsockname()[1]
        return bound

    def start(self, handle: Callable[[Session, memoryview], None]) -> None:
        """Begin to accept; `handle` gets every request."""
        self._handle = handle
        for name, sock in self._sockets:
            self._accept_on(name, sock)
        self._sweep_later()

    def _accept_on(self, name: str, sock: socket.socket) -> None:
        if sock.fileno() >= 0:
            self._loop.add_reader(sock.fileno(), self._on_acceptable, name, sock)

    def _on_acceptable(self, name: str, listening: socket.socket) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                log.error("cannot accept connections: %s; raise the limit on open files", error)
                self._loop.remove_reader(listening.fileno())
                self._timers.call_later(ACCEPT_PAUSE_MS, lambda: self._accept_on(name, listening))
                return
            self._admit(name, sock, address)

    def _admit(self, name: str, sock: socket.socket, address: tuple[str, int]) -> None:
        assert self._handle is not None
        limits = self.limits
        ip = address[0]
        per_ip = limits.per_ip_overrides.get(ip, limits.connections_per_ip_max)
        if len(self.sessions) >= limits.connections_max or self._per_ip[ip] >= per_ip:
            self.refused_total += 1
            log.warning("refused connection of %s: too many connections", ip)
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if limits.send_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
        if limits.receive_buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        self.accepted_total += 1
        self._per_ip[ip] += 1
        self.sessions.add(
            Session(
                sock,
                loop=self._loop,
                listener=name,
                address=f"{ip}:{address[1]}",
                request_bytes_max=limits.request_bytes_max,
                now_ms=self._clock.monotonic_ms,
                handle=self._handle,
                on_close=self._forget,
            )
        )

    def _forget(self, session: Session) -> None:
        self.sessions.discard(session)
        ip = session.address.rpartition(":")[0]
        self._per_ip[ip] -= 1
        if not self._per_ip[ip]:
            del self._per_ip[ip]

    def _sweep_later(self) -> None:
        if self.limits.idle_ms_max > 0:
            self._sweep_timer = self._timers.call_later(self._sweep_interval_ms(), self._sweep)

    def _sweep_interval_ms(self) -> float:
        return max(self.limits.idle_ms_max / SWEEPS_PER_IDLE_TIME, SWEEP_MS_MIN)

    def _sweep(self) -> None:
        now_ms, calm_ms = self._clock.monotonic_ms(), self._sweep_interval_ms()
        for session in tuple(self.sessions):
            if session.is_parked():
                session.active_ms = now_ms  # it is we who let it wait
            elif now_ms - session.active_ms >= self.limits.idle_ms_max:
                session.close("idle longer than connections.max.idle.ms")
            elif now_ms - session.active_ms >= calm_ms:
                session.relax()
        self._sweep_later()

    def stop_accepting(self) -> None:
        """Close the listening sockets; open connections go on."""
        for _, sock in self._sockets:
            self._loop.remove_reader(sock.fileno())
            sock.close()
        self._sockets.clear()

    def close(self) -> None:
        """Close everything."""
        self.stop_accepting()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        for session in tuple(self.sessions):
            session.close("the broker stops")
