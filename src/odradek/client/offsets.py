"""Calls about positions in logs: look them up by time, delete what lies before them.

Each goes to the leader of its partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from odradek.client.calls import Calls
from odradek.client.failures import error_of
from odradek.client.targets import Node
from odradek.errors import ApiError
from odradek.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.types import TimestampAndOffset, TopicPartition

# In DeleteRecords: up to the high watermark.
TO_THE_END: Final = -1
_CONSUMER: Final = -1


class OffsetSpec(IntEnum):
    """Positions that ListOffsets knows by name, in the place of a timestamp."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


# A broker that does not know a name would take it for a timestamp.
_SINCE: Final = {
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}


class Isolation(IntEnum):
    """Whether LATEST means the high watermark or the last stable offset."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


@dataclass(frozen=True, slots=True)
class LowWatermark:
    """The first offset that is left after a deletion."""

    offset: int


class OffsetCalls(Calls):
    """Offsets by time or name, and deletion up to an offset."""

    async def list_offsets(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        isolation: Isolation = Isolation.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, TimestampAndOffset | ApiError]:
        """For each partition the offset at a timestamp or an `OffsetSpec` (-1: there is none)."""
        min_version = max((_SINCE.get(at, 1) for at in wanted.values()), default=1)  # type: ignore[call-overload]

        async def ask(
            leader: int, theirs: list[TopicPartition]
        ) -> dict[TopicPartition, TimestampAndOffset | ApiError]:
            request = ListOffsetsRequest(
                replica_id=_CONSUMER,
                isolation_level=isolation,
                topics=[
                    ListOffsetsTopic(
                        name=topic,
                        partitions=[
                            ListOffsetsPartition(
                                partition_index=index,
                                timestamp=wanted[TopicPartition(topic, index)],
                            )
                            for index in indexes
                        ],
                    )
                    for topic, indexes in by_topic(theirs).items()
                ],
                timeout_ms=self._router.settings.request_timeout_ms,
            )
            reply = await self._router.call(
                request,
                ListOffsetsResponse,
                to=Node(leader),
                min_version=max(min_version, 2 if isolation else 1),
            )
            return {
                TopicPartition(topic.name, found.partition_index): error_of(found.error_code)
                or TimestampAndOffset(found.timestamp, found.offset, found.leader_epoch)
                for topic in reply.topics
                for found in topic.partitions
            }

        return await self._by_leader("ListOffsets", wanted, ask)

    async def delete_records(
        self, before: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, LowWatermark | ApiError]:
        """Delete all records before an offset (or `TO_THE_END`) of each partition."""

        async def ask(
            leader: int, theirs: list[TopicPartition]
        ) -> dict[TopicPartition, LowWatermark | ApiError]:
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsTopic(
                        name=topic,
                        partitions=[
                            DeleteRecordsPartition(
                                partition_index=index, offset=before[TopicPartition(topic, index)]
                            )
                            for index in indexes
                        ],
                    )
                    for topic, indexes in by_topic(theirs).items()
                ],
                timeout_ms=self._router.settings.request_timeout_ms,
            )
            reply = await self._router.call(request, DeleteRecordsResponse, to=Node(leader))
            return {
                TopicPartition(topic.name, found.partition_index): error_of(found.error_code)
                or LowWatermark(found.low_watermark)
                for topic in reply.topics
                for found in topic.partitions
            }

        return await self._by_leader("DeleteRecords", before, ask)


def by_topic(partitions: list[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers grouped by topic, as requests want them."""
    grouped: dict[str, list[int]] = {}
    for topic, index in partitions:
        grouped.setdefault(topic, []).append(index)
    return grouped
