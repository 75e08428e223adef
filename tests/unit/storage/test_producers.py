"""Idempotence and transactions as a partition sees them: duplicates, order, fencing, stability."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.errors import ApiError, Err
from odradek.records.control import build_end_marker
from odradek.storage.partition_log import Origin
from odradek.storage.producer_state import ProducerState

PID = 42


def send(
    tools: Any,
    log: Any,
    sequence: int,
    *,
    epoch: int = 0,
    count: int = 1,
    pid: int = PID,
    **more: Any,
) -> Any:
    return tools.append(
        log,
        *[b"v"] * count,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        **more,
    )


def end(
    log: Any, *, commit: bool, pid: int = PID, epoch: int = 0, coordinator_epoch: int = 1
) -> Any:
    marker = build_end_marker(
        producer_id=pid,
        producer_epoch=epoch,
        commit=commit,
        coordinator_epoch=coordinator_epoch,
        timestamp=log.dir.clock.now_ms(),
    )
    return log.append(
        memoryview(marker),
        leader_epoch=0,
        now_ms=log.dir.clock.now_ms(),
        origin=Origin.COORDINATOR,
    )


def refusal(call: Any) -> Err:
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value.err


def test_a_repeated_batch_gets_its_first_offset_back(store: Any, tools: Any) -> None:
    log = store.create()
    results = [send(tools, log, i * 2, count=2) for i in range(5)]
    for i in range(5):
        again = send(tools, log, i * 2, count=2)
        assert again.duplicate
        assert (again.first_offset, again.last_offset) == (i * 2, i * 2 + 1)
    assert not results[0].duplicate
    assert log.log_end_offset == 10


def test_only_the_last_five_batches_are_known(store: Any, tools: Any) -> None:
    log = store.create()
    for i in range(6):
        send(tools, log, i)
    assert send(tools, log, 1).duplicate
    assert refusal(lambda: send(tools, log, 0)) is Err.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_in_the_sequence_is_refused(store: Any, tools: Any) -> None:
    log = store.create()
    send(tools, log, 0, count=3)
    assert refusal(lambda: send(tools, log, 4)) is Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(lambda: send(tools, log, 2)) is Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(tools, log, 3).first_offset == 3


def test_a_producer_nobody_knows_may_begin_anywhere(store: Any, tools: Any) -> None:
    log = store.create()
    assert send(tools, log, 1234).first_offset == 0
    assert send(tools, log, 1235).first_offset == 1


def test_sequences_wrap_after_the_largest_int(store: Any, tools: Any) -> None:
    log = store.create()
    send(tools, log, 2**31 - 2, count=3)
    assert send(tools, log, 2**31 - 2, count=3).duplicate
    assert send(tools, log, 1).first_offset == 3
    send(tools, log, 2**31 - 1, pid=7)
    assert send(tools, log, 0, pid=7).first_offset == 5


def test_an_older_epoch_is_fenced_and_a_newer_one_begins_at_zero(store: Any, tools: Any) -> None:
    log = store.create()
    send(tools, log, 0, epoch=1)
    assert refusal(lambda: send(tools, log, 1, epoch=0)) is Err.INVALID_PRODUCER_EPOCH
    assert refusal(lambda: send(tools, log, 1, epoch=2)) is Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(tools, log, 0, epoch=2).first_offset == 1


def test_an_open_transaction_holds_the_last_stable_offset(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"plain")
    send(tools, log, 0, transactional=True)
    send(tools, log, 0, pid=9, transactional=True)
    log.high_watermark = 3
    assert log.last_stable_offset == 1
    end(log, commit=True)
    log.high_watermark = 4
    assert log.last_stable_offset == 2
    end(log, commit=True, pid=9)
    assert log.last_stable_offset == 2, "its marker is not below the high watermark"
    log.high_watermark = 5
    assert log.last_stable_offset == 5


def test_aborted_transactions_are_named_to_readers(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=400)
    for round_number in range(4):
        send(tools, log, round_number, transactional=True)
        end(log, commit=round_number % 2 == 0)
    log.high_watermark = log.log_end_offset
    assert len(log.segments) > 1
    assert log.aborted_transactions(0, 8) == [(PID, 2), (PID, 6)]
    assert log.aborted_transactions(0, 2) == []
    assert log.aborted_transactions(3, 5) == [(PID, 2)]
    assert log.aborted_transactions(4, 6) == []


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_everything_about_producers_survives(store: Any, tools: Any, how: str) -> None:
    """After a clean stop and after a crash of the process, from snapshots and from replay."""
    log = store.create(segment_bytes=500)
    for round_number in range(4):
        send(tools, log, round_number, transactional=True)
        end(log, commit=round_number % 2 == 0)
    send(tools, log, 0, pid=8)
    send(tools, log, 4, transactional=True)
    log.high_watermark = log.log_end_offset
    before = (log.last_stable_offset, log.aborted_transactions(0, 100))
    log = getattr(store, how)()
    log.high_watermark = log.log_end_offset
    assert (log.last_stable_offset, log.aborted_transactions(0, 100)) == before
    assert send(tools, log, 4, transactional=True).duplicate
    assert send(tools, log, 0, pid=8).duplicate
    assert refusal(lambda: send(tools, log, 9, pid=8)) is Err.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(lambda: send(tools, log, 5)) is Err.INVALID_TXN_STATE
    end(log, commit=True)
    log.high_watermark = log.log_end_offset
    assert log.last_stable_offset == log.log_end_offset


def test_a_zombie_coordinator_is_fenced(store: Any, tools: Any) -> None:
    log = store.create()
    send(tools, log, 0, transactional=True)
    end(log, commit=True, coordinator_epoch=5)
    send(tools, log, 1, transactional=True)
    fenced = refusal(lambda: end(log, commit=False, coordinator_epoch=4))
    assert fenced is Err.TRANSACTION_COORDINATOR_FENCED
    assert refusal(lambda: end(log, commit=False, epoch=-1)) is Err.INVALID_PRODUCER_EPOCH


def test_truncation_takes_the_producers_back(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=300)
    for i in range(10):
        send(tools, log, i)
    log.truncate_to(4)
    assert send(tools, log, 3).duplicate
    assert send(tools, log, 4).first_offset == 4


def test_silent_producers_are_forgotten_unless_in_a_transaction(store: Any, tools: Any) -> None:
    log = store.create()
    send(tools, log, 0, pid=1)
    send(tools, log, 0, pid=2, transactional=True)
    store.timers.advance(86_400_000)
    store.manager.housekeeping.remove_expired_producers()
    assert [entry.producer_id for entry in log.active_producers()] == [2]


def test_a_failed_write_leaves_the_producer_where_it_was(store: Any, tools: Any) -> None:
    log = store.create()
    send(tools, log, 0)
    store.disk.fail("append", path_part=".log")
    assert refusal(lambda: send(tools, log, 1)) is Err.KAFKA_STORAGE_ERROR
    assert log.active_producers()[0].last_sequence == 0


def test_a_snapshot_is_read_back_and_a_broken_one_is_refused(store: Any, tools: Any) -> None:
    log = store.create()
    send(tools, log, 0, count=3)
    send(tools, log, 0, pid=9, transactional=True)
    content = bytearray(log._producers.encode())
    state = ProducerState.decode(bytes(content))
    assert len(state) == 2
    assert state.first_unstable_offset(10) == 3
    for i in range(len(content)):
        content[i] ^= 1
        with pytest.raises(ValueError, match="a snapshot"):
            ProducerState.decode(bytes(content))
        content[i] ^= 1
    for size in range(len(content)):
        with pytest.raises(ValueError, match="a snapshot"):
            ProducerState.decode(bytes(content[:size]))
