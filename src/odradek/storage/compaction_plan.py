"""Which log is cleaned next, which part of it, and which segments are merged. Pure decisions.

A compacted log has a clean head, where every key occurs once or its repetition is not known, and
a dirty tail. The cleaner reads the tail to learn each key's last offset, then rewrites head and
tail:

    log start      first dirty offset        first uncleanable offset         end
        |  clean          |        cleanable            |  too young, unstable   |
        |  segments       |        segments             |  or active             |

The first uncleanable offset is the base of the first segment that is active, holds a record that
is not yet decided (at or above the last stable offset), or is younger than
`min.compaction.lag.ms`. A log is due when the dirty share of what is cleanable exceeds
`min.cleanable.dirty.ratio`, or when a dirty record is older than `max.compaction.lag.ms`.

The loop's thread calls these with the segments it owns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

K = TypeVar("K")

_RELATIVE_OFFSET_MAX: Final = 2**31 - 1
# The default of max.compaction.lag.ms; then no timestamp has to be read from a file.
_NO_LIMIT: Final = 2**63 - 1
# An entry of the larger of the two indexes.
_TIME_ENTRY_BYTES: Final = 12


class SegmentSize(Protocol):
    """What grouping asks about a segment."""

    @property
    def base_offset(self) -> int:
        """The offset in the segment's name."""
        ...

    @property
    def size_bytes(self) -> int:
        """The bytes of its log."""
        ...


class SegmentFacts(SegmentSize, Protocol):
    """What the plan asks about a segment."""

    @property
    def first_timestamp(self) -> int:
        """The timestamp of its first batch; -1 when unknown."""
        ...

    def largest_timestamp_ms(self) -> int:
        """Its largest timestamp, or when it was written."""
        ...


class CompactionRules(NamedTuple):
    """What a topic's configuration says about compaction."""

    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _NO_LIMIT
    delete_retention_ms: int = 86_400_000
    segment_bytes: int = 2**30
    segment_index_bytes: int = 10 * 2**20
    index_interval_bytes: int = 4096


class CleanableRange(NamedTuple):
    """The dirty part of a log that may be cleaned now, and how urgent that is."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        """The share of dirty bytes in what a cleaning would read."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    def is_due(self, min_cleanable_dirty_ratio: float) -> bool:
        """Whether the log should be cleaned."""
        return self.cleanable_bytes > 0 and (
            self.is_overdue or self.dirty_ratio > min_cleanable_dirty_ratio
        )


def first_dirty_offset(checkpoint: int | None, log_start_offset: int, log_end_offset: int) -> int:
    """Where the last cleaning ended; a checkpoint outside of the log does not count."""
    if checkpoint is None or not log_start_offset <= checkpoint <= log_end_offset:
        return log_start_offset
    return checkpoint


def cleanable_range(
    segments: Sequence[SegmentFacts],
    dirty_offset: int,
    last_stable_offset: int,
    rules: CompactionRules,
    now_ms: int,
) -> CleanableRange:
    """What of `segments`, the last of which is active, may be cleaned at `now_ms`."""
    clean_bytes = cleanable_bytes = 0
    earliest_dirty_ms = now_ms
    for number in range(len(segments) - 1):
        segment, end_offset = segments[number], segments[number + 1].base_offset
        if end_offset <= dirty_offset:
            clean_bytes += segment.size_bytes
            continue
        if end_offset > last_stable_offset or _is_too_young(segment, rules, now_ms):
            return CleanableRange(
                dirty_offset,
                max(segment.base_offset, dirty_offset),
                clean_bytes,
                cleanable_bytes,
                _is_overdue(earliest_dirty_ms, rules, now_ms),
            )
        cleanable_bytes += segment.size_bytes
        if rules.max_compaction_lag_ms < _NO_LIMIT and segment.first_timestamp > 0:
            earliest_dirty_ms = min(earliest_dirty_ms, segment.first_timestamp)
    return CleanableRange(
        dirty_offset,
        max(segments[-1].base_offset, dirty_offset) if segments else dirty_offset,
        clean_bytes,
        cleanable_bytes,
        _is_overdue(earliest_dirty_ms, rules, now_ms),
    )


def _is_too_young(segment: SegmentFacts, rules: CompactionRules, now_ms: int) -> bool:
    lag_ms = rules.min_compaction_lag_ms
    return lag_ms > 0 and segment.largest_timestamp_ms() > now_ms - lag_ms


def _is_overdue(earliest_dirty_ms: int, rules: CompactionRules, now_ms: int) -> bool:
    return earliest_dirty_ms < now_ms - max(rules.max_compaction_lag_ms, 0)


def filthiest(
    candidates: Iterable[tuple[K, CleanableRange, float]],
) -> tuple[K, CleanableRange] | None:
    """Of (log, range, its min.cleanable.dirty.ratio): the due one with the highest dirty ratio."""
    best: tuple[K, CleanableRange] | None = None
    for log, found, min_ratio in candidates:
        if found.is_due(min_ratio) and (best is None or found.dirty_ratio > best[1].dirty_ratio):
            best = log, found
    return best


def group_segments(
    segments: Sequence[SegmentSize], end_offset: int, rules: CompactionRules
) -> list[range]:
    """Which neighbours are merged into one segment: ranges of indices into `segments`.

    A group is bounded by segment.bytes, by what its indexes will need at most, and by the 31 bits
    of a relative offset. `end_offset` is the first offset after the last segment.
    """
    groups: list[range] = []
    start, log_bytes = 0, 0
    for number, segment in enumerate(segments):
        after = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
        merged = log_bytes + segment.size_bytes
        entries = merged // max(rules.index_interval_bytes, 1) + 1
        if number > start and (
            merged > rules.segment_bytes
            or entries * _TIME_ENTRY_BYTES > rules.segment_index_bytes
            or after - 1 - segments[start].base_offset > _RELATIVE_OFFSET_MAX
        ):
            groups.append(range(start, number))
            start, merged = number, segment.size_bytes
        log_bytes = merged
    if segments:
        groups.append(range(start, len(segments)))
    return groups
