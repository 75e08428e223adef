"""A log gives back what was appended, batch by batch, across segments, restarts and cuts."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.errors import ApiError, Err
from odradek.records.batch import read_header
from odradek.storage.partition_log import Origin
from odradek.types import OffsetAndEpoch


def test_appended_records_come_back_in_order(store: Any, tools: Any) -> None:
    log = store.create()
    first = tools.append(log, b"a", b"b")
    second = tools.append(log, b"c")
    assert (first.first_offset, first.last_offset, second.first_offset) == (0, 1, 2)
    assert (first.record_count, first.duplicate, first.log_append_time_ms) == (2, False, -1)
    assert tools.read_all(log) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert log.log_end_offset == 3


def test_offset_and_epoch_are_stamped_outside_the_crc(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"a")
    tools.append(log, b"b", epoch=5)
    header = read_header(tools.bytes_of(log.read(1, 1000, upto=2, at_least_one=True)))
    assert (header.base_offset, header.partition_leader_epoch) == (1, 5)
    assert log.latest_epoch == 5
    assert log.epoch_end_offset(0) == OffsetAndEpoch(1, 0)
    assert log.epoch_end_offset(5) == OffsetAndEpoch(2, 5)
    assert log.epoch_end_offset(9) == OffsetAndEpoch(-1, -1)


def test_a_log_rolls_by_size_and_reads_across_segments(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=500, index_interval_bytes=0)
    values = [(i, b"%050d" % i) for i in range(100)]
    for _, value in values:
        tools.append(log, value)
    assert len(log.segments) > 10
    assert tools.read_all(log) == values
    for start in range(0, 100, 7):
        assert tools.read_all(log, start) == values[start:]


def test_reads_inside_a_batch_begin_with_that_batch(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"a", b"b", b"c")
    tools.append(log, b"d")
    piece = log.read(1, 1 << 20, upto=4, at_least_one=True)
    assert read_header(tools.bytes_of(piece)).base_offset == 0


def test_the_first_batch_is_whole_and_later_ones_may_be_cut(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"x" * 1000)
    tools.append(log, b"y" * 1000)
    first_bytes = 12 + read_header(tools.bytes_of(log.read(0, 1, upto=2))).batch_length
    assert log.read(0, 1, upto=2, at_least_one=True).size == first_bytes
    assert log.read(0, 1, upto=2, at_least_one=False) is None
    assert log.read(0, first_bytes + 10, upto=2, at_least_one=False).size == first_bytes + 10


def test_reads_end_before_upto(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=400, index_interval_bytes=0)
    for i in range(20):
        tools.append(log, b"%040d" % i)
    for upto in range(21):
        for start in range(upto):
            offset, seen = start, []
            while piece := log.read(offset, 1 << 20, upto=upto, at_least_one=True):
                data = tools.bytes_of(piece)
                while data:
                    header = read_header(data)
                    seen.append(header.base_offset)
                    data = data[header.size_bytes :]
                offset = seen[-1] + 1
            assert seen == list(range(start, upto))
    assert log.read(5, 100, upto=5) is None


def test_offsets_outside_the_log_are_refused(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"a")
    assert log.read(1, 100, upto=1) is None
    for offset in (-1, 2):
        with pytest.raises(ApiError) as caught:
            log.read(offset, 100, upto=1)
        assert caught.value.err is Err.OFFSET_OUT_OF_RANGE


def test_a_slice_outlives_its_segment(real_store: Any, tools: Any) -> None:
    """A consumer that is being served may go on while retention deletes the segment."""
    log = real_store.create(segment_bytes=200)
    for i in range(10):
        tools.append(log, b"%0100d" % i)
    piece = log.read(0, 1000, upto=10, at_least_one=True)
    before = tools.bytes_of(piece)
    log.high_watermark = 10
    log.remove_first_segments(3, tools.NOW_MS)
    real_store.timers.advance(60_000)
    assert tools.bytes_of(piece) == before
    assert log.log_start_offset > 0


def test_segments_roll_by_the_time_in_their_records(store: Any, tools: Any) -> None:
    log = store.create(segment_ms=1000)
    tools.append(log, b"a", timestamp=tools.NOW_MS - 5000)
    tools.append(log, b"b", timestamp=tools.NOW_MS - 4000)
    assert len(log.segments) == 1
    tools.append(log, b"c", timestamp=tools.NOW_MS - 3999)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_an_idle_segment_rolls_when_the_clock_says_so(store: Any, tools: Any) -> None:
    log = store.create(segment_ms=10_000)
    tools.append(log, b"a")
    assert not log.maybe_roll(store.clock.ms + 10_000)
    assert log.maybe_roll(store.clock.ms + 10_001)
    assert not log.maybe_roll(store.clock.ms + 90_000), "an empty segment stays"
    assert [segment.base_offset for segment in log.segments] == [0, 1]


@pytest.mark.parametrize(("policy", "rolls"), [("compact", True), ("delete", False)])
def test_the_compaction_lag_bounds_the_active_segment(
    store: Any, tools: Any, policy: str, rolls: bool
) -> None:
    """max.compaction.lag.ms is kept only if records leave the active segment in time."""
    log = store.create(cleanup_policy=policy, max_compaction_lag_ms=1000)
    tools.append(log, b"a")
    assert log.maybe_roll(store.clock.ms + 1001) is rolls


def test_a_full_index_rolls_the_segment(store: Any, tools: Any) -> None:
    log = store.create(segment_index_bytes=48, index_interval_bytes=0)
    for i in range(12):
        tools.append(log, b"%d" % i, timestamp=tools.NOW_MS + i)
    assert len(log.segments) > 2
    assert len(tools.read_all(log)) == 12


def test_offsets_that_do_not_fit_31_bits_roll_the_segment(store: Any, tools: Any) -> None:
    log = store.create()
    log.append_as_follower(tools.batch(b"a", base_offset=0, leader_epoch=0))
    log.append_as_follower(tools.batch(b"b", base_offset=2**31 - 1, leader_epoch=0))
    log.append_as_follower(tools.batch(b"c", base_offset=2**31, leader_epoch=0))
    assert [segment.base_offset for segment in log.segments] == [0, 2**31]
    assert [offset for offset, _ in tools.read_all(log)] == [0, 2**31 - 1, 2**31]


def test_more_than_a_segment_holds_is_refused(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=100)
    with pytest.raises(ApiError) as caught:
        tools.append(log, b"x" * 200)
    assert caught.value.err is Err.RECORD_LIST_TOO_LARGE


def test_a_refused_batch_changes_nothing(store: Any, tools: Any) -> None:
    log = store.create()
    data = tools.batch(b"a")
    data[65] ^= 1
    with pytest.raises(ApiError) as caught:
        log.append(data, leader_epoch=0, now_ms=tools.NOW_MS)
    assert caught.value.err is Err.CORRUPT_MESSAGE
    assert (log.log_end_offset, log.size_bytes) == (0, 0)


def test_log_append_time_is_the_brokers(store: Any, tools: Any) -> None:
    log = store.create(message_timestamp_type="LogAppendTime")
    result = tools.append(log, b"a", timestamp=5)
    assert result.log_append_time_ms == result.max_timestamp == store.clock.ms


def test_a_follower_keeps_offsets_and_epochs(store: Any, tools: Any) -> None:
    log = store.create()
    data = bytes(tools.batch(b"a", base_offset=10, leader_epoch=3))
    data += bytes(tools.batch(b"b", base_offset=20, leader_epoch=4))
    result = log.append_as_follower(memoryview(bytearray(data)))
    assert (result.first_offset, result.last_offset, log.log_end_offset) == (10, 20, 21)
    assert tools.read_all(log, 0) == [(10, b"a"), (20, b"b")]
    assert log.epoch_end_offset(3) == OffsetAndEpoch(20, 3)
    for gap in (11, 15, 19):
        assert tools.read_all(log, gap) == [(20, b"b")]
    with pytest.raises(ApiError) as caught:
        log.append_as_follower(tools.batch(b"c", base_offset=20, leader_epoch=4))
    assert caught.value.err is Err.OFFSET_OUT_OF_RANGE


def test_truncation_cuts_segments_indexes_and_epochs(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=400, index_interval_bytes=0)
    for i in range(20):
        tools.append(log, b"%040d" % i, epoch=i // 5, timestamp=tools.NOW_MS + i)
    log.high_watermark = 20
    log.truncate_to(11)
    assert (log.log_end_offset, log.high_watermark, log.latest_epoch) == (11, 11, 2)
    tools.append(log, b"new", epoch=7)
    assert [offset for offset, _ in tools.read_all(log)] == list(range(12))
    found = log.prepare_find_by_timestamp(tools.NOW_MS + 9)()
    assert found is not None
    assert found.offset == 9
    restarted = store.restart()
    assert [offset for offset, _ in tools.read_all(restarted)] == list(range(12))
    assert restarted.epoch_end_offset(2) == OffsetAndEpoch(11, 2)


def test_truncation_at_every_offset_leaves_the_records_before_it(store: Any, tools: Any) -> None:
    for cut in range(12):
        log = store.create(f"cut{cut}", segment_bytes=300)
        for i in range(10):
            tools.append(log, b"%040d" % i)
        log.truncate_to(cut)
        assert [offset for offset, _ in tools.read_all(log)] == list(range(min(cut, 10)))
        assert tools.append(log, b"next").first_offset == min(cut, 10)


def test_a_log_can_start_anew_at_an_offset(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=300)
    for i in range(10):
        tools.append(log, b"%040d" % i)
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (100, 100, 100)
    assert tools.append(log, b"a").first_offset == 100
    log = store.restart()
    assert tools.read_all(log) == [(100, b"a")]
    assert log.log_start_offset == 100


def test_delete_records_moves_the_start_up_to_the_high_watermark(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=300)
    for i in range(10):
        tools.append(log, b"%040d" % i)
    log.high_watermark = 6
    with pytest.raises(ApiError) as caught:
        log.advance_log_start(7)
    assert caught.value.err is Err.OFFSET_OUT_OF_RANGE
    log.advance_log_start(5)
    log.advance_log_start(3)
    assert log.log_start_offset == 5
    store.manager.housekeeping.apply_retention()
    assert 0 < log.first_segment_offset <= 5
    with pytest.raises(ApiError):
        log.read(4, 100, upto=10)
    log = store.restart()
    assert log.log_start_offset == 5
    assert [offset for offset, _ in tools.read_all(log)] == [5, 6, 7, 8, 9]


def test_several_batches_of_a_coordinator_go_in_one_write(store: Any, tools: Any) -> None:
    log = store.create()
    data = bytearray(bytes(tools.batch(b"a", b"b")) + bytes(tools.batch(b"c")))
    result = log.append(
        memoryview(data), leader_epoch=0, now_ms=tools.NOW_MS, origin=Origin.COORDINATOR
    )
    assert (result.first_offset, result.last_offset, result.record_count) == (0, 2, 3)
    assert tools.read_all(log) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_appends_are_flushed_after_so_many_records(store: Any, tools: Any) -> None:
    log = store.create(flush_messages=3)
    tools.append(log, b"a", b"b")
    assert log.recovery_point == 0
    tools.append(log, b"c")
    assert log.recovery_point == 3


def test_whoever_waits_for_a_flush_is_told_when_it_is_done(store: Any, tools: Any) -> None:
    log = store.create()
    told: list[int] = []
    store.pool.hold()
    tools.append(log, b"a")
    log.when_flushed(1, lambda: told.append(log.recovery_point))
    tools.append(log, b"b")
    log.when_flushed(2, lambda: told.append(log.recovery_point))
    assert not told
    store.pool.drain()
    assert told == [2, 2], "one job syncs for both"


def test_a_flush_that_a_truncation_overtakes_does_not_count(store: Any, tools: Any) -> None:
    """The recovery point never covers records that were not synced."""
    log = store.create()
    tools.append(log, b"a")
    tools.append(log, b"b")
    store.pool.hold()
    log.flush()
    log.truncate_to(1)
    tools.append(log, b"c")
    store.pool.drain()
    assert log.recovery_point <= 1
