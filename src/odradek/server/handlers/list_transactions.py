"""ListTransactions: the transactional ids that this broker coordinates, filtered."""

from __future__ import annotations

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.LIST_TRANSACTIONS, versions=range(3))
def list_transactions(
    context: Context, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    """All shards at once, or none while one is being loaded."""
    try:
        found, unknown = context.services.transactions.list_transactions(
            request.state_filters,
            request.producer_id_filters,
            request.duration_filter,
            request.transactional_id_pattern,
        )
    except ApiError as error:
        return ListTransactionsResponse(error_code=error.err)
    return ListTransactionsResponse(
        error_code=Err.NONE,
        unknown_state_filters=unknown,
        transaction_states=[
            TransactionState(
                transactional_id=txn.transactional_id,
                producer_id=txn.producer_id,
                transaction_state=txn.state.label,
            )
            for txn in found
        ],
    )
