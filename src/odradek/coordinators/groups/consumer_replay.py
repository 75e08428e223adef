"""Replaying the records of consumer groups: the only code that changes what is known of them.

Records may come in an order that only a compacted log has: a member's target before the member, a tombstone
of something that was never seen. Each record is applied for itself; a tombstone of nothing is nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from odradek.coordinators.groups.consumer_group import ConsumerGroup, ResolvedRegex
from odradek.coordinators.groups.consumer_members import (
    LEAVE_EPOCH,
    NOTHING_OWNED,
    Member,
    owned_from_record,
    state_from_record,
    with_subscription,
)
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.shard import CoordinatorRecord
from odradek.protocol.messages.internal.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)


def replay(table: GroupTable, record: CoordinatorRecord) -> None:
    """Apply one record to the groups of a shard."""
    key: Any = record.key
    group = table.get(key.group_id)
    if not isinstance(group, ConsumerGroup):
        if record.value is None:
            return
        # Takes the place of a classic group, whose last record was before.
        group = ConsumerGroup(key.group_id)
        table.put(group)
    if isinstance(key, ConsumerGroupMetadataKey) and record.value is None:
        table.remove(key.group_id)
        return
    _APPLY[type(key)](group, key, record.value)


def _group_epoch(
    group: ConsumerGroup, key: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue
) -> None:
    group.group_epoch = value.epoch
    group.metadata_hash = value.metadata_hash


def _partition_metadata(
    group: ConsumerGroup,
    key: ConsumerGroupPartitionMetadataKey,
    value: ConsumerGroupPartitionMetadataValue | None,
) -> None:
    group.has_partition_metadata = value is not None


def _member_subscription(
    group: ConsumerGroup,
    key: ConsumerGroupMemberMetadataKey,
    value: ConsumerGroupMemberMetadataValue | None,
) -> None:
    if value is None:
        group.remove_member(key.member_id)
        return
    member = group.members.get(key.member_id) or Member(key.member_id)
    group.put_member(with_subscription(member, value))


def _target_epoch(
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMetadataKey,
    value: ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    group.assignment_epoch = value.assignment_epoch if value is not None else -1
    group.assignment_timestamp = value.assignment_timestamp if value is not None else 0


def _member_target(
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMemberKey,
    value: ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.target.pop(key.member_id, None)
        return
    group.target[key.member_id] = {
        entry.topic_id: frozenset(entry.partitions) for entry in value.topic_partitions
    }


def _current_assignment(
    group: ConsumerGroup,
    key: ConsumerGroupCurrentMemberAssignmentKey,
    value: ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    member = group.members.get(key.member_id)
    if value is None:
        if member is not None:
            group.put_member(
                replace(
                    member,
                    member_epoch=LEAVE_EPOCH,
                    previous_member_epoch=LEAVE_EPOCH,
                    assigned=NOTHING_OWNED,
                    pending_revocation=NOTHING_OWNED,
                )
            )
        return
    epoch = value.member_epoch
    group.put_member(
        replace(
            member or Member(key.member_id),
            member_epoch=epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=state_from_record(value),
            assigned=owned_from_record(value.assigned_partitions, epoch),
            pending_revocation=owned_from_record(value.partitions_pending_revocation, epoch),
        )
    )


def _regex(
    group: ConsumerGroup,
    key: ConsumerGroupRegularExpressionKey,
    value: ConsumerGroupRegularExpressionValue | None,
) -> None:
    if value is None:
        group.remove_regex(key.regular_expression)
        return
    group.put_regex(
        key.regular_expression,
        ResolvedRegex(frozenset(value.topics), value.version, value.timestamp),
    )


_APPLY: Final[dict[type, Callable[[ConsumerGroup, Any, Any], None]]] = {
    ConsumerGroupMetadataKey: _group_epoch,
    ConsumerGroupPartitionMetadataKey: _partition_metadata,
    ConsumerGroupMemberMetadataKey: _member_subscription,
    ConsumerGroupTargetAssignmentMetadataKey: _target_epoch,
    ConsumerGroupTargetAssignmentMemberKey: _member_target,
    ConsumerGroupCurrentMemberAssignmentKey: _current_assignment,
    ConsumerGroupRegularExpressionKey: _regex,
}
