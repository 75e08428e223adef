"""Frames: every request and response on a connection is an int32 length and that many bytes.

``FrameReader`` takes bytes as they arrive and gives the frames they complete. The length is checked
against the bound as soon as its four bytes are there, before any memory is set aside for the frame.
The buffer grows with what has arrived, never with what was announced.
"""

from __future__ import annotations

import struct
from typing import Final

from odradek.protocol.primitives import Buffer, DecodeError

LENGTH: Final = struct.Struct(">i")
LENGTH_BYTES: Final = LENGTH.size
# Kafka's default of socket.request.max.bytes.
FRAME_BYTES_MAX: Final = 100 * 1024 * 1024


class FrameTooLarge(DecodeError):  # noqa: N818 - reads as what happened
    """A frame announces more bytes than the connection accepts."""


def check_length(length: int, max_bytes: int) -> None:
    """Refuse a frame length that no peer may send."""
    if length <= 0:
        raise DecodeError(f"a frame of {length} bytes")
    if length > max_bytes:
        raise FrameTooLarge(f"a frame of {length} bytes; {max_bytes} is the most")


def frame(payload: bytes) -> bytes:
    """``payload`` with its length before it."""
    return LENGTH.pack(len(payload)) + payload


class FrameReader:
    """Cuts a stream of bytes into frames. Not to be used again after it raised."""

    def __init__(self, max_bytes: int = FRAME_BYTES_MAX) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    @property
    def buffered_bytes(self) -> int:
        """How much of an unfinished frame is held."""
        return len(self._buffer)

    def feed(self, data: Buffer) -> list[memoryview]:
        """The frames that ``data`` completes, without their lengths. Each owns its memory."""
        buffer = self._buffer
        buffer += data
        start, end = 0, len(buffer)
        frames = []
        while end - start >= LENGTH_BYTES:
            (length,) = LENGTH.unpack_from(buffer, start)
            check_length(length, self._max_bytes)
            stop = start + LENGTH_BYTES + length
            if stop > end:
                break
            with memoryview(buffer) as view:
                frames.append(memoryview(bytes(view[start + LENGTH_BYTES : stop])))
            start = stop
        del buffer[:start]
        return frames
