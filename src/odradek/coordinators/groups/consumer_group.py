"""A group of the consumer protocol (KIP-848): its members, their target and what they own.

Two epochs tell how far the group is. The *group epoch* grows whenever somebody's subscription or the topics
behind it change; the *assignment epoch* is the group epoch for which the target was computed. Members
follow the target one by one (`reconciliation`), each with its own epoch.

    EMPTY ──► ASSIGNING (group epoch > assignment epoch) ──► RECONCILING (a member is behind) ──► STABLE

`owners` says who holds each partition, whether for good or until it has given it up. It is derived from
the members and has one entry per partition: a partition never has two owners, because a member is only
given what is not in it.

The methods that change something are called by `ConsumerGroups.replay` only. What is derived (counts,
owners) is kept up to date with each change; soft state is marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID

from odradek.coordinators.groups.consumer_members import (
    CONSUMER_PROTOCOL_TYPE,
    NOTHING,
    Member,
    Owned,
    Target,
)
from odradek.coordinators.groups.consumer_records import group_tombstones
from odradek.coordinators.groups.group import Group, GroupType
from odradek.coordinators.groups.history import RebalanceEvent, RebalanceNotes, new_history
from odradek.coordinators.shard import CoordinatorRecord
from odradek.errors import ApiError, Err

# A group without members is at this epoch, and its empty target too.
FIRST_EPOCH: Final = 1
# The first version of OffsetCommit whose generation may be a member epoch.
OFFSET_COMMIT_WITH_EPOCH: Final = 9


class ConsumerGroupState(Enum):
    """The states, by the names that the tools show."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ResolvedRegex(NamedTuple):
    """The topics that matched a pattern, by the metadata of `version`, at `timestamp`."""

    topics: frozenset[str]
    version: int
    timestamp: int


