"""Where `reset-offsets` moves a group to: the options of kafka-consumer-groups, as a plan. Pure.

A `Goal` says where to go, `Facts` what is known of a partition, `new_offset` brings them together. An
offset that was named by number (directly, by a shift, in a file) and lies outside the log is moved
to the nearer end of it, with a note; a time after the last record means the end.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

from odradek.errors import ApiError, Err
from odradek.types import NO_OFFSET, TopicPartition

_DURATION: Final = re.compile(
    r"P(?=.)(?:(?P<days>\d+)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """The start of the log."""


@dataclass(frozen=True, slots=True)
class ToLatest:
    """The end of the log."""


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """Where the group is; the end where it never was."""


@dataclass(frozen=True, slots=True)
class ToOffset:
    """The same offset everywhere."""

    offset: int


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """Forward, or back."""

    count: int


@dataclass(frozen=True, slots=True)
class ToTimestamp:
    """The first record that is not older."""

    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class FromFile:
    """What a file says, by group (the empty name: whichever group it is) and partition."""

    offsets: Mapping[str, Mapping[TopicPartition, int]]

    def of_group(self, group_id: str) -> Mapping[TopicPartition, int]:
        """The rows for a group."""
        return self.offsets.get(group_id, self.offsets.get("", {}))


Goal: TypeAlias = ToEarliest | ToLatest | ToCurrent | ToOffset | ShiftBy | ToTimestamp | FromFile


class Facts(NamedTuple):
    """What is known of a partition; `at_time` is -1 when no record is as young."""

    earliest: int
    latest: int
    committed: int | None = None
    at_time: int = NO_OFFSET


class NewOffset(NamedTuple):
    """Where to go, and what a person should know about it."""

    offset: int
    note: str | None = None


def new_offset(goal: Goal, group_id: str, place: TopicPartition, facts: Facts) -> NewOffset:
    """Where the group goes in one partition."""
    match goal:
        case ToEarliest():
            return NewOffset(facts.earliest)
        case ToLatest():
            return NewOffset(facts.latest)
        case ToCurrent():
            return NewOffset(facts.latest if facts.committed is None else facts.committed)
        case ToTimestamp():
            return NewOffset(facts.latest if facts.at_time == NO_OFFSET else facts.at_time)
        case ToOffset(offset):
            return _within(offset, place, facts)
        case ShiftBy(count):
            if facts.committed is None:
                raise ApiError(
                    Err.INVALID_REQUEST,
                    f"group '{group_id}' has no committed offset in {place}, so there is nothing "
                    "to shift; give --to-earliest, --to-latest or --to-offset",
                )
            return _within(facts.committed + count, place, facts)
        case FromFile():
            return _within(goal.of_group(group_id)[place], place, facts)


def _within(offset: int, place: TopicPartition, facts: Facts) -> NewOffset:
    if offset > facts.latest:
        note = f"{place}: offset {offset} lies behind the end of the log, {facts.latest} is taken"
        return NewOffset(facts.latest, note)
    if offset < facts.earliest:
        note = (
            f"{place}: offset {offset} lies before the start of the log, {facts.earliest} is taken"
        )
        return NewOffset(facts.earliest, note)
    return NewOffset(offset)


# --- reading what people write --------------------------------------------------------------------


def parse_datetime(text: str) -> int:
    """`2026-10-11T12:00:00.000`, in UTC unless it names a zone; as milliseconds."""
    when = datetime.fromisoformat(text)
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_duration(text: str) -> int:
    """`P1DT2H3M4.5S` as milliseconds; ValueError when it is something else."""
    found = _DURATION.fullmatch(text.strip().upper())
    if found is None:
        raise ValueError(f"{text!r} is not a duration such as PT30M or P1DT12H")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)


class Scope(NamedTuple):
    """A topic, and which of its partitions (None: all)."""

    topic: str
    partitions: tuple[int, ...] | None


def parse_scope(text: str) -> Scope:
    """`orders` or `orders:0,1`; ValueError when the part after the colon is not numbers."""
    topic, colon, indexes = text.rpartition(":")
    if not colon:
        return Scope(text, None)
    if not topic or not all(part.strip().isdigit() for part in indexes.split(",")):
        raise ValueError(f"{text!r} is neither TOPIC nor TOPIC:PARTITION,PARTITION…")
    return Scope(topic, tuple(int(part) for part in indexes.split(",")))


def read_plan(lines: Iterable[str]) -> FromFile:
    """The rows of a CSV file: `topic,partition,offset`, or with the group in front."""
    offsets: dict[str, dict[TopicPartition, int]] = {}
    for number, row in enumerate(csv.reader(lines), 1):
        if not row:
            continue
        *group, topic, partition, offset = [part.strip() for part in row] + [""] * (3 - len(row))
        if len(row) not in (3, 4) or not partition.isdigit() or not offset.isdigit():
            raise ValueError(
                f"line {number}: {','.join(row)!r} is neither TOPIC,PARTITION,OFFSET nor "
                "GROUP,TOPIC,PARTITION,OFFSET"
            )
        of_group = offsets.setdefault(group[0] if group else "", {})
        of_group[TopicPartition(topic, int(partition))] = int(offset)
    return FromFile(offsets)


def csv_lines(
    offsets: Mapping[str, Mapping[TopicPartition, int]], *, with_group: bool
) -> Iterable[str]:
    """What `--export` prints and `--from-file` reads."""
    for group_id, places in offsets.items():
        for place, offset in places.items():
            row = f"{_quoted(place.topic)},{place.partition},{offset}"
            yield f"{_quoted(group_id)},{row}" if with_group else row


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n') else text
