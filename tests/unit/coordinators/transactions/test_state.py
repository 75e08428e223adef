"""The table of states is Kafka's, and every step of a transaction keeps to it."""

from __future__ import annotations

import pytest

from odradek.coordinators.transactions.metadata import TransactionMetadata
from odradek.coordinators.transactions.state import PREVIOUS, TransactionState
from odradek.types import TopicPartition

S = TransactionState
P0 = TopicPartition("t", 0)


def in_state(state: TransactionState) -> TransactionMetadata:
    return TransactionMetadata(
        transactional_id="x",
        producer_id=7,
        producer_epoch=3,
        timeout_ms=1000,
        state=state,
        partitions=frozenset({P0}) if state in (S.ONGOING, *S_DECIDED) else frozenset(),
        start_timestamp_ms=5,
        last_update_timestamp_ms=6,
    )


S_DECIDED = (S.PREPARE_COMMIT, S.PREPARE_ABORT)
STEPS = {
    S.EMPTY: lambda txn: txn.with_epoch(4, 1000, 10),
    S.ONGOING: lambda txn: txn.with_partitions([P0], 2, 10),
    S.PREPARE_COMMIT: lambda txn: txn.ended(
        commit=True, client_version=2, next_producer_id=-1, now_ms=10
    ),
    S.PREPARE_ABORT: lambda txn: txn.ended(
        commit=False, client_version=2, next_producer_id=-1, now_ms=10
    ),
}


def test_labels_are_the_names_that_tools_show() -> None:
    labels = "Empty Ongoing PrepareCommit PrepareAbort CompleteCommit CompleteAbort Dead"
    assert [s.label for s in S] == [*labels.split(), "PrepareEpochFence"]
    assert [int(s) for s in S] == list(range(8))


@pytest.mark.parametrize("target", list(STEPS))
@pytest.mark.parametrize("source", [s for s in S if s not in (S.DEAD, S.PREPARE_EPOCH_FENCE)])
def test_a_step_is_possible_exactly_where_the_table_says(
    source: TransactionState, target: TransactionState
) -> None:
    if source in PREVIOUS[target]:
        assert STEPS[target](in_state(source)).state is target
    else:
        with pytest.raises(AssertionError):
            STEPS[target](in_state(source))


@pytest.mark.parametrize(
    ("source", "target"),
    [(S.PREPARE_COMMIT, S.COMPLETE_COMMIT), (S.PREPARE_ABORT, S.COMPLETE_ABORT)],
)
def test_a_decided_transaction_completes_as_decided(
    source: TransactionState, target: TransactionState
) -> None:
    completed = in_state(source).completed(10)
    assert completed.state is target
    assert completed.partitions == frozenset()
    assert completed.start_timestamp_ms == 5


def test_records_hold_everything_that_a_restart_needs() -> None:
    txn = in_state(S.ONGOING).with_partitions([TopicPartition("u", 9)], 2, 10)
    record = txn.record(2)
    assert record.value_version == 1
    assert TransactionMetadata.of("x", record.value) == txn  # type: ignore[arg-type]


def test_records_of_version_0_are_in_the_old_format() -> None:
    """Kafka before 3.8 reads them: no tagged fields, and null for no partitions."""
    record = in_state(S.EMPTY).with_epoch(4, 1000, 10).record(0)
    assert record.value_version == 0
    assert record.value.transaction_partitions is None  # type: ignore[union-attr]
    assert record.value.previous_producer_id == -1  # type: ignore[union-attr]
