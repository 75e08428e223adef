"""What an EndTxn means in the state that its transactional id is in (pure).

The one place where a request may be old: its answer was lost and the client repeats it, or it lay in a
network for minutes. With transaction.version 2 every end raises the epoch, so the epoch tells which
transaction a request is about, and an old request is recognised as a repetition (it gets the answer of
the first time) or as fenced. It never decides a later transaction (KAFKA-17754). With older versions the
epoch stays the same from one transaction to the next and a delayed EndTxn cannot be told from a fresh one;
the protocol offers nothing to tell them apart by.
"""

from __future__ import annotations

from enum import Enum

from odradek.coordinators.transactions.metadata import EPOCH_MAX, TransactionMetadata
from odradek.coordinators.transactions.state import TransactionState
from odradek.errors import ApiError, Err


class Ending(Enum):
    """What to do about an EndTxn."""

    DECIDE = "decide"  # the transaction ends now
    REPEATED = "repeated"  # it has ended like this already: give the same answer


S = TransactionState


def judge_v1(
    txn: TransactionMetadata, producer_id: int, producer_epoch: int, *, commit: bool
) -> Ending:
    """EndTxn of a client without epoch bumps; ApiError when it is refused."""
    if txn.producer_id != producer_id:
        raise ApiError(Err.INVALID_PRODUCER_ID_MAPPING)
    if txn.producer_epoch != producer_epoch:
        raise ApiError(Err.PRODUCER_FENCED)
    if txn.state is S.ONGOING:
        return Ending.DECIDE
    if txn.state is _complete(commit):
        return Ending.REPEATED
    if txn.state is _prepare(commit):
        raise ApiError(Err.CONCURRENT_TRANSACTIONS)
    raise _impossible(txn, commit)


def judge_v2(
    txn: TransactionMetadata, producer_id: int, producer_epoch: int, *, commit: bool
) -> Ending:
    """EndTxn of a client that counts on a raised epoch; ApiError when it is refused."""
    # Repeated after the last epoch of a producer id: the id goes on as another producer.
    overflowed = (
        txn.previous_producer_id == producer_id
        and producer_epoch == EPOCH_MAX - 1
        and txn.producer_epoch == 0
    )
    if txn.producer_id != producer_id and not overflowed:
        raise ApiError(Err.INVALID_PRODUCER_ID_MAPPING)
    state = txn.state
    is_current = producer_epoch == txn.producer_epoch
    is_repeated = overflowed or producer_epoch + 1 == txn.producer_epoch
    if state.is_decided:
        if not is_repeated or overflowed:
            raise ApiError(Err.PRODUCER_FENCED)
        if state is _prepare(commit):
            raise ApiError(Err.CONCURRENT_TRANSACTIONS)
        raise _impossible(txn, commit)
    if state in (S.COMPLETE_COMMIT, S.COMPLETE_ABORT) and is_repeated:
        if state is _complete(commit):
            return Ending.REPEATED
        raise _impossible(txn, commit)
    if not is_current:
        raise ApiError(Err.PRODUCER_FENCED)
    # Current: the next transaction. It may be aborted before anything was added to it.
    if state is S.ONGOING or not commit:
        return Ending.DECIDE
    raise _impossible(txn, commit)


def _prepare(commit: bool) -> TransactionState:
    return S.PREPARE_COMMIT if commit else S.PREPARE_ABORT


def _complete(commit: bool) -> TransactionState:
    return S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT


def _impossible(txn: TransactionMetadata, commit: bool) -> ApiError:
    wanted = "commit" if commit else "abort"
    return ApiError(
        Err.INVALID_TXN_STATE,
        f"{txn.transactional_id} is in state {txn.state.label} and cannot {wanted}",
    )
