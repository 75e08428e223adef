"""InitProducerId: an id for an idempotent producer, or a transactional id taken over."""

from __future__ import annotations

from typing import Final

from odradek.coordinators.transactions.metadata import NO_PRODUCER, ProducerIdAndEpoch
from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

_PRODUCER_FENCED_FROM: Final = 4


@handles(ApiKey.INIT_PRODUCER_ID, versions=range(6))
async def init_producer_id(
    context: Context, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    """Give out a fresh id with epoch 0, or what the transaction coordinator decides."""
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH):
        return _response(context, Err.INVALID_REQUEST)
    if request.transactional_id is None:
        producer_id = await context.services.producer_ids.next()
        return _response(context, Err.NONE, ProducerIdAndEpoch(producer_id, 0))
    expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch) if has_id else None
    try:
        reply = await context.services.transactions.init_producer_id(
            request.transactional_id, request.transaction_timeout_ms, expected
        )
    except ApiError as error:
        return _response(context, error.err)
    return _response(context, reply.err, reply.producer)


def _response(
    context: Context, err: Err, producer: ProducerIdAndEpoch = NO_PRODUCER
) -> InitProducerIdResponse:
    if err is Err.PRODUCER_FENCED and context.api_version < _PRODUCER_FENCED_FROM:
        err = Err.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(
        error_code=err, producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )
