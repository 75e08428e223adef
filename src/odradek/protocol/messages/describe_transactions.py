"""DescribeTransactions (65). Shows transactions by id."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, int64, message, string


@message(key=65, versions=range(1), flexible_from=0)
class DescribeTransactionsRequest(Message):
    """Transactional ids."""

    transactional_ids: list[str] = array_of(string)


class TopicData(Struct):
    topic: str = string()
    partitions: list[int] = array_of(int32)


class TransactionState(Struct):
    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TopicData] = array_of(TopicData)


@message(key=65, versions=range(1), flexible_from=0)
class DescribeTransactionsResponse(Message):
    """State, producer and partitions per id."""

    throttle_time_ms: int = int32()
    transaction_states: list[TransactionState] = array_of(TransactionState)
