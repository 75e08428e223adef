"""A member of a consumer group (KIP-848), as an immutable value.

A member is known by what it wants (its subscription) and by what it has (its partitions and the epoch at
which it got each). `ConsumerGroup` holds one value per member and replaces it; nothing here changes.

    STABLE ── new target, something to give up ──► UNREVOKED_PARTITIONS ── given up ──┐
      ▲  └─── new target, something others still hold ──► UNRELEASED_PARTITIONS       │
      └──────────── all of the target is free ◄───────────────┴───────────────────────┘

`member_epoch` says up to which target the member has come. It is 0 while it joins, -2 for a static member
that went away and is expected back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Protocol, TypeVar
from uuid import UUID

from odradek.protocol.messages.internal.consumer_group import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)

T = TypeVar("T")

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2
CONSUMER_PROTOCOL_TYPE: Final = "consumer"

# What somebody shall own: partitions by topic id. A topic without partitions is not in it.
Target = Mapping[UUID, frozenset[int]]
# What a member owns: per topic id, the partitions and the epoch at which it got each.
Owned = Mapping[UUID, Mapping[int, int]]
NOTHING: Final[Target] = {}
NOTHING_OWNED: Final[Owned] = {}


class MemberState(IntEnum):
    """Where a member is on its way to the target, by the numbers its record holds."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class Member:
    """One member."""

    member_id: str
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    assigned: Owned = field(default_factory=dict)
    pending_revocation: Owned = field(default_factory=dict)
    # What a member that still speaks the classic protocol sent when it joined; None for the others.
    classic: ClassicMemberMetadata | None = None

    @property
    def uses_classic_protocol(self) -> bool:
        """Whether it speaks JoinGroup, SyncGroup and Heartbeat."""
        return self.classic is not None

    def is_reconciled_to(self, target_epoch: int) -> bool:
        """Whether it owns exactly what the target of this epoch gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == target_epoch


class Partitions(Protocol):
    """The shape that all messages use for the partitions of one topic."""

    topic_id: UUID
    partitions: list[int]


def without_epochs(owned: Owned) -> dict[UUID, frozenset[int]]:
    """The partitions of an owner, whenever it got them."""
    return {topic_id: frozenset(partitions) for topic_id, partitions in owned.items()}


def with_epoch(partitions: Target, epoch: int) -> Owned:
    """These partitions, all got at the same epoch."""
    return {topic_id: dict.fromkeys(indexes, epoch) for topic_id, indexes in partitions.items()}


def reported(partitions: Iterable[Partitions] | None) -> dict[UUID, frozenset[int]] | None:
    """What a request says its member owns; None when it does not say."""
    if partitions is None:
        return None
    return {entry.topic_id: frozenset(entry.partitions) for entry in partitions}


def owns_only(owned: Target | None, allowed: Owned) -> bool:
    """Whether a member that says what it owns has nothing beyond `allowed`."""
    return owned is not None and all(
        topic_id in allowed and partitions <= allowed[topic_id].keys()
        for topic_id, partitions in owned.items()
    )


def listed(partitions: Mapping[UUID, Iterable[int]], entry: Callable[..., T]) -> list[T]:
    """Partitions as a message lists them: one `entry` per topic, its partitions in order."""
    return [
        entry(topic_id=topic_id, partitions=sorted(indexes))
        for topic_id, indexes in partitions.items()
    ]


def with_subscription(member: Member, value: ConsumerGroupMemberMetadataValue) -> Member:
    """The member with the subscription that its record holds."""
    return Member(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names),
        subscribed_topic_regex=value.subscribed_topic_regex or "",
        server_assignor=value.server_assignor,
        assigned=member.assigned,
        pending_revocation=member.pending_revocation,
        classic=value.classic_member_metadata,
    )


def owned_from_record(entries: list[TopicPartitions], member_epoch: int) -> Owned:
    """What a record says a member owns. Records of older brokers hold no epochs: the member's then."""
    owned: dict[UUID, dict[int, int]] = {}
    for entry in entries:
        epochs = entry.assignment_epochs
        if epochs is None or len(epochs) != len(entry.partitions):
            owned[entry.topic_id] = dict.fromkeys(entry.partitions, member_epoch)
        else:
            owned[entry.topic_id] = dict(zip(entry.partitions, epochs, strict=True))
    return owned


def state_from_record(value: ConsumerGroupCurrentMemberAssignmentValue) -> MemberState:
    """The state in a record; one that this broker does not know is UNKNOWN: the member must rejoin."""
    try:
        return MemberState(value.state)
    except ValueError:
        return MemberState.UNKNOWN
