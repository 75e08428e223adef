"""A partition takes a marker once, and none of an earlier transaction (KIP-890)."""

from __future__ import annotations

import pytest

from odradek.errors import ApiError, Err
from odradek.records.batch import CONTROL, TRANSACTIONAL, BatchHeader
from odradek.records.control import EndMarker
from odradek.storage.producer_state import ProducerState


def header(epoch: int, attributes: int = TRANSACTIONAL, sequence: int = 0) -> BatchHeader:
    return BatchHeader(0, 50, 0, 2, 0, attributes, 0, 0, 0, 7, epoch, sequence, 1)


def refused(state: ProducerState, epoch: int, version: int) -> bool:
    try:
        state.check_end_marker(7, epoch, version)
    except ApiError as error:
        assert error.err is Err.INVALID_PRODUCER_EPOCH  # noqa: PT017
        return True
    return False


def end(state: ProducerState, epoch: int, offset: int) -> None:
    marker = EndMarker(True, 0)
    completed = state.apply_marker(header(epoch, TRANSACTIONAL | CONTROL, -1), marker, offset)
    if completed is not None:
        state.complete(completed)


@pytest.fixture
def open_in_epoch_3() -> ProducerState:
    state = ProducerState()
    state.apply(header(3), 0)
    return state


def test_with_version_2_a_marker_has_a_higher_epoch_than_its_records(
    open_in_epoch_3: ProducerState,
) -> None:
    assert refused(open_in_epoch_3, 2, 2)
    assert refused(open_in_epoch_3, 3, 2)
    assert not refused(open_in_epoch_3, 4, 2)


def test_with_older_versions_the_epochs_are_equal(open_in_epoch_3: ProducerState) -> None:
    assert not refused(open_in_epoch_3, 3, 0)
    assert not refused(open_in_epoch_3, 3, 1)


def test_a_repeated_marker_is_taken_until_the_next_transaction(
    open_in_epoch_3: ProducerState,
) -> None:
    end(open_in_epoch_3, 4, 1)
    assert not refused(open_in_epoch_3, 4, 2)
    open_in_epoch_3.apply(header(4), 2)
    assert refused(open_in_epoch_3, 4, 2)


def test_the_last_epoch_has_no_higher_one() -> None:
    state = ProducerState()
    state.apply(header(32_767), 0)
    assert not refused(state, 32_767, 2)


def test_any_marker_is_taken_where_nothing_is_known_of_the_producer() -> None:
    assert not refused(ProducerState(), 0, 2)


def test_an_open_transaction_is_known_by_its_epoch(open_in_epoch_3: ProducerState) -> None:
    entry = open_in_epoch_3.get(7)
    assert entry is not None
    assert entry.has_open_transaction(3)
    assert not entry.has_open_transaction(4)
    end(open_in_epoch_3, 4, 1)
    assert not entry.has_open_transaction(4)
