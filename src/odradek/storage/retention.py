"""Which segments have lived long enough. Pure decisions over a few facts per segment.

Only whole segments go, only from the log's start, only below the high watermark; an empty active segment
stays, a full one may go (the log rolls first). Three reasons, as in Kafka: all its records are older
than retention.ms, the log is larger than retention.bytes without it, or DeleteRecords has moved the
log's start past it. Topics without `delete` in cleanup.policy only have the last reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

UNLIMITED = -1


class SegmentFacts(NamedTuple):
    """What retention asks of a segment; the timestamp is read only when it matters."""

    end_offset: int
    size_bytes: int
    largest_timestamp_ms: Callable[[], int]


class RetentionRules(NamedTuple):
    """What the topic says; -1 sets no limit."""

    retention_ms: int
    retention_bytes: int
    deletes: bool


def expired_count(
    segments: Sequence[SegmentFacts],
    rules: RetentionRules,
    *,
    log_start_offset: int,
    high_watermark: int,
    now_ms: int,
) -> int:
    """How many segments, from the oldest on, are to go."""
    allowed = _count_while(segments, lambda segment: segment.end_offset <= high_watermark)
    if allowed == len(segments) and segments and not segments[-1].size_bytes:
        allowed -= 1  # the active one, and empty
    deletable = segments[:allowed]
    # What DeleteRecords has passed; the active segment is never wholly below the log's start.
    count = _count_while(deletable[: len(segments) - 1], lambda s: s.end_offset <= log_start_offset)
    if not rules.deletes:
        return count
    if rules.retention_ms >= 0:
        oldest_ms = now_ms - rules.retention_ms
        count += _count_while(
            deletable[count:], lambda segment: segment.largest_timestamp_ms() < oldest_ms
        )
    if rules.retention_bytes >= 0:
        excess = sum(segment.size_bytes for segment in segments[count:]) - rules.retention_bytes
        for segment in deletable[count:]:
            if segment.size_bytes > excess:
                break
            excess -= segment.size_bytes
            count += 1
    return count


def _count_while(
    segments: Sequence[SegmentFacts], predicate: Callable[[SegmentFacts], bool]
) -> int:
    for i, segment in enumerate(segments):
        if not predicate(segment):
            return i
    return len(segments)