class ConsumerGroup(Group):
    """One consumer group."""

    __slots__ = (
        "assignment_epoch",
        "assignment_timestamp",
        "assignor_votes",
        "epoch_changed_ms",
        "group_epoch",
        "has_partition_metadata",
        "history",
        "members",
        "metadata_hash",
        "notes",
        "owners",
        "regex_counts",
        "regexes_resolved_ms",
        "resolved",
        "seen_topics",
        "static_members",
        "target",
        "topic_counts",
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp = 0
        self.members: dict[str, Member] = {}
        self.target: dict[str, Target] = {}
        self.resolved: dict[str, ResolvedRegex] = {}
        # Whether brokers before 4.1 left a record of the group's topics behind.
        self.has_partition_metadata = False
        # Derived from the members.
        self.static_members: dict[str, str] = {}
        self.owners: dict[tuple[UUID, int], str] = {}
        self.topic_counts: Counter[str] = Counter()
        self.regex_counts: Counter[str] = Counter()
        self.assignor_votes: Counter[str] = Counter()
        # Soft: which topics the metadata hash and the patterns were last checked against, and when.
        self.seen_topics: Mapping[str, object] | None = None
        self.regexes_resolved_ms = 0
        # Soft: since when the group is at its epoch, as far as this process knows; and why it moved.
        self.epoch_changed_ms = 0
        self.history = new_history()
        self.notes = RebalanceNotes()

    # -- what a Group is asked -----------------------------------------------------------------

    @property
    def type(self) -> GroupType:
        """The consumer protocol."""
        return GroupType.CONSUMER

    @property
    def state(self) -> ConsumerGroupState:
        """How far the group is; looks at every member."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def state_name(self) -> str:
        """The state as the tools show it."""
        return self.state.value

    @property
    def protocol_type(self) -> str:
        """Always `consumer`."""
        return CONSUMER_PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        """Whether it has no members."""
        return not self.members

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads this topic, by name or by a pattern."""
        return topic in self.topic_counts

    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> None:
        """ApiError unless this member may commit at this epoch."""
        if generation_or_epoch < 0 and not self.members:
            return
        anonymous = member_id == "" and group_instance_id is None
        if is_transactional and generation_or_epoch == -1 and anonymous:
            # Producers before KIP-447 name no member.
            return
        member = self.member(member_id)
        if (
            not is_transactional
            and not member.uses_classic_protocol
            and api_version < OFFSET_COMMIT_WITH_EPOCH
        ):
            raise ApiError(
                Err.UNSUPPORTED_VERSION,
                f"members of a consumer group commit with version {OFFSET_COMMIT_WITH_EPOCH} or newer",
            )
        _check_epoch(member, generation_or_epoch)

    def held_since(self, member_id: str, epoch: int, topic_id: UUID, partition: int) -> bool:
        """Whether the member got the partition at this epoch or before; for good, or to give it up.

        A heartbeat may move a member on while its commit is under way with the epoch before.
        """
        member = self.members.get(member_id)
        if member is None or epoch > member.member_epoch:
            return False
        got_at = member.assigned.get(topic_id, {}).get(partition)
        if got_at is None:
            got_at = member.pending_revocation.get(topic_id, {}).get(partition)
        return got_at is not None and got_at <= epoch

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """ApiError when a member that names itself is not one, or is at another epoch."""
        if member_id is None and member_epoch < 0:
            return
        _check_epoch(self.member(member_id or ""), member_epoch)

    def check_delete(self) -> None:
        """ApiError while it has members."""
        if self.members:
            raise ApiError(Err.NON_EMPTY_GROUP, f"{len(self.members)} members are in the group")

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that make the group go away."""
        return group_tombstones(self.group_id, self.members, self.resolved)

    def expired_since(self) -> int | None:
        """Unknown: the offsets of an empty group expire by the time of their own commit."""
        return None

    # -- looking ------------------------------------------------------------------------------

    def member(self, member_id: str) -> Member:
        """The member; ApiError(UNKNOWN_MEMBER_ID) when there is none."""
        found = self.members.get(member_id)
        if found is None:
            raise ApiError(
                Err.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of group {self.group_id}"
            )
        return found

    def static_member(self, instance_id: str | None) -> Member | None:
        """The member with this fixed name."""
        member_id = self.static_members.get(instance_id) if instance_id is not None else None
        return self.members[member_id] if member_id is not None else None

    def target_of(self, member: Member) -> Target:
        """What the member shall own; a static member inherits it from the one it replaces."""
        member_id = member.member_id
        if member.instance_id is not None:
            member_id = self.static_members.get(member.instance_id, member_id)
        return self.target.get(member_id, NOTHING)

    def is_waiting_for_others(self, member: Member) -> bool:
        """Whether a partition of the member's target is still held by somebody else."""
        return any(
            partition not in member.assigned.get(topic_id, {})
            and (topic_id, partition) in self.owners
            for topic_id, partitions in self.target.get(member.member_id, NOTHING).items()
            for partition in partitions
        )

    # -- changing (replay only) ----------------------------------------------------------------

    def put_member(self, member: Member) -> None:
        """Add a member, or replace its value."""
        self._forget(self.members.get(member.member_id))
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        count_topics(self.topic_counts, member.subscribed_topic_names, 1)
        if member.subscribed_topic_regex:
            self.regex_counts[member.subscribed_topic_regex] += 1
        if member.server_assignor is not None:
            self.assignor_votes[member.server_assignor] += 1
        for owned in (member.assigned, member.pending_revocation):
            for place in _places(owned):
                self.owners[place] = member.member_id

    def remove_member(self, member_id: str) -> None:
        """Forget a member; harmless when it is unknown."""
        member = self.members.pop(member_id, None)
        self._forget(member)
        if member is not None and self.static_members.get(member.instance_id or "") == member_id:
            del self.static_members[member.instance_id or ""]

    def put_regex(self, regex: str, resolved: ResolvedRegex) -> None:
        """A pattern was resolved."""
        self.remove_regex(regex)
        self.resolved[regex] = resolved
        count_topics(self.topic_counts, resolved.topics, 1)

    def remove_regex(self, regex: str) -> None:
        """Nobody subscribes to a pattern any more; harmless when it is unknown."""
        known = self.resolved.pop(regex, None)
        if known is not None:
            count_topics(self.topic_counts, known.topics, -1)

    def _forget(self, member: Member | None) -> None:
        if member is None:
            return
        count_topics(self.topic_counts, member.subscribed_topic_names, -1)
        if member.subscribed_topic_regex:
            count_topics(self.regex_counts, (member.subscribed_topic_regex,), -1)
        if member.server_assignor is not None:
            count_topics(self.assignor_votes, (member.server_assignor,), -1)
        for owned in (member.assigned, member.pending_revocation):
            for place in _places(owned):
                # A log that was compacted in part may have shown the next owner first.
                if self.owners.get(place) == member.member_id:
                    del self.owners[place]

    def note_epoch(self, now_ms: int, reason: str) -> None:
        """Soft: the group moves to another epoch, and why."""
        self.epoch_changed_ms = now_ms
        self.notes.start(now_ms, reason)

    def note_target(self, now_ms: int, epoch: int, members: int) -> RebalanceEvent:
        """Soft: a target was computed; what led to it becomes a row of the history."""
        event = self.notes.close(now_ms, epoch, members)
        self.history.append(event)
        return event


def count_topics(counts: Counter[str], names: Iterable[str], step: int) -> None:
    """Count subscribers up or down; a name nobody counts any more is gone."""
    for name in names:
        count = counts[name] + step
        if count > 0:
            counts[name] = count
        else:
            del counts[name]


def as_new_instance(member: Member, member_id: str) -> Member:
    """A static member that comes back under another id, with all it had."""
    return replace(member, member_id=member_id, member_epoch=0, previous_member_epoch=0)


def _places(owned: Owned) -> Iterable[tuple[UUID, int]]:
    return ((topic_id, partition) for topic_id, indexes in owned.items() for partition in indexes)


def _check_epoch(member: Member, epoch: int) -> None:
    if epoch != member.member_epoch:
        err = Err.ILLEGAL_GENERATION if member.uses_classic_protocol else Err.STALE_MEMBER_EPOCH
        raise ApiError(
            err, f"member {member.member_id} is at epoch {member.member_epoch}, not {epoch}"
        )
