"""Checks of a log after the fact: what was sent, what was acknowledged, what is there now.

A test that kills brokers keeps three histories and hands them to `check_log` at the end:

    sent           per partition, the values in the order their one producer sent them; each value once
    acknowledged   what the broker said it has: partition, offset, value
    read           what a consumer found, from the first offset to the last

An acknowledged record must be there, at its offset. A record that was sent and not acknowledged may be
there or not. Nothing may be there twice, in another order, or without having been sent, and offsets leave
no gaps (control records and compaction leave some: such topics are not for this check).

Pure functions; each gives sentences about what is wrong, none when all is well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from odradek.types import TopicPartition

# Sentences of one kind before the rest is only counted: a lost segment would fill the screen.
EXAMPLES_MAX: Final = 5


class Entry(NamedTuple):
    """One record at its place."""

    partition: TopicPartition
    offset: int
    value: bytes


Sent = Mapping[TopicPartition, Sequence[bytes]]


def check_log(sent: Sent, acknowledged: Iterable[Entry], read: Sequence[Entry]) -> list[str]:
    """All checks; what is wrong, in words."""
    return [
        *_some(find_lost(acknowledged, read)),
        *_some(find_repeated(read)),
        *_some(find_reordered(sent, read)),
        *_some(find_never_sent(sent, read)),
        *_some(find_gaps(read)),
    ]


def find_lost(acknowledged: Iterable[Entry], read: Iterable[Entry]) -> list[str]:
    """Acknowledged records that are not where the acknowledgement says."""
    there = {(entry.partition, entry.offset): entry.value for entry in read}
    problems = []
    for entry in acknowledged:
        found = there.get((entry.partition, entry.offset))
        if found is None:
            problems.append(f"{entry.partition} has lost offset {entry.offset}: {entry.value!r}")
        elif found != entry.value:
            problems.append(
                f"{entry.partition} has {found!r} at offset {entry.offset}, acknowledged was "
                f"{entry.value!r}"
            )
    return problems


def find_repeated(read: Iterable[Entry]) -> list[str]:
    """Values that are in a partition more than once."""
    first: dict[tuple[TopicPartition, bytes], int] = {}
    problems = []
    for entry in read:
        earlier = first.setdefault((entry.partition, entry.value), entry.offset)
        if earlier != entry.offset:
            problems.append(
                f"{entry.partition} has {entry.value!r} at offset {earlier} and again at "
                f"{entry.offset}"
            )
    return problems


def find_reordered(sent: Sent, read: Iterable[Entry]) -> list[str]:
    """Records that come after one that was sent later."""
    order = {
        (partition, value): number
        for partition, values in sent.items()
        for number, value in enumerate(values)
    }
    last: dict[TopicPartition, tuple[int, Entry]] = {}
    problems = []
    for entry in read:
        number = order.get((entry.partition, entry.value))
        if number is None:
            continue  # find_never_sent tells
        before = last.get(entry.partition)
        if before is not None and number < before[0]:
            problems.append(
                f"{entry.partition} has {entry.value!r} at offset {entry.offset} after "
                f"{before[1].value!r}, which was sent later"
            )
        last[entry.partition] = number, entry
    return problems


def find_never_sent(sent: Sent, read: Iterable[Entry]) -> list[str]:
    """Records that nobody sent to their partition."""
    known = {(partition, value) for partition, values in sent.items() for value in values}
    return [
        f"{entry.partition} has {entry.value!r} at offset {entry.offset}, which was never sent"
        for entry in read
        if (entry.partition, entry.value) not in known
    ]


def find_gaps(read: Iterable[Entry]) -> list[str]:
    """Offsets that do not follow the one before; a partition begins at 0."""
    offsets: defaultdict[TopicPartition, list[int]] = defaultdict(list)
    for entry in read:
        offsets[entry.partition].append(entry.offset)
    return [
        f"{partition} has offset {offset} where {expected} was expected"
        for partition, found in offsets.items()
        for expected, offset in zip(_expected(found), found, strict=True)
        if offset != expected
    ]


def _expected(offsets: Sequence[int]) -> list[int]:
    """What each offset should be, given the one before it."""
    return [0, *(offset + 1 for offset in offsets[:-1])]


def _some(problems: list[str]) -> list[str]:
    """The first few, and how many more there are."""
    more = len(problems) - EXAMPLES_MAX
    return [*problems[:EXAMPLES_MAX], f"... and {more} more like it"] if more > 0 else problems
