"""A group of the classic protocol: its state, and the rules that need nothing else.

```
            join                    all joined, or time is up            leader's assignment is written
    Empty ────────► PreparingRebalance ────────────────► CompletingRebalance ────────────────► Stable
      ▲                │        ▲   ▲                           │  member joins, leaves, falls    │
      └── nobody left ─┘        │   └───────────────────────────┘  silent                         │
                                └─────────────────────────────────────────────────────────────────┘
    deleted, or no longer ours: Dead
```
What the log knows of a group is the last generation that was assigned (or that it is empty): one
`GroupMetadataValue` with its members. A rebalance in progress lives in memory only. After a crash in the
middle of one the group is again stable in its last assigned generation; members that know of a later one
are told ILLEGAL_GENERATION, join again, and so begin the next generation.

`ClassicGroup` holds the state; `classic_rebalance` moves it, `classic` answers requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Final

from odradek.coordinators.groups.classic_members import (
    ClassicMember,
    ClassicMembers,
    GroupProtocol,
)
from odradek.coordinators.groups.classic_subscriptions import subscribed_topics
from odradek.coordinators.groups.group import Group, GroupType
from odradek.coordinators.groups.history import RebalanceEvent, RebalanceNotes, new_history
from odradek.coordinators.shard import CoordinatorRecord
from odradek.errors import ApiError, Err
from odradek.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from odradek.protocol.messages.internal.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

CONSUMER: Final = "consumer"
VALUE_VERSION: Final = 3  # what Apache Kafka 4 writes; v4 only differs in its encoding
NO_TIMESTAMP: Final = -1
NO_TIMEOUT: Final = -1


class ClassicState(Enum):
    """The states, by the names that tools show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: Final[Mapping[ClassicState, frozenset[ClassicState]]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.EMPTY, ClassicState.COMPLETING_REBALANCE, ClassicState.DEAD}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}
    ),
    ClassicState.STABLE: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    ClassicState.DEAD: frozenset(),
}


