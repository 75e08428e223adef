"""InitProducerId: taking over, going on (KIP-360), fencing, and running out of epochs."""

from __future__ import annotations

import pytest
from tests.unit.coordinators.transactions.shell import P0, P1, Shell

from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch
from odradek.errors import ApiError, Err

LAST = 32_766  # the last epoch that a client sees; 32,767 is kept for fencing


def refusal(call: object, *args: object, **kwargs: object) -> Err:
    with pytest.raises(ApiError) as raised:
        call(*args, **kwargs)  # type: ignore[operator]
    return raised.value.err


def test_a_new_id_gets_a_producer_id_and_epoch_0(shell: Shell) -> None:
    assert shell.init("a") == (101, 0)
    assert shell.init("b") == (102, 0)
    assert shell.state("a") == "Empty"


def test_taking_over_raises_the_epoch_and_fences_the_predecessor(shell: Shell) -> None:
    old = shell.init()
    new = shell.init()
    assert new == (old.producer_id, old.producer_epoch + 1)
    assert refusal(shell.add, old) is Err.PRODUCER_FENCED
    assert refusal(shell.end, old, commit=False) is Err.PRODUCER_FENCED
    shell.add(new)


def test_an_empty_id_and_a_wrong_timeout_are_refused(shell: Shell) -> None:
    limit = shell.config.transaction_max_timeout_ms
    assert refusal(shell.init, "") is Err.INVALID_REQUEST
    for timeout_ms in (0, -1, limit + 1):
        assert refusal(shell.init, timeout_ms=timeout_ms) is Err.INVALID_TRANSACTION_TIMEOUT
    shell.init(timeout_ms=limit)


def test_without_a_producer_id_at_hand_the_client_comes_again(shell: Shell) -> None:
    shell.out_of_ids = True
    assert refusal(shell.init) is Err.COORDINATOR_LOAD_IN_PROGRESS
    assert shell.shard.get("x") is None


def test_an_open_transaction_is_aborted_before_somebody_takes_over(v2: Shell) -> None:
    """S-5.4: the zombie's records are aborted, and the newcomer never shares an epoch with it."""
    zombie = v2.init()
    v2.add(zombie, P0, P1)
    v2.hold_markers = True
    assert v2.ask_init().err is Err.CONCURRENT_TRANSACTIONS
    (aborted,) = v2.sent
    assert (aborted.state.label, aborted.producer) == ("PrepareAbort", (101, 1))
    assert aborted.partitions == {P0, P1}
    # The markers are not written yet: everybody waits.
    assert refusal(v2.ask_init) is Err.CONCURRENT_TRANSACTIONS
    v2.complete(aborted)
    assert v2.init() == (101, 2)
    assert refusal(v2.end, zombie) is Err.PRODUCER_FENCED


def test_with_version_1_a_fence_raises_the_epoch_once_too(v1: Shell) -> None:
    zombie = v1.init()
    v1.add(zombie)
    assert v1.ask_init().err is Err.CONCURRENT_TRANSACTIONS
    assert v1.sent[0].producer == (101, 1)
    assert v1.init() == (101, 2)


# KIP-360: a producer that met an error goes on by itself.


def test_a_producer_that_names_itself_goes_on_with_the_next_epoch(shell: Shell) -> None:
    producer = shell.init()
    assert shell.init(expected=producer) == (101, 1)


def test_a_repeated_request_gets_the_same_epoch_again(shell: Shell) -> None:
    producer = shell.init()
    assert shell.init(expected=producer) == shell.init(expected=producer) == (101, 1)


def test_a_fenced_producer_cannot_go_on(shell: Shell) -> None:
    producer = shell.init()
    shell.init()
    assert refusal(shell.init, expected=producer) is Err.PRODUCER_FENCED
    stranger = ProducerIdAndEpoch(999, 0)
    assert refusal(shell.init, expected=stranger) is Err.PRODUCER_FENCED


def test_after_a_restart_a_repetition_is_not_recognised(shell: Shell) -> None:
    """The epoch before the last is not in the log, with Apache Kafka neither: the client starts anew."""
    producer = shell.init()
    shell.init(expected=producer)
    shell.reload()
    assert refusal(shell.init, expected=producer) is Err.PRODUCER_FENCED


def test_an_id_that_expired_meanwhile_begins_again(shell: Shell) -> None:
    assert shell.init(expected=ProducerIdAndEpoch(7, 3)) == (101, 0)


# Epochs end at 32,767.


def test_when_the_epochs_are_used_up_a_new_producer_id_takes_their_place(shell: Shell) -> None:
    shell.init()
    shell.set_epoch(LAST)
    assert shell.init() == (102, 0)


def test_going_on_at_the_last_epoch_can_be_repeated(v2: Shell) -> None:
    v2.init()
    last = v2.set_epoch(LAST)
    assert v2.init(expected=last) == (102, 0)
    assert v2.init(expected=last) == (102, 0)


def test_a_fence_at_the_last_epoch_uses_the_one_that_was_kept_for_it(v1: Shell) -> None:
    v1.init()
    last = v1.set_epoch(LAST)
    v1.add(last)
    assert v1.ask_init().err is Err.CONCURRENT_TRANSACTIONS
    assert v1.sent[0].producer == (101, 32_767)
    assert v1.init() == (102, 0)


def test_a_fence_at_the_last_epoch_with_version_2_changes_the_producer_id(v2: Shell) -> None:
    v2.init()
    last = v2.set_epoch(LAST)
    v2.add(last)
    assert v2.ask_init().err is Err.CONCURRENT_TRANSACTIONS
    assert v2.sent[0].producer == (101, 32_767)
    assert v2.txn().producer == (102, 0)
    assert v2.init() == (102, 1)
