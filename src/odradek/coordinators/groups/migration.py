"""From the classic protocol to the consumer protocol and back, while a group lives.

**Up**: the first member of the consumer protocol joins a classic group of consumers. The group becomes a
consumer group with the same members; those that were there go on with JoinGroup, SyncGroup and Heartbeat
(`classic_in_consumer`) and learn of a rebalance by their next heartbeat.

**Down**: the last member of the consumer protocol is gone and classic ones are left. The group becomes a
classic group with their assignments, and they are made to join again.

Both are a handful of records: tombstones of the one, then the other. `group.consumer.migration.policy` says
which way is allowed. A classic consumer's bytes (`ConsumerProtocolSubscription`, `…Assignment` after an
int16 version) are read and written here. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, TypeVar
from uuid import UUID

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups import consumer_records as records_of
from odradek.coordinators.groups import consumer_replay
from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.classic_members import ClassicMember, GroupProtocol
from odradek.coordinators.groups.consumer_group import ConsumerGroup
from odradek.coordinators.groups.consumer_members import (
    CONSUMER_PROTOCOL_TYPE,
    NOTHING,
    Member,
    Target,
    with_epoch,
)
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.groups.subscriptions import metadata_hash
from odradek.coordinators.shard import CoordinatorRecord
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.codec import DecodeError, decode_from, encode
from odradek.protocol.fields import Message
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from odradek.protocol.messages.internal.consumer_group import (
    ClassicMemberMetadata,
    ClassicProtocol,
)

M = TypeVar("M", bound=Message)

_VERSION_BYTES: Final = 2
_UPGRADES: Final = frozenset(("upgrade", "bidirectional"))
_DOWNGRADES: Final = frozenset(("downgrade", "bidirectional"))
_DISABLED: Final = "disabled"


def classic_members_allowed(config: BrokerConfig) -> bool:
    """Whether consumer groups take members of the classic protocol."""
    return config.group_consumer_migration_policy.lower() != _DISABLED


# -- up ------------------------------------------------------------------------------------------


def upgrade(
    group: ClassicGroup, config: BrokerConfig, image: MetadataImage
) -> tuple[ConsumerGroup, list[CoordinatorRecord]]:
    """The consumer group that takes the place of a classic one; ApiError when it may not."""
    if config.group_consumer_migration_policy.lower() not in _UPGRADES:
        raise _cannot_upgrade(group, "group.consumer.migration.policy does not allow it")
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise _cannot_upgrade(group, "its members are not consumers")
    if len(group.members) > config.group_consumer_max_size:
        raise _cannot_upgrade(group, "it has more members than group.consumer.max.size")
    records = _upgrade_records(group, image)
    scratch = GroupTable()
    for record in records:
        consumer_replay.replay(scratch, record)
    upgraded = scratch.get(group.group_id)
    assert isinstance(upgraded, ConsumerGroup)
    return upgraded, [*group.tombstones(), *records]


def _upgrade_records(group: ClassicGroup, image: MetadataImage) -> list[CoordinatorRecord]:
    group_id, epoch = group.group_id, group.generation
    members: list[Member] = []
    targets: dict[str, Target] = {}
    for member in group.members:
        target = _assignment_of(group, member, image)
        targets[member.member_id] = target
        members.append(_upgraded_member(group, member, target))
    names = {name for member in members for name in member.subscribed_topic_names}
    return [
        *(records_of.member_subscription(group_id, member) for member in members),
        records_of.group_epoch(group_id, epoch, metadata_hash(names, image)),
        *(records_of.member_target(group_id, m, target) for m, target in targets.items()),
        records_of.target_epoch(group_id, epoch, 0),
        *(records_of.current_assignment(group_id, member) for member in members),
    ]


def _upgraded_member(group: ClassicGroup, member: ClassicMember, target: Target) -> Member:
    protocol = group.protocol_name or member.protocols[0].name
    try:
        subscription = read_subscription(member.metadata(protocol))
    except DecodeError as error:
        raise _cannot_upgrade(group, f"a member's subscription is garbled: {error}") from error
    return Member(
        member_id=member.member_id,
        member_epoch=group.generation,
        previous_member_epoch=group.generation,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=frozenset(subscription.topics),
        assigned=with_epoch(target, group.generation),
        classic=classic_metadata(member.session_timeout_ms, member.protocols),
    )


def _assignment_of(group: ClassicGroup, member: ClassicMember, image: MetadataImage) -> Target:
    if not member.assignment:
        return NOTHING
    try:
        assignment = _read(ConsumerProtocolAssignment, member.assignment)
    except DecodeError as error:
        raise _cannot_upgrade(group, f"a member's assignment is garbled: {error}") from error
    if assignment.user_data:
        raise _cannot_upgrade(group, "its assignor keeps data of its own, which would be lost")
    return {
        image.topics[entry.topic].id: frozenset(entry.partitions)
        for entry in assignment.assigned_partitions
        if entry.topic in image.topics and entry.partitions
    }


def _cannot_upgrade(group: ClassicGroup, why: str) -> ApiError:
    return ApiError(
        Err.GROUP_ID_NOT_FOUND,
        f"classic group {group.group_id} cannot become a consumer group: {why}",
    )


# -- down ----------------------------------------------------------------------------------------


def is_downgrade_due(
    group: ConsumerGroup, leaving: Collection[Member], config: BrokerConfig
) -> bool:
    """Whether only classic members are left when these are gone, and may be a group of their own."""
    gone = {member.member_id for member in leaving}
    staying = [member for member in group.members.values() if member.member_id not in gone]
    return (
        0 < len(staying) <= config.group_max_size
        and all(member.uses_classic_protocol for member in staying)
        and config.group_consumer_migration_policy.lower() in _DOWNGRADES
    )


def downgrade(
    group: ConsumerGroup, leaving: Collection[Member], image: MetadataImage, now_ms: int
) -> list[CoordinatorRecord]:
    """The records that make a classic group of those who stay, stable with their targets."""
    gone = {member.member_id for member in leaving}
    classic = ClassicGroup(group.group_id)
    classic.generation = group.group_epoch
    classic.state_since_ms = now_ms
    for member in group.members.values():
        if member.member_id not in gone:
            classic.add(_downgraded_member(member), CONSUMER_PROTOCOL_TYPE)
    classic.protocol_name = classic.members.select_protocol()
    assignments = {
        member.member_id: write_assignment(
            group.target.get(member.member_id, NOTHING),
            member.metadata(classic.protocol_name),
            image,
        )
        for member in classic.members
    }
    return [*group.tombstones(), classic.record(assignments)]


def _downgraded_member(member: Member) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=tuple(
            GroupProtocol(p.name, bytes(p.metadata)) for p in member.classic.supported_protocols
        ),
    )


# -- the bytes of classic consumers ----------------------------------------------------------------


def classic_metadata(
    session_timeout_ms: int, protocols: Collection[GroupProtocol]
) -> ClassicMemberMetadata:
    """What a consumer group remembers of a member that speaks the classic protocol."""
    return ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=[ClassicProtocol(name=p.name, metadata=p.metadata) for p in protocols],
    )


def read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """What a classic consumer wants, and what it owns; DecodeError when the bytes are garbled."""
    return _read(ConsumerProtocolSubscription, metadata)


def owned_partitions(
    subscription: ConsumerProtocolSubscription, image: MetadataImage
) -> dict[UUID, frozenset[int]]:
    """What a classic consumer says it owns."""
    return {
        image.topics[entry.topic].id: frozenset(entry.partitions)
        for entry in subscription.owned_partitions
        if entry.topic in image.topics
    }


def write_assignment(
    partitions: Mapping[UUID, Collection[int]], metadata: bytes, image: MetadataImage
) -> bytes:
    """An assignment as a classic consumer reads it, in the version of its own metadata."""
    version = min(max(_version_of(metadata), 0), ConsumerProtocolAssignment.VERSIONS[-1])
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(
                topic=image.topics_by_id[topic_id].name, partitions=sorted(indexes)
            )
            for topic_id, indexes in partitions.items()
            if topic_id in image.topics_by_id
        ]
    )
    return version.to_bytes(_VERSION_BYTES, "big") + encode(assignment, version)


def _read(cls: type[M], data: bytes) -> M:
    version = _version_of(data)
    if len(data) < _VERSION_BYTES or version < 0:
        raise DecodeError("no version")
    # A newer version only adds at the end, so the newest we know reads it too.
    value, _ = decode_from(cls, data, _VERSION_BYTES, min(version, cls.VERSIONS[-1]))
    return value


def _version_of(data: bytes) -> int:
    return int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
