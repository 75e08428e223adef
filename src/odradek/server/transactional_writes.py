"""Which partitions a transactional Produce may not write to (KIP-890).

A partition must be part of the producer's open transaction before it takes the first batch of it. Clients
of transaction.version 2 (Produce v12) let the broker add it; for older ones the broker verifies that they
have added it. The coordinator is asked once per transaction and partition, for all partitions of a request
together: afterwards the partition's own log shows that the transaction is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from odradek.coordinators.transaction_coordinator import ClientSupport
from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch
from odradek.errors import ApiError, Err
from odradek.records.batch import BatchHeader
from odradek.replication.partition import Partition
from odradek.server.context import Context

_GENERIC_ERROR_FROM: Final = 11
_ADD_PARTITION_FROM: Final = 12
# Errors of the coordinator that pass. Old clients would not repeat the batch after them, but they do
# after NOT_ENOUGH_REPLICAS, and without asking for new metadata first.
_PASSING: Final = frozenset(
    {Err.COORDINATOR_LOAD_IN_PROGRESS, Err.COORDINATOR_NOT_AVAILABLE, Err.NOT_COORDINATOR}
)


class TransactionalBatch(NamedTuple):
    """A transactional batch and where it is to go."""

    partition: Partition
    header: BatchHeader


def refused_writes(
    context: Context, transactional_id: str | None, batches: Iterable[TransactionalBatch]
) -> dict[Partition, ApiError]:
    """The partitions whose batch must not be appended, and why."""
    given = list(batches)
    if transactional_id is None:
        error = ApiError(
            Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "transactional records need the transactional id in the request",
        )
        return {partition: error for partition, _ in given}
    producers = {ProducerIdAndEpoch(h.producer_id, h.producer_epoch) for _, h in given}
    if len({producer.producer_id for producer in producers}) > 1:
        error = ApiError(
            Err.INVALID_PRODUCER_ID_MAPPING, "the records are of more than one producer id"
        )
        return {partition: error for partition, _ in given}
    support = _support(context.api_version)
    refused: dict[Partition, ApiError] = {}
    for producer in producers:
        new = [b for b in given if b.header.producer_epoch == producer.producer_epoch]
        refused |= _refused(context, transactional_id, producer, new, support)
    return refused


def _refused(
    context: Context,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    batches: list[TransactionalBatch],
    support: ClientSupport,
) -> dict[Partition, ApiError]:
    to_ask = {
        partition: header
        for partition, header in batches
        if not _has_open_transaction(partition, producer)
    }
    if not to_ask:
        return {}
    wanted = [partition.topic_partition for partition in to_ask]
    errors = context.services.transactions.check_write(transactional_id, producer, wanted, support)
    refused: dict[Partition, ApiError] = {}
    for partition, header in to_ask.items():
        err = errors.get(partition.topic_partition, Err.NONE)
        if err:
            refused[partition] = _as_told(err, support)
        elif support is ClientSupport.ADD_PARTITION and _misses_the_first(partition, header):
            refused[partition] = ApiError(
                Err.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {producer.producer_id} begins with sequence {header.base_sequence} "
                "in this partition; it must begin with 0",
            )
    return refused


def _has_open_transaction(partition: Partition, producer: ProducerIdAndEpoch) -> bool:
    entry = partition.log.producer(producer.producer_id)
    return entry is not None and entry.has_open_transaction(producer.producer_epoch)


def _misses_the_first(partition: Partition, header: BatchHeader) -> bool:
    """Whether an earlier batch was lost: with version 2 every epoch begins with sequence 0."""
    entry = partition.log.producer(header.producer_id)
    return header.base_sequence != 0 and (entry is None or not entry.batches)


def _support(version: int) -> ClientSupport:
    if version >= _ADD_PARTITION_FROM:
        return ClientSupport.ADD_PARTITION
    if version >= _GENERIC_ERROR_FROM:
        return ClientSupport.GENERIC_ERROR
    return ClientSupport.DEFAULT_ERROR


def _as_told(err: Err, support: ClientSupport) -> ApiError:
    waits = err is Err.CONCURRENT_TRANSACTIONS and support is not ClientSupport.ADD_PARTITION
    if waits or err in _PASSING:
        return ApiError(
            Err.NOT_ENOUGH_REPLICAS,
            "cannot tell yet whether the partition is part of the transaction: "
            f"{err.name}; try again",
        )
    if err is Err.INVALID_TXN_STATE:
        return ApiError(err, "the partition was not added to the transaction")
    return ApiError(err)
