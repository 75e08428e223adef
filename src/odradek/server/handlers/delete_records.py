"""DeleteRecords: move the log start offset, so that everything below is gone (KIP-107).

Readers see it at once; the files go when whole segments lie below.
"""

from __future__ import annotations

from typing import Final

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from odradek.server.context import Context
from odradek.server.internal_topics import is_internal
from odradek.server.registry import handles

HIGH_WATERMARK: Final = -1
NO_LOW_WATERMARK: Final = -1


@handles(ApiKey.DELETE_RECORDS, versions=range(3))
def delete_records(context: Context, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Cut partition by partition."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_result(context, topic.name, wanted) for wanted in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _result(
    context: Context, topic: str, wanted: DeleteRecordsPartition
) -> DeleteRecordsPartitionResult:
    try:
        low_watermark = _delete(context, topic, wanted)
    except ApiError as error:
        return DeleteRecordsPartitionResult(
            partition_index=wanted.partition_index,
            low_watermark=NO_LOW_WATERMARK,
            error_code=error.err,
        )
    return DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=low_watermark, error_code=Err.NONE
    )


def _delete(context: Context, topic: str, wanted: DeleteRecordsPartition) -> int:
    if is_internal(topic):
        raise ApiError(Err.INVALID_TOPIC_EXCEPTION, f"Records of {topic} are the broker's own.")
    partition = context.replicas.find(topic, wanted.partition_index)
    partition.check_leader()
    log = partition.log
    if log.config.cleanup_policy == {"compact"}:
        raise ApiError(
            Err.POLICY_VIOLATION,
            f"{topic} is compacted only; add delete to its cleanup.policy first.",
        )
    offset = log.high_watermark if wanted.offset == HIGH_WATERMARK else wanted.offset
    if offset < 0:
        raise ApiError(
            Err.OFFSET_OUT_OF_RANGE, f"Offset {offset} cannot be; -1 is the high watermark."
        )
    log.advance_log_start(offset)
    return log.log_start_offset
