"""TxnOffsetCommit: a group's positions as part of a transaction.

The partition that holds the group's offsets must be part of the producer's open transaction; clients of
transaction.version 2 count on the broker to add it.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from odradek.coordinators.transaction_coordinator import ClientSupport
from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from odradek.server.context import Context
from odradek.server.coordinator_replies import respond
from odradek.server.internal_topics import CONSUMER_OFFSETS
from odradek.server.registry import handles
from odradek.types import TopicPartition

_GENERIC_ERROR_FROM: Final = 4
_ADD_PARTITION_FROM: Final = 5
# Before this version clients do not know COORDINATOR_LOAD_IN_PROGRESS.
_LOAD_IN_PROGRESS_FROM: Final = 2
# Errors of the transaction coordinator after which a client may come again.
_AGAIN: Final = frozenset(
    {Err.COORDINATOR_NOT_AVAILABLE, Err.NOT_COORDINATOR, Err.COORDINATOR_LOAD_IN_PROGRESS}
)


@handles(ApiKey.TXN_OFFSET_COMMIT, versions=range(6))
def txn_offset_commit(
    context: Context, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Coroutine[Any, Any, TxnOffsetCommitResponse]:
    """Commit what exists; say per partition what does not."""
    version = context.api_version
    refused: list[TxnOffsetCommitResponseTopic] = []
    request.topics = _existing(context.image, request.topics, refused)
    if not request.topics:
        return TxnOffsetCommitResponse(topics=refused)

    def make(response: TxnOffsetCommitResponse) -> TxnOffsetCommitResponse:
        response.topics += refused
        return response

    def refuse(err: Err) -> TxnOffsetCommitResponse:
        if err is Err.COORDINATOR_LOAD_IN_PROGRESS and version < _LOAD_IN_PROGRESS_FROM:
            err = Err.COORDINATOR_NOT_AVAILABLE
        return TxnOffsetCommitResponse(
            topics=[*(_failed(topic, err) for topic in request.topics), *refused]
        )

    def commit() -> TxnOffsetCommitResponse | Coroutine[Any, Any, TxnOffsetCommitResponse]:
        if not request.group_id:
            raise ApiError(Err.INVALID_GROUP_ID)
        _check_transaction(context, request)
        return context.services.groups.write(
            request.group_id, lambda shard: shard.offsets.commit_in_transaction(request, version)
        )

    return respond(commit, make, refuse)


def _check_transaction(context: Context, request: TxnOffsetCommitRequest) -> None:
    """ApiError unless the producer may write to the group's partition."""
    services = context.services
    partition = TopicPartition(CONSUMER_OFFSETS, services.groups.partition_for(request.group_id))
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    entry = services.replicas.find(*partition).log.producer(producer.producer_id)
    if entry is not None and entry.has_open_transaction(producer.producer_epoch):
        return
    support = _support(context.api_version)
    refused = services.transactions.check_write(
        request.transactional_id, producer, (partition,), support
    )
    err = refused.get(partition, Err.NONE)
    waits = err is Err.CONCURRENT_TRANSACTIONS and support is not ClientSupport.ADD_PARTITION
    if waits or err in _AGAIN:
        raise ApiError(Err.COORDINATOR_LOAD_IN_PROGRESS, f"the transaction is not ready: {err}")
    if err:
        raise ApiError(err)


def _support(version: int) -> ClientSupport:
    if version >= _ADD_PARTITION_FROM:
        return ClientSupport.ADD_PARTITION
    if version >= _GENERIC_ERROR_FROM:
        return ClientSupport.GENERIC_ERROR
    return ClientSupport.DEFAULT_ERROR


def _existing(
    image: MetadataImage,
    topics: list[TxnOffsetCommitRequestTopic],
    refused: list[TxnOffsetCommitResponseTopic],
) -> list[TxnOffsetCommitRequestTopic]:
    """The topics and partitions that exist; the others go to `refused`."""
    existing = []
    for topic in topics:
        known = image.topics.get(topic.name)
        count = len(known.partitions) if known is not None else 0
        missing = [p for p in topic.partitions if not 0 <= p.partition_index < count]
        if missing:
            refused.append(
                _failed(
                    TxnOffsetCommitRequestTopic(name=topic.name, partitions=missing),
                    Err.UNKNOWN_TOPIC_OR_PARTITION,
                )
            )
            topic.partitions = [p for p in topic.partitions if 0 <= p.partition_index < count]
        if topic.partitions:
            existing.append(topic)
    return existing


def _failed(topic: TxnOffsetCommitRequestTopic, err: Err) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=p.partition_index, error_code=err)
            for p in topic.partitions
        ],
    )
