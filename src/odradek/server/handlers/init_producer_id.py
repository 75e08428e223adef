"""InitProducerId: an id for an idempotent producer."""

from __future__ import annotations

from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


@handles(ApiKey.INIT_PRODUCER_ID, versions=range(6))
async def init_producer_id(
    context: Context, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    """Give out a fresh id with epoch 0."""
    if request.transactional_id is not None:
        # No coordinator for transactions is advertised; a client that asks anyway must not retry.
        return InitProducerIdResponse(
            error_code=Err.INVALID_REQUEST,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
        )
    producer_id = await context.services.producer_ids.next()
    return InitProducerIdResponse(error_code=Err.NONE, producer_id=producer_id, producer_epoch=0)
