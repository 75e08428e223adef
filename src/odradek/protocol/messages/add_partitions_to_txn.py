"""AddPartitionsToTxn (24). Adds partitions to a transaction before it writes to them."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    int64,
    message,
    string,
)


class AddPartitionsToTxnTopic(Struct):
    name: str = string()
    partitions: list[int] = array_of(int32)


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    verify_only: bool = boolean()
    topics: list[AddPartitionsToTxnTopic] = array_of(AddPartitionsToTxnTopic)


@message(key=24, versions=range(6), flexible_from=3)
class AddPartitionsToTxnRequest(Message):
    """Partitions to add; brokers send the batched form to verify.

    v4 adds transactions; drops v3_and_below_transactional_id, v3_and_below_producer_id,
    v3_and_below_producer_epoch, v3_and_below_topics.
    """

    transactions: list[AddPartitionsToTxnTransaction] = array_of(
        AddPartitionsToTxnTransaction, since=4
    )
    v3_and_below_transactional_id: str = string(until=3)
    v3_and_below_producer_id: int = int64(until=3)
    v3_and_below_producer_epoch: int = int16(until=3)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = array_of(AddPartitionsToTxnTopic, until=3)


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = int32()
    partition_error_code: int = int16()


class AddPartitionsToTxnTopicResult(Struct):
    name: str = string()
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = array_of(
        AddPartitionsToTxnPartitionResult
    )


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = string()
    topic_results: list[AddPartitionsToTxnTopicResult] = array_of(AddPartitionsToTxnTopicResult)


@message(key=24, versions=range(6), flexible_from=3)
class AddPartitionsToTxnResponse(Message):
    """The result per partition.

    v4 adds error_code, results_by_transaction; drops results_by_topic_v3_and_below.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16(since=4, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = array_of(
        AddPartitionsToTxnResult, since=4
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = array_of(
        AddPartitionsToTxnTopicResult, until=3
    )
