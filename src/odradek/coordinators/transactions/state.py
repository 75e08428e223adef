"""The states of a transactional id and the ways between them.

    Empty ──add──► Ongoing ──end──► PrepareCommit ──markers written──► CompleteCommit
      ▲               │  └──end, time-out, fence──► PrepareAbort ─────► CompleteAbort
      └────init───────┴──────────────── from a Complete state ◄──────────────┘

The decision falls with the Prepare record: once it is in the log, the transaction has that outcome, and
all that is left is to tell its partitions. An id in a Complete state goes on to the next transaction.
`PrepareEpochFence` is what Apache Kafka calls an Ongoing transaction while it is being fenced; it is never
written to the log, and here fencing and deciding to abort are one step. `Dead` is an id that expired.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """A transactional id's state, by the number that the log holds."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def label(self) -> str:
        """`PrepareCommit`: the name that DescribeTransactions and ListTransactions show."""
        return _LABELS[self]

    @property
    def is_decided(self) -> bool:
        """Whether the outcome is known and markers are still to be written."""
        return self in DECIDED

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open; such an id may begin one, be taken over, or expire."""
        return self in IDLE


S = TransactionState
_LABELS: Final = {s: "".join(word.capitalize() for word in s.name.split("_")) for s in S}
BY_LABEL: Final[Mapping[str, TransactionState]] = {label: s for s, label in _LABELS.items()}

DECIDED: Final = frozenset({S.PREPARE_COMMIT, S.PREPARE_ABORT})
IDLE: Final = frozenset({S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT})

#: From which states a state may be reached. With transaction.version 2 a producer may also abort a
#: transaction to which it has added nothing, so PrepareAbort follows every idle state.
PREVIOUS: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    S.EMPTY: IDLE,
    S.ONGOING: IDLE | {S.ONGOING},
    S.PREPARE_COMMIT: frozenset({S.ONGOING}),
    S.PREPARE_ABORT: IDLE | {S.ONGOING, S.PREPARE_EPOCH_FENCE},
    S.COMPLETE_COMMIT: frozenset({S.PREPARE_COMMIT}),
    S.COMPLETE_ABORT: frozenset({S.PREPARE_ABORT}),
    S.DEAD: IDLE,
    S.PREPARE_EPOCH_FENCE: frozenset({S.ONGOING}),
}
