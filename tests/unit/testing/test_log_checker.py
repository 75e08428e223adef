"""Every check of `log_checker` passes a sound log and can fail: a broken log is told in words."""

from __future__ import annotations

import pytest

from odradek.testing.log_checker import (
    EXAMPLES_MAX,
    Entry,
    check_log,
    find_gaps,
    find_lost,
    find_never_sent,
    find_reordered,
    find_repeated,
)
from odradek.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
SENT = {P0: [b"a", b"b", b"c", b"d"], P1: [b"a", b"x"]}
SOUND = [
    Entry(P0, 0, b"a"),
    Entry(P1, 0, b"a"),
    Entry(P0, 1, b"b"),
    Entry(P0, 2, b"c"),
    Entry(P1, 1, b"x"),
]


def test_a_sound_log_has_no_problems() -> None:
    """Records that were sent and never acknowledged may be missing; the same value may be elsewhere."""
    assert check_log(SENT, SOUND[:3], SOUND) == []
    assert check_log(SENT, SOUND, SOUND) == []
    assert check_log({}, [], []) == []


def test_a_lost_record_is_found() -> None:
    assert find_lost([Entry(P0, 3, b"d")], SOUND) == ["t-0 has lost offset 3: b'd'"]


def test_an_acknowledged_record_at_another_offset_is_lost() -> None:
    """The broker promised an offset, not just the presence of the value."""
    (problem,) = find_lost([Entry(P0, 1, b"c")], SOUND)
    assert "has b'b' at offset 1, acknowledged was b'c'" in problem


def test_a_record_of_another_partition_does_not_stand_in() -> None:
    assert find_lost([Entry(P1, 2, b"c")], SOUND)


def test_a_repeated_record_is_found() -> None:
    assert find_repeated(SOUND) == []
    (problem,) = find_repeated([*SOUND, Entry(P0, 3, b"a")])
    assert problem == "t-0 has b'a' at offset 0 and again at 3"


def test_a_reordered_record_is_found() -> None:
    swapped = [Entry(P0, 0, b"b"), Entry(P0, 1, b"a"), Entry(P0, 2, b"c")]
    assert find_reordered(SENT, SOUND) == []
    (problem,) = find_reordered(SENT, swapped)
    assert problem == "t-0 has b'a' at offset 1 after b'b', which was sent later"


def test_an_invented_or_changed_record_is_found() -> None:
    assert find_never_sent(SENT, SOUND) == []
    assert find_never_sent(SENT, [Entry(P1, 0, b"b")]) == [
        "t-1 has b'b' at offset 0, which was never sent"
    ]


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [((0, 2), 1), ((1, 2), 0), ((0, 1, 1), 2)],
    ids=["hole", "missing beginning", "offset given twice"],
)
def test_a_gap_is_found(offsets: tuple[int, ...], expected: int) -> None:
    (problem,) = find_gaps([Entry(P0, offset, b"%d" % offset) for offset in offsets])
    assert f"where {expected} was expected" in problem


def test_many_problems_of_one_kind_are_counted() -> None:
    lost = [Entry(P0, offset, b"v") for offset in range(EXAMPLES_MAX + 3)]
    problems = check_log({}, lost, [])
    assert len(problems) == EXAMPLES_MAX + 1
    assert problems[-1] == "... and 3 more like it"
