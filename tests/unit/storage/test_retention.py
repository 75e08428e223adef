"""Which segments go: oldest first, whole, below the high watermark, for Kafka's three reasons."""

from __future__ import annotations

from odradek.storage.retention import RetentionRules, SegmentFacts, expired_count

FOREVER = RetentionRules(-1, -1, True)


def facts(*rows: tuple[int, int, int]) -> list[SegmentFacts]:
    return [SegmentFacts(end, size, lambda t=timestamp: t) for end, size, timestamp in rows]  # type: ignore[misc]


SEGMENTS = facts((10, 100, 1000), (20, 100, 2000), (30, 100, 3000))


def count(
    rules: RetentionRules, start: int = 0, high_watermark: int = 30, now: int = 10_000
) -> int:
    return expired_count(
        SEGMENTS, rules, log_start_offset=start, high_watermark=high_watermark, now_ms=now
    )


def test_nothing_goes_without_a_reason() -> None:
    assert count(FOREVER) == 0


def test_by_time() -> None:
    assert count(FOREVER._replace(retention_ms=8000)) == 1
    assert count(FOREVER._replace(retention_ms=7999)) == 2
    assert count(FOREVER._replace(retention_ms=0)) == 3
    assert count(FOREVER._replace(retention_ms=0), high_watermark=29) == 2


def test_time_stops_at_the_first_young_segment() -> None:
    segments = facts((10, 1, 5000), (20, 1, 1000), (30, 1, 9000))
    rules = FOREVER._replace(retention_ms=6000)
    assert expired_count(segments, rules, log_start_offset=0, high_watermark=30, now_ms=10_000) == 0


def test_by_size() -> None:
    assert count(FOREVER._replace(retention_bytes=300)) == 0
    assert count(FOREVER._replace(retention_bytes=201)) == 0
    assert count(FOREVER._replace(retention_bytes=200)) == 1
    assert count(FOREVER._replace(retention_bytes=0)) == 3


def test_by_log_start_even_where_nothing_else_is_deleted() -> None:
    rules = RetentionRules(0, 0, deletes=False)
    assert count(rules) == 0
    assert count(rules, start=19) == 1
    assert count(rules, start=20) == 2
    assert count(rules, start=30) == 2, "the active segment stays"


def test_an_empty_active_segment_stays() -> None:
    segments = facts((10, 100, 1000), (10, 0, -1))
    rules = FOREVER._replace(retention_ms=0, retention_bytes=0)
    assert expired_count(segments, rules, log_start_offset=0, high_watermark=10, now_ms=9999) == 1
