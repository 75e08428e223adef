"""AddPartitionsToTxn: partitions become part of a transaction, or are asked whether they are.

Up to version 3 it is a client's request about one transaction. From version 4 on it is between brokers:
several transactions at once, each to be added or only verified (KIP-890).
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Final

from odradek.coordinators.transactions.metadata import EPOCH_BUMP_FROM, ProducerIdAndEpoch
from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.types import TopicPartition

_PRODUCER_FENCED_FROM: Final = 2
_BATCHED_FROM: Final = 4


@handles(ApiKey.ADD_PARTITIONS_TO_TXN, versions=range(6))
def add_partitions_to_txn(
    context: Context, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Coroutine[Any, Any, AddPartitionsToTxnResponse]:
    """Answer transaction by transaction."""
    if context.api_version >= _BATCHED_FROM:
        asked = request.transactions
    else:
        asked = [
            AddPartitionsToTxnTransaction(
                transactional_id=request.v3_and_below_transactional_id,
                producer_id=request.v3_and_below_producer_id,
                producer_epoch=request.v3_and_below_producer_epoch,
                topics=request.v3_and_below_topics,
            )
        ]
    answers = [_answer(context, transaction) for transaction in asked]
    if all(isinstance(answer, AddPartitionsToTxnResult) for answer in answers):
        return _response(context, answers)
    return _wait(context, answers)


async def _wait(
    context: Context,
    answers: list[AddPartitionsToTxnResult | Coroutine[Any, Any, AddPartitionsToTxnResult]],
) -> AddPartitionsToTxnResponse:
    return _response(
        context,
        [
            answer if isinstance(answer, AddPartitionsToTxnResult) else await answer
            for answer in answers
        ],
    )


def _response(context: Context, results: list[Any]) -> AddPartitionsToTxnResponse:
    if context.api_version >= _BATCHED_FROM:
        return AddPartitionsToTxnResponse(error_code=Err.NONE, results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


def _answer(
    context: Context, asked: AddPartitionsToTxnTransaction
) -> AddPartitionsToTxnResult | Coroutine[Any, Any, AddPartitionsToTxnResult]:
    transactions = context.services.transactions
    partitions = [TopicPartition(t.name, p) for t in asked.topics for p in t.partitions]
    unknown = {tp for tp in partitions if context.image.partition(tp) is None}
    if unknown:
        attempted = Err.OPERATION_NOT_ATTEMPTED
        missing = Err.UNKNOWN_TOPIC_OR_PARTITION
        return _result(asked, {tp: missing if tp in unknown else attempted for tp in partitions})
    producer = ProducerIdAndEpoch(asked.producer_id, asked.producer_epoch)
    transactional_id = asked.transactional_id
    try:
        if asked.verify_only:
            verified = transactions.verify_partitions(transactional_id, producer, partitions)
            if not isinstance(verified, dict):
                return _wait_for_verified(context, asked, partitions, verified)
            return _result(asked, verified)
        bumps = context.api_version >= _BATCHED_FROM
        added = transactions.add_partitions(
            transactional_id, producer, partitions, EPOCH_BUMP_FROM if bumps else 0
        )
    except ApiError as error:
        return _refusal(context, asked, partitions, error)
    if added is not None:
        return _wait_for_added(context, asked, partitions, added)
    return _result(asked, dict.fromkeys(partitions, Err.NONE))


async def _wait_for_verified(
    context: Context,
    asked: AddPartitionsToTxnTransaction,
    partitions: list[TopicPartition],
    coming: Coroutine[Any, Any, dict[TopicPartition, Err]],
) -> AddPartitionsToTxnResult:
    try:
        return _result(asked, await coming)
    except ApiError as error:
        return _refusal(context, asked, partitions, error)


async def _wait_for_added(
    context: Context,
    asked: AddPartitionsToTxnTransaction,
    partitions: list[TopicPartition],
    coming: Coroutine[Any, Any, None],
) -> AddPartitionsToTxnResult:
    try:
        await coming
    except ApiError as error:
        return _refusal(context, asked, partitions, error)
    return _result(asked, dict.fromkeys(partitions, Err.NONE))


def _refusal(
    context: Context,
    asked: AddPartitionsToTxnTransaction,
    partitions: list[TopicPartition],
    error: ApiError,
) -> AddPartitionsToTxnResult:
    err = error.err
    if err is Err.PRODUCER_FENCED and context.api_version < _PRODUCER_FENCED_FROM:
        err = Err.INVALID_PRODUCER_EPOCH
    return _result(asked, dict.fromkeys(partitions, err))


def _result(
    asked: AddPartitionsToTxnTransaction, errors: Mapping[TopicPartition, Err]
) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        transactional_id=asked.transactional_id,
        topic_results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index,
                        partition_error_code=errors[TopicPartition(topic.name, index)],
                    )
                    for index in topic.partitions
                ],
            )
            for topic in asked.topics
        ],
    )
