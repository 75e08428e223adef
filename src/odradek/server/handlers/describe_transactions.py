"""DescribeTransactions: state, producer and partitions of transactional ids."""

from __future__ import annotations

from odradek.coordinators.transactions.metadata import TransactionMetadata
from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.DESCRIBE_TRANSACTIONS, versions=range(1))
async def describe_transactions(
    context: Context, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """Answer id by id."""
    return DescribeTransactionsResponse(
        transaction_states=[await _describe(context, id_) for id_ in request.transactional_ids]
    )


async def _describe(context: Context, transactional_id: str) -> TransactionState:
    try:
        found = context.services.transactions.describe_transaction(transactional_id)
        txn = found if isinstance(found, TransactionMetadata) else await found
    except ApiError as error:
        return TransactionState(error_code=error.err, transactional_id=transactional_id)
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(txn.partitions):
        by_topic.setdefault(topic, []).append(partition)
    return TransactionState(
        error_code=Err.NONE,
        transactional_id=transactional_id,
        transaction_state=txn.state.label,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_start_time_ms=txn.start_timestamp_ms,
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        topics=[TopicData(topic=topic, partitions=ids) for topic, ids in by_topic.items()],
    )
