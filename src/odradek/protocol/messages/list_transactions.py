"""ListTransactions (66). Lists the transactions that a broker coordinates."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    int64,
    message,
    nullable_string,
    string,
)


@message(key=66, versions=range(3), flexible_from=0)
class ListTransactionsRequest(Message):
    """Filters on state, producer, age and name.

    v1 adds duration_filter. v2 adds transactional_id_pattern.
    """

    state_filters: list[str] = array_of(string)
    producer_id_filters: list[int] = array_of(int64)
    duration_filter: int = int64(since=1, default=-1)
    transactional_id_pattern: str | None = nullable_string(since=2, default=None)


class TransactionState(Struct):
    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


@message(key=66, versions=range(3), flexible_from=0)
class ListTransactionsResponse(Message):
    """Transactional ids with producer and state."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array_of(string)
    transaction_states: list[TransactionState] = array_of(TransactionState)
