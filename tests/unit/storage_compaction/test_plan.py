"""Which part of a log may be cleaned, when a log is due, and which segments are merged."""

from __future__ import annotations

from typing import NamedTuple

from odradek.storage.compaction_plan import (
    CleanableRange,
    CompactionRules,
    cleanable_range,
    filthiest,
    first_dirty_offset,
    group_segments,
)

NOW = 1_700_000_000_000
RULES = CompactionRules()


class Facts(NamedTuple):
    base_offset: int
    size_bytes: int = 100
    first_timestamp: int = NOW - 1000
    largest: int = NOW - 1000

    def largest_timestamp_ms(self) -> int:
        return self.largest


def test_the_active_segment_is_never_cleanable() -> None:
    """All but the last segment is cleanable when everything is decided and old enough."""
    found = cleanable_range([Facts(0), Facts(10), Facts(20)], 0, 30, RULES, NOW)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 20)
    assert (found.clean_bytes, found.cleanable_bytes) == (0, 200)
    assert cleanable_range([Facts(0)], 0, 30, RULES, NOW).cleanable_bytes == 0


def test_a_segment_with_an_open_transaction_is_not_cleanable() -> None:
    """The whole segment must lie below the last stable offset."""
    segments = [Facts(0), Facts(10), Facts(20)]
    assert cleanable_range(segments, 0, 19, RULES, NOW).first_uncleanable_offset == 10
    assert cleanable_range(segments, 0, 20, RULES, NOW).first_uncleanable_offset == 20


def test_young_records_are_left_alone() -> None:
    """min.compaction.lag.ms holds back a segment with a record younger than that, and all after."""
    segments = [Facts(0), Facts(10, largest=NOW - 10), Facts(20), Facts(30)]
    rules = RULES._replace(min_compaction_lag_ms=100)
    assert cleanable_range(segments, 0, 40, rules, NOW).first_uncleanable_offset == 10


def test_the_dirty_ratio_counts_bytes() -> None:
    """Dirty bytes over clean and dirty ones; what is not cleanable does not count."""
    segments = [Facts(0, 300), Facts(10, 100), Facts(20, 999)]
    found = cleanable_range(segments, 10, 30, RULES, NOW)
    assert found.dirty_ratio == 0.25
    assert not found.is_due(0.5)
    assert found.is_due(0.2)


def test_an_old_dirty_record_makes_a_log_due() -> None:
    """max.compaction.lag.ms overrides the ratio."""
    segments = [Facts(0, 300), Facts(10, 1, first_timestamp=NOW - 5000), Facts(20)]
    rules = RULES._replace(max_compaction_lag_ms=1000)
    assert cleanable_range(segments, 10, 30, rules, NOW).is_due(0.9)
    rules = RULES._replace(max_compaction_lag_ms=10_000)
    assert not cleanable_range(segments, 10, 30, rules, NOW).is_due(0.9)


def test_a_checkpoint_outside_of_the_log_does_not_count() -> None:
    """After a truncation or DeleteRecords the log is cleaned from its start."""
    assert first_dirty_offset(None, 5, 20) == 5
    assert first_dirty_offset(3, 5, 20) == 5
    assert first_dirty_offset(25, 5, 20) == 5
    assert first_dirty_offset(12, 5, 20) == 12


def test_the_filthiest_log_is_first() -> None:
    """The highest dirty ratio of those that are due."""
    half = CleanableRange(0, 1, 50, 50, False)
    most = CleanableRange(0, 1, 10, 90, False)
    assert filthiest([("a", half, 0.4), ("b", most, 0.4)]) == ("b", most)
    assert filthiest([("a", half, 0.4), ("b", most, 0.95)]) == ("a", half)
    assert filthiest([("a", half, 0.6)]) is None


def test_groups_are_bounded() -> None:
    """By segment.bytes, by the size of the indexes, by 31 bits of relative offset."""
    segments = [Facts(0, 40), Facts(10, 40), Facts(20, 40), Facts(30, 200)]
    assert group_segments(segments, 40, RULES._replace(segment_bytes=100)) == [
        range(2),
        range(2, 3),
        range(3, 4),
    ]
    far = [Facts(0), Facts(10), Facts(2**31 + 1)]
    assert group_segments(far, 2**31 + 5, RULES) == [range(1), range(1, 3)]
    tight = RULES._replace(segment_index_bytes=24, index_interval_bytes=50)
    assert group_segments(segments[:3], 30, tight) == [range(2), range(2, 3)]
    assert group_segments([], 0, RULES) == []
