"""Cold data is noticed without waiting for it, and warming makes it readable."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.server import page_cache
from odradek.server.page_cache import PROBE_STEP_BYTES, is_warm, read_warm, warm

SIZE = 3 * PROBE_STEP_BYTES + 17
CONTENT = bytes(i % 251 for i in range(SIZE))


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "segment"
    path.write_bytes(CONTENT)
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_what_was_just_written_is_warm(fd: int) -> None:
    assert is_warm(fd, 0, SIZE)
    assert read_warm(fd, 5, 1000) == CONTENT[5:1005]


class ColdAfter:
    """`os.preadv` of a disk that must be asked from some position on."""

    def __init__(self, position: int, number: int = errno.EAGAIN) -> None:
        self.position = position
        self.number = number
        self.probed: list[int] = []

    def __call__(self, fd: int, buffers: tuple[bytearray], position: int, flags: int) -> int:
        self.probed.append(position)
        if position + len(buffers[0]) > self.position:
            raise OSError(self.number, os.strerror(self.number))
        return len(buffers[0])


@pytest.mark.parametrize("cold_from", [0, 1, PROBE_STEP_BYTES, 2 * PROBE_STEP_BYTES + 1, SIZE - 1])
def test_one_cold_window_makes_it_cold(
    fd: int, monkeypatch: pytest.MonkeyPatch, cold_from: int
) -> None:
    """The first and the last byte and every window in between are probed."""
    monkeypatch.setattr(page_cache.os, "preadv", ColdAfter(cold_from))
    assert not is_warm(fd, 0, SIZE)


def test_probing_costs_one_call_per_window(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = ColdAfter(SIZE)
    monkeypatch.setattr(page_cache.os, "preadv", probes)
    assert is_warm(fd, 0, SIZE)
    assert len(probes.probed) == 5


def test_cold_bytes_are_not_read(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache.os, "preadv", ColdAfter(100))
    assert read_warm(fd, 50, 100) is None


def test_file_systems_without_the_flag_are_read_plainly(
    fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EOPNOTSUPP says nothing about the cache: then the data counts as warm."""
    monkeypatch.setattr(page_cache.os, "preadv", ColdAfter(0, errno.EOPNOTSUPP))
    assert is_warm(fd, 0, SIZE)
    assert read_warm(fd, 50, 100) == CONTENT[50:150]


def test_a_range_beyond_the_end_is_not_warm(fd: int) -> None:
    """Fewer bytes than promised are never given out as if they were all."""
    assert read_warm(fd, SIZE - 10, 100) is None


def test_warm_reads_the_range_and_stops_at_the_end(fd: int) -> None:
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    warm(fd, 0, SIZE)
    assert is_warm(fd, 0, SIZE)
    warm(fd, SIZE - 5, 1000)
