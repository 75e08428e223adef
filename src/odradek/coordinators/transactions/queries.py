"""What ListTransactions asks for.

Patterns are those of topic subscriptions: RE2's syntax, linear time. Their alphabet is that of topic names;
a character of a transactional id that is not in it counts as `_`.
"""

from __future__ import annotations

from dataclasses import dataclass

from odradek.coordinators.groups.topic_regex import TopicRegex
from odradek.coordinators.groups.topic_regex_syntax import ALPHABET
from odradek.coordinators.transactions.metadata import TransactionMetadata
from odradek.coordinators.transactions.state import TransactionState


@dataclass(frozen=True, slots=True)
class TransactionFilter:
    """All given conditions must hold; an empty set and a negative duration are no condition.

    `states` is None when no state was asked for, and empty when only unknown ones were.
    """

    states: frozenset[TransactionState] | None = None
    producer_ids: frozenset[int] = frozenset()
    duration_ms: int = -1
    pattern: TopicRegex | None = None

    def matches(self, txn: TransactionMetadata, now_ms: int) -> bool:
        """Whether the transaction is asked for."""
        if self.producer_ids and txn.producer_id not in self.producer_ids:
            return False
        if self.states is not None and txn.state not in self.states:
            return False
        if self.duration_ms >= 0 and now_ms - txn.start_timestamp_ms <= self.duration_ms:
            return False
        return self.pattern is None or self.pattern.matches(_spelled(txn.transactional_id))


def _spelled(transactional_id: str) -> str:
    return "".join(char if char in ALPHABET else "_" for char in transactional_id)
