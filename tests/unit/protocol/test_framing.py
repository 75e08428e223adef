"""A stream cut anywhere gives the same frames; a frame that is too large costs no memory."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.protocol.framing import FrameReader, FrameTooLarge, frame
from odradek.protocol.primitives import DecodeError


@settings(max_examples=60, deadline=None, database=None)
@given(st.lists(st.binary(min_size=1, max_size=30), max_size=8), st.data())
def test_frames_do_not_depend_on_how_the_stream_is_cut(
    payloads: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(frame(payload) for payload in payloads)
    reader, frames, position = FrameReader(max_bytes=100), [], 0
    while position < len(stream):
        size = data.draw(st.integers(1, 40))
        frames += [bytes(f) for f in reader.feed(stream[position : position + size])]
        position += size
    assert frames == payloads
    assert reader.buffered_bytes == 0


def test_a_frame_outlives_the_next_bytes() -> None:
    reader = FrameReader()
    (first,) = reader.feed(frame(b"first"))
    reader.feed(frame(b"other"))
    assert first == b"first"


def test_a_too_large_frame_is_refused_by_its_length_alone() -> None:
    reader = FrameReader(max_bytes=10)
    assert reader.feed(b"\x00\x00\x00") == []
    with pytest.raises(FrameTooLarge, match="11 bytes; 10 is the most"):
        reader.feed(b"\x0b")


@pytest.mark.parametrize("length", [b"\x00\x00\x00\x00", b"\xff\xff\xff\xff"])
def test_empty_and_negative_frames_are_errors(length: bytes) -> None:
    with pytest.raises(DecodeError):
        FrameReader().feed(length)
