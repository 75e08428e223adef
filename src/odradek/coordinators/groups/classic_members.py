"""The members of a classic group, and who of them waits for an answer.

A member lists the assignors it knows (its *protocols*) in order of preference, each with bytes that only
clients understand. The table counts how many members know each protocol, so that "do all of them know one
in common" costs nothing per member, whatever the size of the group.

Members that only live in memory: those with a member id that have not joined yet, and the callbacks of those
that wait for the answer to JoinGroup or SyncGroup. Every callback is taken out before it is called, so
nobody is answered twice; putting a second one for the same member answers the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.errors import Err
from odradek.protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from odradek.protocol.messages.sync_group import SyncGroupResponse

JoinRespond = Callable[[JoinGroupResponse], None]
SyncRespond = Callable[[SyncGroupResponse], None]


class GroupProtocol(NamedTuple):
    """An assignor a member knows, with the bytes it gives to it."""

    name: str
    metadata: bytes


def protocols_of(asked: Sequence[JoinGroupRequestProtocol]) -> tuple[GroupProtocol, ...]:
    """The protocols of a JoinGroup request."""
    return tuple(GroupProtocol(each.name, bytes(each.metadata)) for each in asked)


@dataclass(slots=True)
class ClassicMember:
    """One member. Static when it has a group instance id, which outlives its member id."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[GroupProtocol, ...]
    assignment: bytes = b""
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        """Whether it keeps its place when it starts again."""
        return self.group_instance_id is not None

    def metadata(self, protocol_name: str | None) -> bytes:
        """What the member gave for this protocol; empty when it does not know it."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return b""

    def vote(self, candidates: set[str]) -> str:
        """Its favourite among the protocols that all members know."""
        return next(protocol.name for protocol in self.protocols if protocol.name in candidates)


class ClassicMembers:
    """The members of one group, in the order in which they came."""

    __slots__ = (
        "_by_id",
        "_known",
        "_member_id_of_instance",
        "awaiting_join",
        "awaiting_sync",
        "pending_join",
        "pending_sync",
    )

    def __init__(self) -> None:
        self._by_id: dict[str, ClassicMember] = {}
        self._member_id_of_instance: dict[str, str] = {}
        self._known: Counter[str] = Counter()
        self.awaiting_join: dict[str, JoinRespond] = {}
        self.awaiting_sync: dict[str, SyncRespond] = {}
        # Were given a member id and have not come back with it; expected to, so a join waits for them.
        self.pending_join: set[str] = set()
        # Were told the generation and have not asked for their assignment.
        self.pending_sync: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[ClassicMember]:
        return iter(tuple(self._by_id.values()))

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._by_id

    def __getitem__(self, member_id: str) -> ClassicMember:
        return self._by_id[member_id]

    def get(self, member_id: str) -> ClassicMember | None:
        """The member, or None."""
        return self._by_id.get(member_id)

    @property
    def first_id(self) -> str | None:
        """The one that has been here longest."""
        return next(iter(self._by_id), None)

    def static_member_id(self, group_instance_id: str) -> str | None:
        """The member id under which a static member is here now."""
        return self._member_id_of_instance.get(group_instance_id)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest any member may take to join again."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    @property
    def all_joined(self) -> bool:
        """Whether a join phase need not wait any longer."""
        return len(self.awaiting_join) == len(self._by_id) and not self.pending_join

    def missing(self) -> list[ClassicMember]:
        """Those that have not joined again."""
        return [member for member in self if member.member_id not in self.awaiting_join]

    # -- protocols ------------------------------------------------------------------------------

    def any_known_to_all(self, names: set[str]) -> bool:
        """Whether every member knows one of these protocols, the same one."""
        return any(self._known[name] == len(self._by_id) for name in names)

    def select_protocol(self) -> str:
        """The protocol with most votes among those that all know; the first voted for wins a tie."""
        assert self._by_id, "a group without members has no protocol"
        candidates = {name for name, count in self._known.items() if count == len(self._by_id)}
        votes = Counter(member.vote(candidates) for member in self)
        return votes.most_common(1)[0][0]

    # -- coming and going -----------------------------------------------------------------------

    def add(self, member: ClassicMember) -> None:
        """A member that is not there yet."""
        assert member.member_id not in self._by_id
        self._by_id[member.member_id] = member
        self._known.update({protocol.name for protocol in member.protocols})
        if member.group_instance_id is not None:
            self._member_id_of_instance[member.group_instance_id] = member.member_id
        self.pending_join.discard(member.member_id)

    def update(
        self,
        member: ClassicMember,
        protocols: tuple[GroupProtocol, ...],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """What a member says of itself when it joins again."""
        self._known.subtract({protocol.name for protocol in member.protocols})
        member.protocols = protocols
        self._known.update({protocol.name for protocol in protocols})
        self._known += Counter()  # drops the names nobody knows any more
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def replace_id(self, old_member_id: str, member_id: str) -> ClassicMember:
        """Give a static member a new member id; those who wait under the old one are fenced."""
        member = self._by_id.pop(old_member_id)
        assert member.group_instance_id is not None, "only static members are replaced"
        self.answer_join(old_member_id, join_error(old_member_id, Err.FENCED_INSTANCE_ID))
        self.answer_sync(old_member_id, sync_error(Err.FENCED_INSTANCE_ID))
        member.member_id = member_id
        self._by_id[member_id] = member
        self._member_id_of_instance[member.group_instance_id] = member_id
        if old_member_id in self.pending_sync:
            self.pending_sync.remove(old_member_id)
            self.pending_sync.add(member_id)
        return member

    def remove(self, member_id: str, err: Err) -> ClassicMember | None:
        """Forget a member, or one that was only given an id; `err` is told to whoever waits as it."""
        self.answer_join(member_id, join_error("", err))
        self.answer_sync(member_id, sync_error(err))
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)
        member = self._by_id.pop(member_id, None)
        if member is not None:
            self._known.subtract({protocol.name for protocol in member.protocols})
            self._known += Counter()
            if member.group_instance_id is not None:
                del self._member_id_of_instance[member.group_instance_id]
        return member

    # -- those who wait -------------------------------------------------------------------------

    def await_join(self, member_id: str, respond: JoinRespond) -> None:
        """Park a JoinGroup; an earlier one of the same member is answered."""
        self.answer_join(member_id, join_error(member_id, Err.REBALANCE_IN_PROGRESS))
        self.awaiting_join[member_id] = respond

    def await_sync(self, member_id: str, respond: SyncRespond) -> None:
        """Park a SyncGroup; an earlier one of the same member is answered."""
        self.answer_sync(member_id, sync_error(Err.REBALANCE_IN_PROGRESS))
        self.awaiting_sync[member_id] = respond

    def answer_join(self, member_id: str, response: JoinGroupResponse) -> bool:
        """Answer a parked JoinGroup, if there is one."""
        respond = self.awaiting_join.pop(member_id, None)
        if respond is not None:
            respond(response)
        return respond is not None

    def answer_sync(self, member_id: str, response: SyncGroupResponse) -> bool:
        """Answer a parked SyncGroup, if there is one."""
        respond = self.awaiting_sync.pop(member_id, None)
        if respond is not None:
            respond(response)
        return respond is not None

    def answer_all(self, err: Err) -> None:
        """Answer everybody who waits; the group is going away."""
        for member_id in tuple(self.awaiting_join):
            self.answer_join(member_id, join_error(member_id, err))
        for member_id in tuple(self.awaiting_sync):
            self.answer_sync(member_id, sync_error(err))


def join_error(member_id: str, err: Err) -> JoinGroupResponse:
    """A JoinGroup answer that says no."""
    return JoinGroupResponse(error_code=err, protocol_name=None, leader="", member_id=member_id)


def sync_error(err: Err) -> SyncGroupResponse:
    """A SyncGroup answer that says no."""
    return SyncGroupResponse(error_code=err, assignment=b"")
