"""The records of consumer groups, as Apache Kafka 4.3 writes them: every value in version 0.

Five of the seven types are rewritten while a group lives: the group's epoch, a member's subscription, the
target's epoch, a member's target and what a member owns. Patterns have one record each. The seventh (the
topics a group reads, as brokers before 4.1 stored them) is only ever removed.
"""

from __future__ import annotations

from collections.abc import Iterable

from odradek.coordinators.groups.consumer_members import Member, Owned, Target, listed
from odradek.coordinators.shard import CoordinatorRecord
from odradek.protocol.messages.internal.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """The group moves to an epoch, under which a new target is due."""
    return CoordinatorRecord(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member_subscription(group_id: str, member: Member) -> CoordinatorRecord:
    """Who a member is and what it wants."""
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor,
            classic_member_metadata=member.classic,
        ),
    )


def target_epoch(group_id: str, epoch: int, now_ms: int) -> CoordinatorRecord:
    """The target of all members is the one of this epoch, computed now."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=now_ms
        ),
    )


def member_target(group_id: str, member_id: str, target: Target) -> CoordinatorRecord:
    """What a member shall own."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        ConsumerGroupTargetAssignmentMemberValue(topic_partitions=listed(target, TopicPartition)),
    )


def current_assignment(group_id: str, member: Member) -> CoordinatorRecord:
    """What a member owns."""
    return CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            assigned_partitions=_with_epochs(member.assigned),
            partitions_pending_revocation=_with_epochs(member.pending_revocation),
        ),
    )


def resolved_regex(
    group_id: str, regex: str, topics: Iterable[str], version: int, now_ms: int
) -> CoordinatorRecord:
    """The topics that match a pattern, by the metadata of this version."""
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex),
        ConsumerGroupRegularExpressionValue(
            topics=sorted(topics), version=version, timestamp=now_ms
        ),
    )


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Nobody subscribes to the pattern any more."""
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None
    )


def partition_metadata_tombstone(group_id: str) -> CoordinatorRecord:
    """The group has a hash in its epoch's record instead of a record of topics."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_tombstones(group_id: str, member_id: str) -> tuple[CoordinatorRecord, ...]:
    """A member goes away: first what it owns, then its target, then itself."""
    return (
        CoordinatorRecord(
            ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None
        ),
        CoordinatorRecord(
            ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None
        ),
        CoordinatorRecord(
            ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None
        ),
    )


def group_tombstones(
    group_id: str, member_ids: Iterable[str], regexes: Iterable[str]
) -> list[CoordinatorRecord]:
    """The whole group goes away, in an order that leaves no part without its whole."""
    records = [t for member_id in member_ids for t in member_tombstones(group_id, member_id)]
    records.append(
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)
    )
    records.extend(regex_tombstone(group_id, regex) for regex in regexes)
    records.append(partition_metadata_tombstone(group_id))
    records.append(CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None))
    return records


def _with_epochs(owned: Owned) -> list[TopicPartitions]:
    entries = []
    for topic_id, epochs in owned.items():
        partitions = sorted(epochs)
        entries.append(
            TopicPartitions(
                topic_id=topic_id,
                partitions=partitions,
                assignment_epochs=[epochs[partition] for partition in partitions],
            )
        )
    return entries
