"""Where `reset-offsets` moves a group: every option of kafka-consumer-groups, and its bounds."""

from __future__ import annotations

import pytest

from odradek.errors import ApiError
from odradek.tools.reset_plan import (
    Facts,
    FromFile,
    Goal,
    NewOffset,
    Scope,
    ShiftBy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToTimestamp,
    csv_lines,
    new_offset,
    parse_datetime,
    parse_duration,
    parse_scope,
    read_plan,
)
from odradek.types import TopicPartition

PLACE = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("goal", "facts", "offset"),
    [
        (ToEarliest(), Facts(5, 10), 5),
        (ToLatest(), Facts(5, 10), 10),
        (ToCurrent(), Facts(5, 10, committed=7), 7),
        (ToCurrent(), Facts(5, 10), 10),
        (ToOffset(8), Facts(5, 10), 8),
        (ShiftBy(-1), Facts(5, 10, committed=7), 6),
        (ShiftBy(3), Facts(5, 10, committed=7), 10),
        (ToTimestamp(1), Facts(5, 10, at_time=6), 6),
        (ToTimestamp(1), Facts(5, 10), 10),
        (FromFile({"": {PLACE: 9}}), Facts(5, 10), 9),
        (FromFile({"other": {PLACE: 9}, "g": {PLACE: 6}}), Facts(5, 10), 6),
    ],
)
def test_each_option_says_where_to_go(goal: Goal, facts: Facts, offset: int) -> None:
    """A time after the last record, and a partition without a commit, mean the end."""
    assert new_offset(goal, "g", PLACE, facts) == NewOffset(offset)


@pytest.mark.parametrize(
    ("goal", "offset"),
    [
        (ToOffset(11), 10),
        (ToOffset(4), 5),
        (ShiftBy(100), 10),
        (ShiftBy(-100), 5),
        (FromFile({"g": {PLACE: 99}}), 10),
    ],
)
def test_an_offset_outside_the_log_becomes_the_nearer_end_with_a_note(
    goal: Goal, offset: int
) -> None:
    found = new_offset(goal, "g", PLACE, Facts(5, 10, committed=7))
    assert found.offset == offset
    assert found.note is not None
    assert found.note.startswith("t-0: offset ")


def test_nothing_can_be_shifted_where_the_group_never_was() -> None:
    with pytest.raises(ApiError, match="no committed offset in t-0"):
        new_offset(ShiftBy(1), "g", PLACE, Facts(5, 10))


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("P1D", 86_400_000),
        ("PT2H", 7_200_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("pt0s", 0),
    ],
)
def test_durations_are_those_of_java(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "1D", "PT1D", "P1DT", "P1M"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "timestamp_ms"),
    [
        ("1970-01-01T00:00:01.500", 1500),
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T02:00:01+02:00", 1000),
        ("1970-01-02", 86_400_000),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, timestamp_ms: int) -> None:
    assert parse_datetime(text) == timestamp_ms


def test_a_scope_is_a_topic_or_some_of_its_partitions() -> None:
    assert parse_scope("t") == Scope("t", None)
    assert parse_scope("t:0,2") == Scope("t", (0, 2))
    for text in ("t:", ":1", "t:a", "t:1,"):
        with pytest.raises(ValueError, match="is neither TOPIC nor"):
            parse_scope(text)


@pytest.mark.parametrize("with_group", [False, True])
def test_an_exported_plan_is_read_back(with_group: bool) -> None:
    plans = {"a,b": {TopicPartition("t", 1): 7, TopicPartition("u", 0): 0}}
    lines = list(csv_lines(plans, with_group=with_group))
    assert lines[0] == ('"a,b",t,1,7' if with_group else "t,1,7")
    assert read_plan([*lines, ""]).of_group("a,b") == plans["a,b"]


@pytest.mark.parametrize("line", ["t,1", "t,x,1", "t,1,-1", "g,t,1,2,3", "t"])
def test_a_bad_line_of_a_plan_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: "):
        read_plan(["t,0,1", line])
