"""EndTxn: commit or abort a transaction."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from odradek.coordinators.transactions.metadata import (
    EPOCH_BUMP_FROM,
    NO_PRODUCER,
    ProducerIdAndEpoch,
)
from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.server.context import Context
from odradek.server.coordinator_replies import respond
from odradek.server.registry import handles

_PRODUCER_FENCED_FROM: Final = 2
# Clients of transaction.version 2 speak this version, others an older one.
_EPOCH_BUMP_FROM: Final = 5


@handles(ApiKey.END_TXN, versions=range(6))
def end_txn(
    context: Context, request: EndTxnRequest
) -> EndTxnResponse | Coroutine[Any, Any, EndTxnResponse]:
    """Answer once the outcome is decided; the markers follow by themselves."""
    version = context.api_version
    bumps = version >= _EPOCH_BUMP_FROM

    def make(producer: ProducerIdAndEpoch) -> EndTxnResponse:
        told = producer if bumps else NO_PRODUCER
        return EndTxnResponse(
            error_code=Err.NONE, producer_id=told.producer_id, producer_epoch=told.producer_epoch
        )

    def refuse(err: Err) -> EndTxnResponse:
        if err is Err.PRODUCER_FENCED and version < _PRODUCER_FENCED_FROM:
            err = Err.INVALID_PRODUCER_EPOCH
        return EndTxnResponse(error_code=err)

    return respond(
        lambda: context.services.transactions.end_transaction(
            request.transactional_id,
            ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
            commit=request.committed,
            client_version=EPOCH_BUMP_FROM if bumps else 0,
        ),
        make,
        refuse,
    )
