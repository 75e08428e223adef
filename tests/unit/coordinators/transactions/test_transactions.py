"""A transaction's life: partitions are added, it ends, its markers are written, the next one begins."""

from __future__ import annotations

import pytest
from tests.unit.coordinators.transactions.shell import P0, P1, Shell

from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch
from odradek.errors import ApiError, Err
from odradek.types import TopicPartition


def refusal(call: object, *args: object, **kwargs: object) -> Err:
    with pytest.raises(ApiError) as raised:
        call(*args, **kwargs)  # type: ignore[operator]
    return raised.value.err


# Adding.


def test_the_first_partition_begins_a_transaction(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer, P0)
    shell.now_ms += 5
    shell.add(producer, P1)
    txn = shell.txn()
    assert (txn.state.label, txn.partitions) == ("Ongoing", {P0, P1})
    assert (txn.start_timestamp_ms, txn.last_update_timestamp_ms) == (1_000_000, 1_000_005)


def test_what_is_added_already_writes_nothing(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer, P0, P1)
    written = len(shell.log)
    shell.add(producer, P1)
    assert len(shell.log) == written


def test_strangers_may_not_add(shell: Shell) -> None:
    producer = shell.init()
    newer = ProducerIdAndEpoch(producer.producer_id, producer.producer_epoch + 1)
    assert refusal(shell.add, producer, transactional_id="y") is Err.INVALID_PRODUCER_ID_MAPPING
    assert refusal(shell.add, producer, transactional_id="") is Err.INVALID_REQUEST
    assert refusal(shell.add, ProducerIdAndEpoch(9, 0)) is Err.INVALID_PRODUCER_ID_MAPPING
    assert refusal(shell.add, newer) is Err.PRODUCER_FENCED


def test_nothing_is_added_while_markers_are_being_written(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer)
    shell.hold_markers = True
    after = shell.end(producer)
    assert refusal(shell.add, after) is Err.CONCURRENT_TRANSACTIONS
    shell.complete(shell.sent[0])
    shell.add(after)


def test_verification_tells_partition_by_partition(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer, P0)
    assert shell.shard.verify_partitions("x", producer, [P0, P1]) == {
        P0: Err.NONE,
        P1: Err.TRANSACTION_ABORTABLE,
    }
    old = ProducerIdAndEpoch(producer.producer_id, -1)
    assert refusal(shell.shard.verify_partitions, "x", old, [P0]) is Err.PRODUCER_FENCED
    unknown = refusal(shell.shard.verify_partitions, "y", producer, [P0])
    assert unknown is Err.INVALID_PRODUCER_ID_MAPPING


# Ending.


@pytest.mark.parametrize("commit", [True, False])
def test_the_outcome_goes_to_every_partition_and_frees_the_id(shell: Shell, commit: bool) -> None:
    producer = shell.init()
    shell.add(producer, P0, P1)
    shell.end(producer, commit=commit)
    (decided,) = shell.sent
    assert decided.is_committed == commit
    assert decided.partitions == {P0, P1}
    assert shell.state() == ("CompleteCommit" if commit else "CompleteAbort")
    assert shell.txn().partitions == frozenset()


def test_version_2_raises_the_epoch_with_every_end(v2: Shell) -> None:
    producer = v2.init()
    for epoch in range(1, 5):
        v2.add(producer)
        producer = v2.end(producer, commit=epoch % 2 == 0)
        assert producer == (101, epoch)
        assert v2.sent[-1].producer == producer  # the markers carry the raised epoch


def test_version_1_keeps_the_epoch(v1: Shell) -> None:
    producer = v1.init()
    for _ in range(3):
        v1.add(producer)
        assert v1.end(producer) == producer
        assert v1.sent[-1].producer == producer


def test_old_clients_work_with_a_broker_of_version_2(v2: Shell) -> None:
    """They send older requests; their transactions keep the epoch."""
    producer = v2.init()
    v2.add(producer, version=0)
    assert v2.end(producer, version=0) == producer
    assert v2.sent[-1].producer == producer


def test_a_commit_without_a_transaction_is_refused(shell: Shell) -> None:
    producer = shell.init()
    assert refusal(shell.end, producer) is Err.INVALID_TXN_STATE


def test_an_abort_without_a_transaction_depends_on_the_version(v1: Shell, v2: Shell) -> None:
    """Version 2 clients abort whenever they are unsure, and go on with the raised epoch."""
    assert refusal(v1.end, v1.init(), commit=False) is Err.INVALID_TXN_STATE
    producer = v2.init()
    producer = v2.end(producer, commit=False)
    assert producer == (101, 1)
    producer = v2.end(producer, commit=False)
    assert producer == (101, 2)
    v2.add(producer)
    producer = v2.end(producer)
    assert v2.end(producer, commit=False) == (101, 4)


def test_a_commit_after_a_commit_is_not_taken_for_the_next_one(v2: Shell) -> None:
    producer = v2.init()
    v2.add(producer)
    after = v2.end(producer)
    assert refusal(v2.end, after) is Err.INVALID_TXN_STATE


