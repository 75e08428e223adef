"""AddOffsetsToTxn: the partition that holds a group's offsets becomes part of a transaction."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch
from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from odradek.server.context import Context
from odradek.server.coordinator_replies import respond
from odradek.server.internal_topics import CONSUMER_OFFSETS, ensure_internal_topic
from odradek.server.registry import handles
from odradek.types import TopicPartition

_PRODUCER_FENCED_FROM: Final = 2


@handles(ApiKey.ADD_OFFSETS_TO_TXN, versions=range(5))
def add_offsets_to_txn(
    context: Context, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Coroutine[Any, Any, AddOffsetsToTxnResponse]:
    """Add the group's partition; only clients before transaction.version 2 ask for it."""
    if CONSUMER_OFFSETS not in context.image.topics:
        return _create_and_add(context, request)
    return _add(context, request)


async def _create_and_add(
    context: Context, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse:
    await ensure_internal_topic(context.controller, context.config, CONSUMER_OFFSETS)
    response = _add(context, request)
    return response if isinstance(response, AddOffsetsToTxnResponse) else await response


def _add(
    context: Context, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | Coroutine[Any, Any, AddOffsetsToTxnResponse]:
    services = context.services

    def add() -> Coroutine[Any, Any, None] | None:
        index = services.groups.partition_for(request.group_id)
        return services.transactions.add_partitions(
            request.transactional_id,
            ProducerIdAndEpoch(request.producer_id, request.producer_epoch),
            (TopicPartition(CONSUMER_OFFSETS, index),),
            client_version=0,
        )

    def refuse(err: Err) -> AddOffsetsToTxnResponse:
        if err is Err.PRODUCER_FENCED and context.api_version < _PRODUCER_FENCED_FROM:
            err = Err.INVALID_PRODUCER_EPOCH
        return AddOffsetsToTxnResponse(error_code=err)

    return respond(add, lambda _: AddOffsetsToTxnResponse(error_code=Err.NONE), refuse)
