"""WriteTxnMarkers: the end of transactions, told by another coordinator or by an operator.

An operator uses it to abort a hanging transaction: one that is open in a partition though no coordinator
knows of it (KIP-664). Such a marker has the epoch that the partition knows and no transaction version.
"""

from __future__ import annotations

from typing import Final

from odradek.coordinators.transaction_markers import Marker
from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch
from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.types import TopicPartition

# The group coordinator's words for "not here, not now", as writers of markers know them.
_NOT_LEADER: Final = frozenset(
    {Err.COORDINATOR_NOT_AVAILABLE, Err.COORDINATOR_LOAD_IN_PROGRESS, Err.NOT_COORDINATOR}
)


@handles(ApiKey.WRITE_TXN_MARKERS, versions=range(1, 3))
async def write_txn_markers(
    context: Context, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    """Write marker by marker; each has its own result."""
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=asked.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(
                                partition_index=index,
                                error_code=await _write(
                                    context, TopicPartition(topic.name, index), asked
                                ),
                            )
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in asked.topics
                ],
            )
            for asked in request.markers
        ]
    )


async def _write(context: Context, partition: TopicPartition, asked: WritableTxnMarker) -> Err:
    marker = Marker(
        ProducerIdAndEpoch(asked.producer_id, asked.producer_epoch),
        asked.transaction_result,
        asked.coordinator_epoch,
        asked.transaction_version,
    )
    try:
        coming = context.services.transactions.write_marker(partition, marker)
        if coming is not None:
            await coming
    except ApiError as error:
        return Err.NOT_LEADER_OR_FOLLOWER if error.err in _NOT_LEADER else error.err
    return Err.NONE
