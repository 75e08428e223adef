"""One connection: bytes in, frames to the dispatcher, replies out in order.

A raw non-blocking socket driven by loop callbacks (`add_reader`, `add_writer`): no streams and no task
per connection. Invariants:

- Requests of a connection are handled one at a time and answered in order, as Kafka does. A request
  that must wait *parks* the session: what the client sends meanwhile stays in the receive buffer, then
  in the kernel's, which is the back-pressure. Replies that the client does not read do the same.
- A frame's bytes are a view into the receive buffer. They are valid until the request is answered; the
  buffer is not moved or reused before that.
- A frame's announced size is checked first, and the buffer grows with what has come of the frame, not with
  what was announced: four bytes must not cost a hundred megabytes.
- A client that closes its half of the connection gets the answers to what it has asked, then the
  connection ends. A request that only waits for something to happen (`on_abandon`) is given up at once.

                  recv_into            frames            replies             sendmsg / sendfile
    socket ──────────────► buffer ─────────────► handler ────────► out queue ─────────────► socket

All replies of one turn leave in one `sendmsg`; records leave by `sendfile` straight from the page
cache. Everything here runs on the loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol

log = logging.getLogger(__name__)

# Small, because a thousand idle connections should cost a few megabytes.
BUFFER_BYTES_INITIAL: Final = 4 * 1024
# What a busy connection's buffer grows to by itself: eight 16 KB batches in one read. Larger frames get
# a buffer of their own size.
BUFFER_BYTES_BUSY: Final = 128 * 1024
# Buffers up to this, two batches of the default `max.message.bytes`, stay until a sweep finds the
# connection calm; larger ones are given back as soon as their frame is answered.
BUFFER_BYTES_KEPT: Final = 2 * 1024 * 1024
# How much faster than its content the buffer of a large frame grows: three reads from the busy size to 8 MB.
BUFFER_GROWTH: Final = 4
# The kernel takes at most IOV_MAX (1024) pieces in one sendmsg.
IOV_MAX: Final = 1024

# Replies queued before they are pushed out: bounds what one turn of one connection may pile up, and so
# what a client that asks and does not listen can cost. (Beyond it come one reply, and the kernel's buffer.)
OUT_CHUNKS_MAX: Final = 64
OUT_BYTES_MAX: Final = 256 * 1024
# Requests of one connection that are handled before others get their turn: a millisecond or two of small
# ones. A full buffer of tiny requests would otherwise hold everybody up for fifty.
REQUESTS_PER_TURN: Final = 128

_SIZE = struct.Struct(">i")


class FileChunk:
    """A piece of a file that leaves by `sendfile`; holding `file` keeps its descriptor open."""

    __slots__ = ("fd", "file", "position", "size")

    def __init__(self, file: FileLike, position: int, size: int) -> None:
        self.file = file
        self.fd = file.fileno()
        self.position = position
        self.size = size


class FileLike(Protocol):
    """Something with a file descriptor."""

    def fileno(self) -> int:
        """The descriptor."""
        ...


Chunk = bytes | bytearray | memoryview | FileChunk


class Session:
    """The state of one connection."""

    __slots__ = (
        "_buffer",
        "_end",
        "_ended",
        "_handle",
        "_loop",
        "_now_ms",
        "_on_close",
        "_out",
        "_parked",
        "_processing",
        "_queued_bytes",
        "_reading",
        "_request_bytes_max",
        "_start",
        "_view",
        "_writing",
        "_yielded",
        "active_ms",
        "address",
        "client_software",
        "closed",
        "listener",
        "on_abandon",
        "sock",
    )

    def __init__(
        self,
        sock: socket.socket,
        *,
        loop: asyncio.AbstractEventLoop,
        listener: str,
        address: str,
        request_bytes_max: int,
        now_ms: Callable[[], float],
        handle: Callable[[Session, memoryview], None],
        on_close: Callable[[Session], None],
    ) -> None:
        self.sock = sock
        self.listener = listener
        self.address = address
        self.closed = False
        self.client_software = ""
        # When something last came or went, on the monotonic clock.
        self.active_ms = now_ms()
        # Called when the connection dies while a request is parked, so that nobody keeps waiting.
        self.on_abandon: Callable[[], None] | None = None
        self._loop = loop
        self._now_ms = now_ms
        self._handle = handle
        self._on_close = on_close
        self._request_bytes_max = request_bytes_max
        self._buffer = bytearray(BUFFER_BYTES_INITIAL)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._out: deque[Chunk] = deque()
        # Bytes queued since the queue was last pushed out.
        self._queued_bytes = 0
        self._parked = False
        self._processing = False
        self._writing = False
        self._reading = True
        self._ended = False
        self._yielded = False
        loop.add_reader(sock.fileno(), self._on_readable)

    # -- in ------------------------------------------------------------------------------------

    def _on_readable(self) -> None:
        end = self._end
        if end == len(self._buffer):
            if self._parked or self._out:
                self._wait_in_kernel()
                return
            self._grow(min(2 * end, BUFFER_BYTES_BUSY))
            end = self._end
        try:
            received = self.sock.recv_into(self._view[end:])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close(f"read failed: {error}")
            return
        if received == 0:
            self._on_end()
            return
        self.active_ms = self._now_ms()
        self._end = end = end + received
        if self._parked or self._out:
            return
        filled = end == len(self._buffer)
        self._process()
        if filled and end < BUFFER_BYTES_BUSY and not self._parked:
            self._grow(2 * end)  # more came than fitted: read more at once the next time

    def _wait_in_kernel(self) -> None:
        """The buffer is full: leave the rest where it is, unless there is only the end."""
        try:
            is_end = not self.sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close(f"read failed: {error}")
            return
        if is_end:
            self._on_end()
        else:
            self._stop_reading()

    def _on_end(self) -> None:
        """The client will say no more: answer what it has asked, if it can be answered now."""
        if self.on_abandon is not None or not (self._parked or self._out or self._yielded):
            self.close("")
            return
        self._ended = True
        self._stop_reading()

    def _process(self) -> None:
        """Handle complete frames until one parks or it is others' turn; send what was answered."""
        assert not self._processing
        self._processing = True
        unpack_size = _SIZE.unpack_from
        handle = self._handle
        out = self._out
        for _ in range(REQUESTS_PER_TURN):
            if self._parked or self.closed:
                break
            start = self._start
            available = self._end - start
            if available < 4:
                break
            (size,) = unpack_size(self._buffer, start)
            if size <= 0 or size > self._request_bytes_max:
                self.close(
                    f"a frame of {size} bytes; socket.request.max.bytes is {self._request_bytes_max}",
                    warn=True,
                )
                break
            if available < size + 4:
                self._make_room(size + 4)
                break
            stop = start + size + 4
            self._start = stop
            handle(self, self._view[start + 4 : stop])
            if len(out) >= OUT_CHUNKS_MAX or self._queued_bytes >= OUT_BYTES_MAX:
                self._flush()
                if out:
                    break
        else:
            self._go_on_later()
        self._processing = False
        if self.closed:
            return
        if not self._parked and self._start == self._end:
            self._start = self._end = 0
            if len(self._buffer) > BUFFER_BYTES_KEPT:
                self.relax()
        if self._out:
            self._flush()

    def _go_on_later(self) -> None:
        """Let others have their turn before the rest of the buffer."""
        if not self._yielded:
            self._yielded = True
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._yielded = False
        if not self._out and self._may_go_on():
            self._continue()

    def _make_room(self, needed: int) -> None:
        """Let the buffer take more of a frame of `needed` bytes that begins at `_start`."""
        capacity = len(self._buffer)
        if self._start + needed <= capacity:
            return
        if needed <= capacity:
            self._grow(needed)
        elif self._end == capacity:
            self._grow(min(needed, max(BUFFER_GROWTH * capacity, BUFFER_BYTES_BUSY)))

    def _grow(self, size: int) -> None:
        """Move what is unread to the front, of a larger buffer where it must be."""
        unread = self._end - self._start
        if size <= len(self._buffer):
            if self._start:
                self._buffer[:unread] = self._buffer[self._start : self._end]
        else:
            grown = bytearray(size)
            grown[:unread] = self._view[self._start : self._end]
            self._buffer = grown
            self._view = memoryview(grown)
        self._start, self._end = 0, unread

    # -- out -----------------------------------------------------------------------------------

    def reply(self, chunks: Sequence[Chunk]) -> None:
        """Queue a whole reply; it leaves at the end of this turn."""
        self._out.extend(chunks)
        self._queued_bytes += sum(len(c) for c in chunks if not isinstance(c, FileChunk))

    def reply_bytes(self, data: bytes) -> None:
        """Queue a whole reply of one piece."""
        self._out.append(data)
        self._queued_bytes += len(data)

    def park(self) -> None:
        """Stop handling requests until `resume`: the request in hand must wait."""
        assert not self._parked
        self._parked = True

    def resume(self, chunks: Sequence[Chunk] = ()) -> None:
        """Answer the parked request and go on with the next; does nothing once closed."""
        if self.closed:
            return
        assert self._parked
        self._parked = False
        self.on_abandon = None
        self.active_ms = self._now_ms()
        self._out.extend(chunks)
        if not self._processing:
            self._continue()

    def retry(self, handle: Callable[[], None]) -> None:
        """Handle the parked request now, as if it had just come."""
        if self.closed:
            return
        assert self._parked
        assert not self._processing
        self._parked = False
        self._processing = True
        handle()
        self._processing = False
        if self._may_go_on():
            self._continue()

    def guard(self, work: Callable[[], None]) -> Callable[[], None]:
        """`work` on the parked request, for later: should it fail, nobody is left waiting for ever."""

        def guarded() -> None:
            try:
                work()
            except Exception:
                log.exception("a waiting request of %s failed", self.address)
                self.close("its request failed", warn=True)

        return guarded

    def _may_go_on(self) -> bool:
        return not self.closed and not self._parked

    def _continue(self) -> None:
        if self._out:
            self._flush()
            if self._out or self.closed:
                return
        self._process()
        if self._ended:
            self._on_end()
        elif not self._reading and not self._out and self._may_go_on():
            self._reading = True
            self._loop.add_reader(self.sock.fileno(), self._on_readable)

    def _flush(self) -> None:
        """Send as much as the socket takes; the rest leaves when it is writable again."""
        out = self._out
        self._queued_bytes = 0
        try:
            while out:
                first = out[0]
                if type(first) is FileChunk:
                    sent = os.sendfile(self.sock.fileno(), first.fd, first.position, first.size)
                    if sent == 0:
                        self.close(
                            "the file ended before the records that were promised", warn=True
                        )
                        return
                    first.position += sent
                    first.size -= sent
                    if first.size == 0:
                        out.popleft()
                else:
                    self._send_bytes()
        except (BlockingIOError, InterruptedError):
            if not self._writing:
                self._writing = True
                self._loop.add_writer(self.sock.fileno(), self._on_writable)
            return
        except OSError as error:
            self.close(f"write failed: {error}")
            return
        if self._writing:
            self._writing = False
            self._loop.remove_writer(self.sock.fileno())

    def _send_bytes(self) -> None:
        """Send the run of byte chunks at the head of the queue in one call."""
        out = self._out
        if len(out) == 1:
            data = out[0]
            assert not isinstance(data, FileChunk)
            sent = self.sock.send(data)
            if sent == len(data):
                out.popleft()
            else:
                out[0] = memoryview(data)[sent:]
            return
        run: list[bytes | bytearray | memoryview] = []
        flags = 0
        for chunk in out:
            if isinstance(chunk, FileChunk):
                flags = socket.MSG_MORE
                break
            run.append(chunk)
            if len(run) == IOV_MAX:
                flags = socket.MSG_MORE
                break
        sent = self.sock.sendmsg(run, (), flags)
        for chunk in run:
            if sent >= len(chunk):
                sent -= len(chunk)
                out.popleft()
            else:
                if sent:
                    out[0] = memoryview(chunk)[sent:]
                break

    def _on_writable(self) -> None:
        self.active_ms = self._now_ms()
        self._flush()
        if not self._out and self._may_go_on():
            self._continue()

    # -- life ----------------------------------------------------------------------------------

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self.sock.fileno())

    def is_parked(self) -> bool:
        """Whether a request waits for something to happen."""
        return self._parked

    def relax(self) -> None:
        """Give back a large receive buffer that holds nothing."""
        if self._start == self._end and not self._parked:
            if len(self._buffer) > BUFFER_BYTES_INITIAL:
                self._buffer = bytearray(BUFFER_BYTES_INITIAL)
                self._view = memoryview(self._buffer)
            self._start = self._end = 0

    def close(self, reason: str, *, warn: bool = False) -> None:
        """Drop the connection and everything queued on it."""
        if self.closed:
            return
        self.closed = True
        level = logging.WARNING if warn else logging.DEBUG
        log.log(level, "closed connection of %s: %s", self.address, reason or "by the client")
        fd = self.sock.fileno()
        self._loop.remove_reader(fd)
        if self._writing:
            self._loop.remove_writer(fd)
        self.sock.close()
        self._out.clear()
        if self.on_abandon is not None:
            self.on_abandon()
            self.on_abandon = None
        self._on_close(self)
