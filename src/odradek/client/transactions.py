"""Calls about transactions: list, describe, end those that nobody will end (KIP-664).

A transactional id is known by its coordinator; listing asks every broker. What a partition knows of
transactions is asked of its leader (`NodeCalls.describe_producers`), and so is the abort of one that
hangs: the marker is written there, behind the coordinator's back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from odradek.client.calls import Calls
from odradek.client.failures import check, error_of
from odradek.client.targets import CoordinatorKind, Leader, Node
from odradek.errors import ApiError, Err
from odradek.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from odradek.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.types import TopicPartition

ANY_DURATION: Final = -1
_DURATION_SINCE: Final = 1
_PATTERN_SINCE: Final = 2


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """A line of ListTransactions."""

    transactional_id: str
    coordinator_id: int
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id as its coordinator knows it; the start is -1 while nothing is open."""

    transactional_id: str
    coordinator_id: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_time_ms: int
    partitions: tuple[TopicPartition, ...]


class TransactionCalls(Calls):
    """Transactions."""

    async def list_transactions(
        self,
        *,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        duration_ms: int = ANY_DURATION,
        pattern: str | None = None,
    ) -> list[ListedTransaction]:
        """All transactional ids: in these states, of these producers, open for longer than that,
        with a name that matches."""
        since = _DURATION_SINCE if duration_ms >= 0 else 0

        async def ask(node_id: int) -> list[ListedTransaction]:
            reply = await self._router.call(
                ListTransactionsRequest(
                    state_filters=list(states),
                    producer_id_filters=list(producer_ids),
                    duration_filter=duration_ms,
                    transactional_id_pattern=pattern,
                ),
                ListTransactionsResponse,
                to=Node(node_id),
                min_version=_PATTERN_SINCE if pattern is not None else since,
            )
            check(reply.error_code)
            if reply.unknown_state_filters:
                raise ApiError(
                    Err.INVALID_REQUEST,
                    f"no such state of a transaction: {', '.join(reply.unknown_state_filters)}",
                )
            return [
                ListedTransaction(
                    row.transactional_id, node_id, row.producer_id, row.transaction_state
                )
                for row in reply.transaction_states
            ]

        found: list[ListedTransaction] = []
        for listed in (await self._from_every_broker(ask)).values():
            if isinstance(listed, ApiError):
                raise listed
            found += listed
        return sorted(found, key=lambda transaction: transaction.transactional_id)

    async def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> dict[str, TransactionDescription | ApiError]:
        """State, producer and partitions of transactional ids."""

        async def ask(
            node_id: int, theirs: list[str]
        ) -> dict[str, TransactionDescription | ApiError]:
            reply = await self._router.call(
                DescribeTransactionsRequest(transactional_ids=theirs),
                DescribeTransactionsResponse,
                to=Node(node_id),
            )
            return {
                row.transactional_id: _error_of(row) or _transaction(row, node_id)
                for row in reply.transaction_states
            }

        return await self._by_coordinator(
            "DescribeTransactions", CoordinatorKind.TRANSACTION, transactional_ids, ask
        )

    async def abort_in_partition(
        self,
        partition: TopicPartition,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
    ) -> None:
        """Write an abort marker of a producer to one partition, whatever its coordinator thinks."""
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            transaction_result=False,
            topics=[
                WritableTxnMarkerTopic(
                    name=partition.topic, partition_indexes=[partition.partition]
                )
            ],
        )

        async def attempt() -> None:
            reply = await self._router.call(
                WriteTxnMarkersRequest(markers=[marker]),
                WriteTxnMarkersResponse,
                to=Leader(*partition),
            )
            for result in reply.markers:
                for topic in result.topics:
                    for row in topic.partitions:
                        check(row.error_code)

        await self._router.persist("WriteTxnMarkers", attempt)


def _error_of(row: TransactionState) -> ApiError | None:
    if row.error_code == Err.TRANSACTIONAL_ID_NOT_FOUND:
        return ApiError(
            Err.TRANSACTIONAL_ID_NOT_FOUND,
            f"there is no transactional id '{row.transactional_id}'",
        )
    return error_of(row.error_code)


def _transaction(row: TransactionState, node_id: int) -> TransactionDescription:
    return TransactionDescription(
        transactional_id=row.transactional_id,
        coordinator_id=node_id,
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        state=row.transaction_state,
        timeout_ms=row.transaction_timeout_ms,
        start_time_ms=row.transaction_start_time_ms,
        partitions=tuple(
            sorted(
                TopicPartition(topic.topic, index)
                for topic in row.topics
                for index in topic.partitions
            )
        ),
    )
