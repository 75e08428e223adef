"""ConsumerGroupDescribe: a consumer group as administrators see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from odradek.coordinators.groups.consumer_group import ConsumerGroup
from odradek.coordinators.groups.consumer_members import NOTHING, Member
from odradek.metadata.image import MetadataImage
from odradek.protocol.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    TopicPartitions,
)
from odradek.protocol.messages.consumer_group_describe import Member as DescribedMember

CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1


def described(group: ConsumerGroup, default_assignor: str, image: MetadataImage) -> DescribedGroup:
    """The group, its epochs, and per member what it has and what it shall have."""
    votes = group.assignor_votes
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=min(votes, key=lambda name: (-votes[name], name), default=default_assignor),
        members=[_member(group, member, image) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: Member, image: MetadataImage) -> DescribedMember:
    # What it has to give up is still its own until it has.
    owned: dict[UUID, set[int]] = {}
    for part in (member.assigned, member.pending_revocation):
        for topic_id, partitions in part.items():
            owned.setdefault(topic_id, set()).update(partitions)
    return DescribedMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(owned, image),
        target_assignment=_assignment(group.target.get(member.member_id, NOTHING), image),
        member_type=CLASSIC_MEMBER if member.uses_classic_protocol else CONSUMER_MEMBER,
    )


def _assignment(partitions: Mapping[UUID, Iterable[int]], image: MetadataImage) -> Assignment:
    """Partitions with the names of their topics; topics that are gone are left out."""
    topics = image.topics_by_id
    return Assignment(
        topic_partitions=[
            TopicPartitions(
                topic_id=topic_id, topic_name=topics[topic_id].name, partitions=sorted(indexes)
            )
            for topic_id, indexes in partitions.items()
            if topic_id in topics
        ]
    )