class ClassicGroup(Group):
    """One classic group. Without members and protocol type it only holds offsets."""

    __slots__ = (
        "generation",
        "history",
        "leader_id",
        "members",
        "new_member_added",
        "notes",
        "previous_state",
        "protocol_name",
        "state",
        "state_since_ms",
        "topics",
        "type_of_members",
        "writing_generation",
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.state = ClassicState.EMPTY
        self.previous_state = ClassicState.EMPTY
        self.state_since_ms: int | None = None
        self.generation = 0
        self.type_of_members = ""
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members = ClassicMembers()
        # What the members read; None when their protocol does not tell.
        self.topics: frozenset[str] | None = None
        # Somebody came during the initial delay, which is therefore prolonged.
        self.new_member_added = False
        # The generation whose assignment is on its way to the log; it is not written a second time.
        self.writing_generation = -1
        self.history: deque[RebalanceEvent] = new_history()
        self.notes = RebalanceNotes()

    # -- as a Group -----------------------------------------------------------------------------

    @property
    def type(self) -> GroupType:
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return self.type_of_members

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicState.EMPTY

    @property
    def is_simple(self) -> bool:
        """Whether nobody ever joined it: it only holds offsets."""
        return self.is_empty and not self.type_of_members

    def is_subscribed_to(self, topic: str) -> bool:
        if self.is_empty:
            return False
        # While it is not known what they read, members may be reading it.
        return topic in self.topics if self.topics is not None else True

    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> None:
        if self.state is ClassicState.DEAD:
            raise ApiError(Err.COORDINATOR_NOT_AVAILABLE, "the group is being deleted")
        if generation_or_epoch < 0 and self.is_empty:
            return  # a simple consumer, or an administrator
        if generation_or_epoch >= 0 or member_id or group_instance_id is not None:
            err = self.check_member(member_id, group_instance_id)
            if err is not Err.NONE:
                raise ApiError(err, f"no such member of group {self.group_id}: {member_id!r}")
            if generation_or_epoch != self.generation:
                raise ApiError(
                    Err.ILLEGAL_GENERATION,
                    f"generation {generation_or_epoch} is over, it is {self.generation} now",
                )
        elif not is_transactional:
            raise ApiError(
                Err.UNKNOWN_MEMBER_ID,
                f"group {self.group_id} has members: only they may commit; stop them first",
            )
        if not is_transactional and self.state is ClassicState.COMPLETING_REBALANCE:
            # The member's generation is right, so it has only just been told: let it sync first.
            raise ApiError(Err.REBALANCE_IN_PROGRESS, "ask for the assignment, then commit")

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if self.state is ClassicState.DEAD:
            raise ApiError(Err.GROUP_ID_NOT_FOUND, f"group {self.group_id} is deleted")

    def check_delete(self) -> None:
        if self.state is ClassicState.DEAD:
            raise ApiError(Err.GROUP_ID_NOT_FOUND, f"group {self.group_id} is deleted")
        if not self.is_empty:
            raise ApiError(Err.NON_EMPTY_GROUP, f"group {self.group_id} has members")

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GroupMetadataKey(group=self.group_id), None)]

    def expired_since(self) -> int | None:
        return self.state_since_ms if self.is_empty and self.type_of_members else None

    # -- members --------------------------------------------------------------------------------

    def check_member(self, member_id: str, group_instance_id: str | None) -> Err:
        """Whether a request comes from a member; a static one may have been replaced."""
        if group_instance_id is not None:
            current = self.members.static_member_id(group_instance_id)
            if current is not None and current != member_id:
                return Err.FENCED_INSTANCE_ID
            if current is None:
                return Err.UNKNOWN_MEMBER_ID
        return Err.NONE if member_id in self.members else Err.UNKNOWN_MEMBER_ID

    def supports(self, protocol_type: str, names: set[str]) -> bool:
        """Whether somebody with these protocols fits to the members that are there."""
        if self.is_empty:
            return bool(protocol_type) and bool(names)
        return protocol_type == self.type_of_members and self.members.any_known_to_all(names)

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        """A new member; the first one decides the protocol type and is the leader."""
        if not len(self.members):
            self.type_of_members = protocol_type
        assert protocol_type == self.type_of_members
        self.members.add(member)
        if self.leader_id is None:
            self.leader_id = member.member_id

    def remove(self, member_id: str, err: Err) -> None:
        """Forget a member; the next one leads if it was the leader."""
        self.members.remove(member_id, err)
        if member_id == self.leader_id:
            self.leader_id = self.members.first_id

    def replace_static_member(self, old_member_id: str, member_id: str) -> ClassicMember:
        """A static member starts again: it keeps its place, and the lead, under a new member id."""
        member = self.members.replace_id(old_member_id, member_id)
        if old_member_id == self.leader_id:
            self.leader_id = member_id
        return member

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one who has joined; False when nobody has."""
        if self.leader_id not in self.members.awaiting_join:
            joined = next(
                (m.member_id for m in self.members if m.member_id in self.members.awaiting_join),
                None,
            )
            if joined is None:
                return False
            self.leader_id = joined
        return True

    # -- states ---------------------------------------------------------------------------------

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may begin now."""
        return ClassicState.PREPARING_REBALANCE in TRANSITIONS[self.state]

    @property
    def in_initial_rebalance(self) -> bool:
        """Whether the first members of an empty group gather."""
        return (
            self.state is ClassicState.PREPARING_REBALANCE
            and self.previous_state is ClassicState.EMPTY
        )

    def transition_to(self, state: ClassicState, now_ms: int) -> None:
        """Move along the table."""
        assert state in TRANSITIONS[self.state], f"{self.state} to {state}"
        self.previous_state = self.state
        self.state = state
        self.state_since_ms = now_ms

    def begin_generation(self, now_ms: int) -> None:
        """The join phase is over: the next generation begins, with members or without."""
        self.generation += 1
        self.members.pending_sync.clear()
        self.new_member_added = False
        if len(self.members):
            self.protocol_name = self.members.select_protocol()
            self.transition_to(ClassicState.COMPLETING_REBALANCE, now_ms)
        else:
            self.protocol_name = None
            self.leader_id = None
            self.transition_to(ClassicState.EMPTY, now_ms)
        self.refresh_topics()
        self.history.append(self.notes.close(now_ms, self.generation, len(self.members)))

    def refresh_topics(self) -> None:
        """Read from the members' metadata which topics they want, if it is that of consumers."""
        self.topics = (
            subscribed_topics(member.metadata(self.protocol_name) for member in self.members)
            if self.type_of_members == CONSUMER and self.protocol_name is not None
            else None
        )

    # -- records --------------------------------------------------------------------------------

    def record(self, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
        """The group as it is now, with these assignments by member id, for the log."""
        value = GroupMetadataValue(
            protocol_type=self.type_of_members,
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.leader_id,
            current_state_timestamp=_or(self.state_since_ms, NO_TIMESTAMP),
            members=[
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol_name),
                    assignment=assignments.get(member.member_id, b""),
                )
                for member in self.members
            ],
        )
        return CoordinatorRecord(GroupMetadataKey(group=self.group_id), value, VALUE_VERSION)

    @classmethod
    def restored(cls, group_id: str, value: GroupMetadataValue) -> ClassicGroup:
        """The group that a record tells of: empty, or stable with every member assigned."""
        group = cls(group_id)
        group.generation = value.generation
        group.type_of_members = value.protocol_type
        group.protocol_name = value.protocol
        for row in value.members:
            group.add(_restored_member(row, value.protocol or ""), value.protocol_type)
        group.leader_id = value.leader
        group.state = ClassicState.STABLE if len(group.members) else ClassicState.EMPTY
        group.previous_state = group.state
        if value.current_state_timestamp != NO_TIMESTAMP:
            group.state_since_ms = value.current_state_timestamp
        group.refresh_topics()
        return group

    def confirm(self, value: GroupMetadataValue) -> None:
        """The log has taken what this group wrote of itself: the assignments are now its members'."""
        assert value.generation == self.generation
        for row in value.members:
            member = self.members.get(row.member_id)
            if member is not None:
                member.assignment = bytes(row.assignment)

    def describe(self) -> DescribedGroup:
        """As DescribeGroups shows it: metadata and assignments only while they are true."""
        stable = self.state is ClassicState.STABLE
        return DescribedGroup(
            error_code=Err.NONE,
            group_id=self.group_id,
            group_state=self.state_name,
            protocol_type=self.type_of_members,
            protocol_data=(self.protocol_name or "") if stable else "",
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata(self.protocol_name) if stable else b"",
                    member_assignment=member.assignment if stable else b"",
                )
                for member in self.members
            ],
        )


def _restored_member(row: MemberMetadata, protocol_name: str) -> ClassicMember:
    timeout = row.rebalance_timeout
    return ClassicMember(
        member_id=row.member_id,
        group_instance_id=row.group_instance_id,
        client_id=row.client_id,
        client_host=row.client_host,
        rebalance_timeout_ms=row.session_timeout if timeout == NO_TIMEOUT else timeout,
        session_timeout_ms=row.session_timeout,
        protocols=(GroupProtocol(protocol_name, bytes(row.subscription)),),
        assignment=bytes(row.assignment),
    )


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
