"""OffsetForLeaderEpoch: where a leader epoch ends, so that a reader finds where its log diverges."""

from __future__ import annotations

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=range(2, 5))
def offset_for_leader_epoch(
    context: Context, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Answer partition by partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_end_of(context, topic.topic, p) for p in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _end_of(context: Context, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = context.replicas.find(topic, wanted.partition)
        partition.check_leader(wanted.current_leader_epoch)
    except ApiError as error:
        return EpochEndOffset(partition=wanted.partition, error_code=error.err)
    end = partition.log.epoch_end_offset(wanted.leader_epoch)
    return EpochEndOffset(
        partition=wanted.partition,
        error_code=Err.NONE,
        leader_epoch=end.leader_epoch,
        end_offset=end.offset,
    )
