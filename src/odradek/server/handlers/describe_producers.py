"""DescribeProducers: who writes to a partition, and with which transactions open (KIP-664)."""

from __future__ import annotations

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.DESCRIBE_PRODUCERS, versions=range(1))
def describe_producers(
    context: Context, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    """Answer partition by partition; only the leader knows."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_describe(context, topic.name, p) for p in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _describe(context: Context, topic: str, index: int) -> PartitionResponse:
    try:
        partition = context.replicas.find(topic, index)
        partition.check_leader()
    except ApiError as error:
        return PartitionResponse(
            partition_index=index, error_code=error.err, error_message=error.message
        )
    return PartitionResponse(
        partition_index=index,
        error_code=Err.NONE,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.current_txn_first_offset,
            )
            for entry in partition.log.active_producers()
        ],
    )
