"""What a group looks like from outside, whichever protocol its members speak.

Immutable values, and the reading of DescribeGroups and ConsumerGroupDescribe replies into them. The
assignment of a classic member is bytes of its own making; consumers of every language follow one
layout (`ConsumerProtocolAssignment` after an int16 version), anything else counts as not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from odradek.protocol.codec import DecodeError, decode_from
from odradek.protocol.messages import consumer_group_describe, describe_groups
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from odradek.types import TopicPartition

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
_VERSION_BYTES: Final = 2
_CLASSIC_MEMBER: Final = 0


class GroupType(Enum):
    """The protocols, by their names on the wire."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A line of ListGroups; type and state are empty from brokers that do not tell."""

    group_id: str
    type: str
    protocol_type: str
    state: str
    coordinator_id: int


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member and what it reads. Epoch and target exist in the consumer protocol only."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    epoch: int | None = None
    target: tuple[TopicPartition, ...] | None = None
    # Whether it speaks the consumer protocol; None when the broker does not tell.
    upgraded: bool | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group with its members. Epochs exist in the consumer protocol only."""

    group_id: str
    type: GroupType
    state: str
    protocol_type: str
    assignor: str
    coordinator_id: int
    members: tuple[GroupMember, ...]
    group_epoch: int | None = None
    assignment_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Where a group is in a partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str | None = None


def classic_group(row: describe_groups.DescribedGroup, coordinator_id: int) -> GroupDescription:
    """A group of the classic protocol."""
    return GroupDescription(
        group_id=row.group_id,
        type=GroupType.CLASSIC,
        state=row.group_state,
        protocol_type=row.protocol_type,
        assignor=row.protocol_data,
        coordinator_id=coordinator_id,
        members=tuple(
            GroupMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                classic_assignment(row.protocol_type, member.member_assignment),
            )
            for member in row.members
        ),
    )


def classic_assignment(protocol_type: str, assignment: bytes) -> tuple[TopicPartition, ...]:
    """The partitions in a classic member's assignment; none when it is not a consumer's."""
    if protocol_type != CONSUMER_PROTOCOL_TYPE or len(assignment) < _VERSION_BYTES:
        return ()
    version = int.from_bytes(assignment[:_VERSION_BYTES], "big", signed=True)
    # A newer version only adds at the end, so the newest we know reads it too.
    version = min(version, ConsumerProtocolAssignment.VERSIONS[-1])
    if version not in ConsumerProtocolAssignment.VERSIONS:
        return ()
    try:
        read, _ = decode_from(ConsumerProtocolAssignment, assignment, _VERSION_BYTES, version)
    except DecodeError:
        return ()
    return _partitions((row.topic, row.partitions) for row in read.assigned_partitions)


def consumer_group(
    row: consumer_group_describe.DescribedGroup, coordinator_id: int
) -> GroupDescription:
    """A group of the consumer protocol (KIP-848)."""
    return GroupDescription(
        group_id=row.group_id,
        type=GroupType.CONSUMER,
        state=row.group_state,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        assignor=row.assignor_name,
        coordinator_id=coordinator_id,
        members=tuple(
            GroupMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                _named(member.assignment),
                member.member_epoch,
                _named(member.target_assignment),
                None if member.member_type < 0 else member.member_type != _CLASSIC_MEMBER,
            )
            for member in row.members
        ),
        group_epoch=row.group_epoch,
        assignment_epoch=row.assignment_epoch,
    )


def _named(assignment: consumer_group_describe.Assignment) -> tuple[TopicPartition, ...]:
    return _partitions((row.topic_name, row.partitions) for row in assignment.topic_partitions)


def _partitions(rows: Iterable[tuple[str, Iterable[int]]]) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(TopicPartition(topic, index) for topic, indexes in rows for index in indexes)
    )
