"""The records of `__consumer_offsets`: which types there are, and those that hold committed offsets."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from odradek.coordinators.record_format import RecordFormat
from odradek.coordinators.shard import CoordinatorRecord
from odradek.protocol.messages.internal import consumer_group as consumer
from odradek.protocol.messages.internal.group_metadata import GroupMetadataKey, GroupMetadataValue
from odradek.protocol.messages.internal.offset_commit import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.types import NO_LEADER_EPOCH, ZERO_UUID

GROUP_RECORDS: Final = RecordFormat(
    {
        LegacyOffsetCommitKey: LegacyOffsetCommitValue,
        OffsetCommitKey: OffsetCommitValue,
        GroupMetadataKey: GroupMetadataValue,
        consumer.ConsumerGroupMetadataKey: consumer.ConsumerGroupMetadataValue,
        consumer.ConsumerGroupPartitionMetadataKey: consumer.ConsumerGroupPartitionMetadataValue,
        consumer.ConsumerGroupMemberMetadataKey: consumer.ConsumerGroupMemberMetadataValue,
        consumer.ConsumerGroupTargetAssignmentMetadataKey: (
            consumer.ConsumerGroupTargetAssignmentMetadataValue
        ),
        consumer.ConsumerGroupTargetAssignmentMemberKey: (
            consumer.ConsumerGroupTargetAssignmentMemberValue
        ),
        consumer.ConsumerGroupCurrentMemberAssignmentKey: (
            consumer.ConsumerGroupCurrentMemberAssignmentValue
        ),
        consumer.ConsumerGroupRegularExpressionKey: consumer.ConsumerGroupRegularExpressionValue,
    }
)

# v4 holds the topic's id; v1 is the only one that holds an expiry.
_VERSION: Final = 4
_VERSION_WITH_EXPIRY: Final = 1
NO_EXPIRY: Final = -1


def offset_commit(
    group_id: str,
    topic: str,
    partition: int,
    offset: int,
    metadata: str,
    commit_timestamp_ms: int,
    *,
    leader_epoch: int = NO_LEADER_EPOCH,
    expire_timestamp_ms: int = NO_EXPIRY,
    topic_id: UUID = ZERO_UUID,
) -> CoordinatorRecord:
    """A committed offset."""
    return CoordinatorRecord(
        OffsetCommitKey(group=group_id, topic=topic, partition=partition),
        OffsetCommitValue(
            offset=offset,
            leader_epoch=leader_epoch,
            metadata=metadata,
            commit_timestamp=commit_timestamp_ms,
            expire_timestamp=expire_timestamp_ms,
            topic_id=topic_id,
        ),
        _VERSION if expire_timestamp_ms == NO_EXPIRY else _VERSION_WITH_EXPIRY,
    )


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """A committed offset that goes away."""
    return CoordinatorRecord(
        OffsetCommitKey(group=group_id, topic=topic, partition=partition), None
    )
