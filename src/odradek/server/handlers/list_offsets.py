"""ListOffsets: the offset at a time, or at one of the special times.

Look-ups by time read index and log files, so they run in the pool; the special ones are answered from
memory. What the reader may not see yet (above the high watermark, or the last stable offset for
read_committed) is answered as "nothing there".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.replication.partition import Partition
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.types import NO_LEADER_EPOCH, NO_OFFSET, NO_TIMESTAMP, TimestampAndOffset

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
# The first version that knows each special time (KIP-734, KIP-405, KIP-1005, KIP-1023).
_SINCE: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
READ_COMMITTED: Final = 1
_LEADER_EPOCH_FROM: Final = 4

NOTHING: Final = TimestampAndOffset(NO_TIMESTAMP, NO_OFFSET, NO_LEADER_EPOCH)
Search = Callable[[], TimestampAndOffset | None]


@handles(ApiKey.LIST_OFFSETS, versions=range(1, 12))
async def list_offsets(context: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Answer partition by partition."""
    asked = Counter((t.name, p.partition_index) for t in request.topics for p in t.partitions)
    topics = []
    for topic in request.topics:
        answers = []
        for wanted in topic.partitions:
            try:
                if asked[topic.name, wanted.partition_index] > 1:
                    raise ApiError(Err.INVALID_REQUEST, "a partition is asked for twice")
                found = await _look_up(context, request, topic.name, wanted)
            except ApiError as error:
                answers.append(_answer(context, wanted, error.err, NOTHING))
            else:
                answers.append(_answer(context, wanted, Err.NONE, found))
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


async def _look_up(
    context: Context, request: ListOffsetsRequest, topic: str, wanted: ListOffsetsPartition
) -> TimestampAndOffset:
    partition = context.replicas.find(topic, wanted.partition_index)
    partition.check_leader(wanted.current_leader_epoch)
    log = partition.log
    timestamp = wanted.timestamp
    if timestamp < EARLIEST and context.api_version < _SINCE.get(timestamp, 1 << 15):
        raise ApiError(
            Err.UNSUPPORTED_VERSION,
            f"special time {timestamp} is unknown in v{context.api_version}",
        )
    visible = (
        log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark
    )
    if timestamp == LATEST:
        return TimestampAndOffset(NO_TIMESTAMP, visible, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return _earliest(partition)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING  # nothing is tiered
    search: Search
    if timestamp == MAX_TIMESTAMP:
        search = log.prepare_max_timestamp()
    else:
        search = log.prepare_find_by_timestamp(timestamp)
    found = await context.services.background.run(search)
    return found if found is not None and found.offset < visible else NOTHING


def _earliest(partition: Partition) -> TimestampAndOffset:
    offset = partition.log.log_start_offset
    return TimestampAndOffset(NO_TIMESTAMP, offset, partition.log.epoch_for(offset))


def _answer(
    context: Context, wanted: ListOffsetsPartition, err: Err, found: TimestampAndOffset
) -> ListOffsetsPartitionResponse:
    knows_epochs = context.api_version >= _LEADER_EPOCH_FROM
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        error_code=err,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=found.leader_epoch if knows_epochs else NO_LEADER_EPOCH,
    )