def test_strangers_may_not_end(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer)
    stranger = ProducerIdAndEpoch(9, 0)
    newer = ProducerIdAndEpoch(producer.producer_id, producer.producer_epoch + 1)
    assert refusal(shell.end, stranger) is Err.INVALID_PRODUCER_ID_MAPPING
    assert refusal(shell.end, newer) is Err.PRODUCER_FENCED
    unknown = refusal(shell.end, producer, transactional_id="y")
    assert unknown is Err.INVALID_PRODUCER_ID_MAPPING
    assert refusal(shell.end, producer, transactional_id="") is Err.INVALID_REQUEST


# The answer was lost and the client asks again.


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_gets_the_answer_of_the_first_time(shell: Shell, commit: bool) -> None:
    producer = shell.init()
    shell.add(producer)
    first = shell.end(producer, commit=commit)
    written = len(shell.log)
    assert shell.end(producer, commit=commit) == first
    assert refusal(shell.end, producer, commit=not commit) is Err.INVALID_TXN_STATE
    assert len(shell.log) == written


@pytest.mark.parametrize("commit", [True, False])
def test_a_repeated_end_waits_for_the_markers(shell: Shell, commit: bool) -> None:
    producer = shell.init()
    shell.add(producer)
    shell.hold_markers = True
    shell.end(producer, commit=commit)
    assert refusal(shell.end, producer, commit=commit) is Err.CONCURRENT_TRANSACTIONS
    assert refusal(shell.end, producer, commit=not commit) is Err.INVALID_TXN_STATE
    assert len(shell.sent) == 1


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("late_commit", [True, False])
def test_a_delayed_end_never_decides_a_later_transaction(
    v2: Shell, commit: bool, late_commit: bool
) -> None:
    """KAFKA-17754 with transaction.version 2: an EndTxn that lay in the network is fenced."""
    first = v2.init()
    v2.add(first)
    second = v2.end(first, commit=commit)
    v2.add(second)
    assert refusal(v2.end, first, commit=late_commit) is Err.PRODUCER_FENCED
    assert v2.state() == "Ongoing"
    third = v2.end(second)
    assert refusal(v2.end, first, commit=late_commit) is Err.PRODUCER_FENCED
    v2.add(third)
    assert refusal(v2.end, first, commit=late_commit) is Err.PRODUCER_FENCED
    assert refusal(v2.end, second, commit=late_commit) is Err.PRODUCER_FENCED
    assert v2.state() == "Ongoing"


def test_with_version_1_a_delayed_end_does_decide_a_later_transaction(v1: Shell) -> None:
    """KAFKA-17754, the flaw of the older protocol: both transactions have the same epoch."""
    producer = v1.init()
    v1.add(producer)
    v1.end(producer, commit=False)
    v1.add(producer)
    v1.end(producer, commit=False)  # the same request, delivered once more
    assert v1.state() == "CompleteAbort"


def test_the_last_epoch_ends_with_a_new_producer_id(v2: Shell) -> None:
    v2.init()
    last = v2.set_epoch(32_766)
    v2.add(last)
    v2.hold_markers = True
    assert v2.end(last) == (102, 0)
    (decided,) = v2.sent
    assert decided.producer == (101, 32_767)
    assert refusal(v2.end, last) is Err.CONCURRENT_TRANSACTIONS
    v2.reload()
    v2.complete(v2.sent[0])
    assert v2.txn().producer == (102, 0)
    assert v2.end(last) == (102, 0)  # repeated
    v2.hold_markers = False
    v2.add(ProducerIdAndEpoch(102, 0))
    assert refusal(v2.end, last) is Err.INVALID_PRODUCER_ID_MAPPING


def test_an_end_that_needs_a_producer_id_and_finds_none_changes_nothing(v2: Shell) -> None:
    v2.init()
    last = v2.set_epoch(32_766)
    v2.add(last)
    v2.out_of_ids = True
    assert refusal(v2.end, last) is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert v2.state() == "Ongoing"


def test_a_failed_write_decides_nothing(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer)
    shell.fail_writes = True
    assert refusal(shell.end, producer) is Err.COORDINATOR_NOT_AVAILABLE
    shell.fail_writes = False
    assert (shell.state(), shell.sent) == ("Ongoing", [])
    shell.end(producer)


def test_completion_told_twice_or_too_late_changes_nothing(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer)
    producer = shell.end(producer)
    first = shell.sent[0]
    shell.add(producer)
    shell.complete(first)
    assert shell.state() == "Ongoing"


# Restarts.


@pytest.mark.parametrize("commit", [True, False])
def test_what_was_decided_is_finished_after_a_restart(shell: Shell, commit: bool) -> None:
    producer = shell.init()
    shell.add(producer, P0, TopicPartition("__consumer_offsets", 3))
    shell.hold_markers = True
    shell.end(producer, commit=commit)
    shell.hold_markers = False
    shell.reload()
    (decided,) = shell.sent
    assert decided.is_committed == commit
    assert len(decided.partitions) == 2
    assert shell.state() == ("CompleteCommit" if commit else "CompleteAbort")


def test_an_open_transaction_goes_on_after_a_restart(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer, P0)
    before = shell.txn()
    shell.reload()
    assert shell.txn() == before
    assert shell.sent == []
    shell.add(producer, P1)
    shell.end(producer)
    assert shell.sent[0].partitions == {P0, P1}


def test_a_repeated_end_is_recognised_after_a_restart(shell: Shell) -> None:
    producer = shell.init()
    shell.add(producer)
    first = shell.end(producer)
    shell.reload()
    assert shell.end(producer) == first
