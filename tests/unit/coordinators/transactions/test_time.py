"""Time: transactions that take too long are aborted, ids that are silent too long are forgotten."""

from __future__ import annotations

import pytest
from tests.unit.coordinators.transactions.shell import P0, Shell

from odradek.coordinators.groups.topic_regex import TopicRegex
from odradek.coordinators.transactions.queries import TransactionFilter
from odradek.coordinators.transactions.state import TransactionState
from odradek.errors import ApiError, Err

INTERVAL_MS = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
WEEK_MS = 7 * 24 * 3600 * 1000


def test_a_transaction_that_exceeds_its_timeout_is_aborted(shell: Shell) -> None:
    producer = shell.init(timeout_ms=25_000)
    shell.add(producer)
    shell.advance(20_000)
    assert shell.state() == "Ongoing"
    shell.advance(INTERVAL_MS)
    assert shell.state() == "CompleteAbort"
    assert shell.sent[0].producer == (101, 1)
    with pytest.raises(ApiError) as raised:
        shell.add(producer)
    assert raised.value.err is Err.PRODUCER_FENCED


def test_with_version_2_the_producer_learns_of_it_by_aborting_and_goes_on(v2: Shell) -> None:
    producer = v2.init(timeout_ms=1000)
    v2.add(producer)
    v2.advance(INTERVAL_MS)
    assert v2.end(producer, commit=False) == (101, 1)


def test_with_version_1_the_producer_is_fenced(v1: Shell) -> None:
    producer = v1.init(timeout_ms=1000)
    v1.add(producer)
    v1.advance(INTERVAL_MS)
    with pytest.raises(ApiError) as raised:
        v1.end(producer, commit=False)
    assert raised.value.err is Err.PRODUCER_FENCED
    # It may not go on by KIP-360 either: another instance may have taken over.
    with pytest.raises(ApiError) as raised:
        v1.init(expected=producer)
    assert raised.value.err is Err.PRODUCER_FENCED


def test_the_timeout_counts_from_the_first_partition_also_after_a_restart(shell: Shell) -> None:
    producer = shell.init(timeout_ms=15_000)
    shell.advance(50_000)
    shell.add(producer)
    shell.advance(9_000)
    shell.reload()
    shell.advance(INTERVAL_MS)
    assert shell.state() == "CompleteAbort"


def test_a_timeout_at_the_last_epoch_waits_for_a_producer_id(v2: Shell) -> None:
    v2.init(timeout_ms=1000)
    v2.add(v2.set_epoch(32_766))
    v2.out_of_ids = True
    v2.advance(INTERVAL_MS)
    assert v2.state() == "Ongoing"
    v2.out_of_ids = False
    v2.advance(INTERVAL_MS)
    assert v2.txn().producer == (102, 0)


def test_a_silent_id_is_forgotten_unless_its_transaction_is_open(shell: Shell) -> None:
    limit = shell.config.transaction_max_timeout_ms
    shell.init("idle")
    shell.add(shell.init("busy", timeout_ms=limit), transactional_id="busy")
    shell.advance(WEEK_MS // 2)
    shell.init("recent")
    shell.add(shell.init("busy2"), transactional_id="busy2")
    shell.hold_markers = True
    shell.advance(WEEK_MS // 2 + 2 * 3_600_000)
    assert shell.shard.get("idle") is None
    assert shell.state("recent") == "Empty"
    assert shell.state("busy2") == "PrepareAbort"  # markers outstanding: never forgotten
    shell.reload()
    assert shell.shard.get("idle") is None
    assert shell.init("idle") > (102, 0)


def test_list_filters(v2: Shell) -> None:
    a = v2.init("a-1")
    v2.add(a, P0, transactional_id="a-1")
    v2.now_ms += 5000
    b = v2.init("b: 2")
    v2.add(b, P0, transactional_id="b: 2")
    v2.init("c")

    def listed(**conditions: object) -> list[str]:
        wanted = TransactionFilter(**conditions)  # type: ignore[arg-type]
        return sorted(txn.transactional_id for txn in v2.shard.matching(wanted))

    assert listed() == ["a-1", "b: 2", "c"]
    assert listed(states=frozenset({TransactionState.ONGOING})) == ["a-1", "b: 2"]
    assert listed(states=frozenset()) == []
    assert listed(producer_ids=frozenset({b.producer_id})) == ["b: 2"]
    assert listed(duration_ms=4999, states=frozenset({TransactionState.ONGOING})) == ["a-1"]
    assert listed(duration_ms=5000, states=frozenset({TransactionState.ONGOING})) == []
    assert listed(pattern=TopicRegex("[ab].*")) == ["a-1", "b: 2"]
    assert listed(pattern=TopicRegex("a")) == []
