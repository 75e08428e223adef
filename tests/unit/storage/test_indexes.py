"""Indexes find the right entry whether it lies in the file or still in memory."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest

from odradek.storage.indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    OffsetIndex,
    TimeIndex,
    is_sane,
    lookup_time,
)
from odradek.storage.txn_index import AbortedTransaction, decode, encode


@pytest.fixture
def disk(sim_disk: Any) -> Any:
    sim_disk.mkdir("/i")
    return sim_disk


@pytest.mark.parametrize("count", [0, 1, 5, 511, 512, 513, 3000])
def test_look_ups_agree_with_a_list(disk: Any, count: int) -> None:
    index = OffsetIndex(disk, "/i/index", 1000)
    entries = [(1000 + 10 * i + 9, 4096 * i) for i in range(1, count + 1)]
    for entry in entries:
        index.append(*entry)
    for offset in [999, 1000, *Random(1).sample(range(1000, 1020 + 10 * count), 15)]:
        before = [entry for entry in entries if entry[0] <= offset]
        assert index.lookup(offset) == (before[-1] if before else (1000, 0))
    assert len(index) == count


def test_memory_does_not_grow_with_the_index(disk: Any) -> None:
    index = OffsetIndex(disk, "/i/index", 0)
    for i in range(1, 5000):
        index.append(i, i)
    assert len(index._tail) < 4096
    assert disk.size("/i/index") % 4096 == 0


def test_entries_are_kafkas(disk: Any) -> None:
    offsets, times = OffsetIndex(disk, "/i/a", 100), TimeIndex(disk, "/i/b", 100)
    offsets.append(105, 4097)
    times.maybe_append(1_700_000_000_000, 103)
    times.maybe_append(1_700_000_000_000, 104)
    offsets.write_tail()
    times.write_tail()
    assert disk.read_bytes("/i/a") == struct.pack(">ii", 5, 4097)
    assert disk.read_bytes("/i/b") == struct.pack(">qi", 1_700_000_000_000, 3)


def test_truncation_in_file_and_tail(disk: Any) -> None:
    for cut in (0, 1, 400, 512, 513, 700, 900):
        index = OffsetIndex(disk, f"/i/{cut}", 0)
        times = TimeIndex(disk, f"/i/t{cut}", 0)
        for i in range(1, 800):
            index.append(i, i * 10)
            times.maybe_append(5000 + i, i)
        index.truncate_to(cut)
        times.truncate_to(cut)
        left = max(0, min(cut - 1, 799))
        assert (len(index), len(times)) == (left, left)
        index.append(1000, 9990)
        assert index.lookup(1000) == (1000, 9990)


def test_the_time_index_finds_the_last_entry_not_later(disk: Any) -> None:
    times = TimeIndex(disk, "/i/t", 50)
    for i in range(1000):
        times.maybe_append(10 * i, 50 + i)
    assert lookup_time(times.snapshot(), 50, 95) == (90, 59)
    assert lookup_time(times.snapshot(), 50, 90) == (90, 59)
    assert lookup_time(times.snapshot(), 50, -5) == (-1, 50)
    assert times.last() == (9990, 1049)


def test_sanity_needs_rising_entries() -> None:
    good = struct.pack(">iiii", 1, 10, 2, 20)
    assert is_sane(OFFSET_ENTRY, good)
    assert not is_sane(OFFSET_ENTRY, good[:-1])
    assert not is_sane(OFFSET_ENTRY, good + bytes(8))
    assert is_sane(TIME_ENTRY, b"")


def test_aborted_transactions_are_kafkas_34_bytes() -> None:
    entry = AbortedTransaction(7, 10, 20, 21)
    assert encode(entry) == struct.pack(">hqqqq", 0, 7, 10, 20, 21)
    assert list(decode(encode(entry) * 2 + b"torn")) == [entry, entry]
