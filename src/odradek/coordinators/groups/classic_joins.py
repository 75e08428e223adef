"""JoinGroup: who may come in, and what that sets off.

A dynamic member comes twice (from v4 on): first without a member id, to be given one with
MEMBER_ID_REQUIRED, then with it, so that a client that gives up before it has its answer leaves no ghost
behind (KIP-394). A static member (KIP-345) is known by its group instance id: when it starts again it gets
a new member id and keeps place and assignment, without a rebalance if the group is stable; whoever
uses the old member id is fenced. From v9 on a static leader that came back so is told to skip the
assignment (KIP-814); before, the answer names its old id as leader, to the same end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.classic_group import ClassicGroup, ClassicState
from odradek.coordinators.groups.classic_members import (
    ClassicMember,
    GroupProtocol,
    JoinRespond,
    join_error,
    protocols_of,
)
from odradek.coordinators.groups.classic_rebalance import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    NO_RECORDS,
    ClassicRebalances,
    joined,
)
from odradek.coordinators.groups.history import REASON_CHARS_MAX
from odradek.coordinators.shard import Outcome
from odradek.errors import Err
from odradek.protocol.messages.join_group import JoinGroupRequest

MEMBER_ID_REQUIRED_FROM: Final = 4
SKIP_ASSIGNMENT_FROM: Final = 9
_DONE: Final[Outcome[None]] = Outcome(NO_RECORDS, None)


class Joining(NamedTuple):
    """A JoinGroup request with where it came from and where its answer goes."""

    request: JoinGroupRequest
    client_id: str
    client_host: str
    version: int
    respond: JoinRespond
    protocols: tuple[GroupProtocol, ...]

    @classmethod
    def of(
        cls,
        request: JoinGroupRequest,
        client_id: str,
        client_host: str,
        version: int,
        respond: JoinRespond,
    ) -> Joining:
        """With the protocols taken out of the request."""
        protocols = protocols_of(request.protocols)
        return cls(request, client_id, client_host, version, respond, protocols)

    @property
    def rebalance_timeout_ms(self) -> int:
        """Before v1 there was one time-out for both."""
        asked = self.request.rebalance_timeout_ms
        return asked if asked >= 0 else self.request.session_timeout_ms

    @property
    def protocol_names(self) -> set[str]:
        """What the member could be assigned by."""
        return {protocol.name for protocol in self.protocols}

    def because(self, what: str) -> str:
        """The reason of a rebalance, with the client's own words if it gave any."""
        words = self.request.reason
        return f"{what}; client reason: {words[:REASON_CHARS_MAX]}" if words else what

    def refuse(self, err: Err, member_id: str | None = None) -> Outcome[None]:
        """Say no."""
        self.respond(join_error(self.request.member_id if member_id is None else member_id, err))
        return _DONE


class ClassicJoins:
    """Decides about JoinGroup on a group that exists."""

    def __init__(
        self,
        rebalances: ClassicRebalances,
        config: Callable[[], BrokerConfig],
        new_member_suffix: Callable[[], str],
    ) -> None:
        self._rebalances = rebalances
        self._config = config
        self._new_member_suffix = new_member_suffix

    def join(self, group: ClassicGroup, joining: Joining) -> Outcome[None]:
        """Let a member in, or let it join again; the answer comes through `joining.respond`."""
        request = joining.request
        if not self._has_room(group, request.member_id):
            self._rebalances.remove(group, request.member_id, Err.GROUP_MAX_SIZE_REACHED)
            joining.refuse(Err.GROUP_MAX_SIZE_REACHED, "")
            return Outcome(self._rebalances.maybe_complete(group), None)
        if group.state is ClassicState.DEAD:
            return joining.refuse(Err.COORDINATOR_NOT_AVAILABLE)
        if not group.supports(request.protocol_type, joining.protocol_names):
            return joining.refuse(Err.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            return self._join_known(group, joining)
        return self._join_unknown(group, joining)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        max_size = self._config().group_max_size
        members = group.members
        if group.state in (ClassicState.EMPTY, ClassicState.DEAD):
            return True
        if group.state is ClassicState.PREPARING_REBALANCE:
            # Those who have joined count: members that do not come back make room for others.
            return member_id in members.awaiting_join or len(members.awaiting_join) < max_size
        return member_id in members or len(members) < max_size

    # -- without a member id --------------------------------------------------------------------

    def _join_unknown(self, group: ClassicGroup, joining: Joining) -> Outcome[None]:
        instance_id = joining.request.group_instance_id
        name = joining.client_id if instance_id is None else instance_id
        member_id = f"{name}-{self._new_member_suffix()}"
        if instance_id is not None:
            old_member_id = group.members.static_member_id(instance_id)
            if old_member_id is not None:
                return self._replace_static(group, joining, instance_id, old_member_id, member_id)
        elif joining.version >= MEMBER_ID_REQUIRED_FROM:
            group.members.pending_join.add(member_id)
            self._rebalances.expect(group, member_id, joining.request.session_timeout_ms)
            return joining.refuse(Err.MEMBER_ID_REQUIRED, member_id)
        return self._add(group, joining, member_id)

    def _add(self, group: ClassicGroup, joining: Joining, member_id: str) -> Outcome[None]:
        request = joining.request
        member = ClassicMember(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=joining.client_id,
            client_host=joining.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=joining.protocols,
            is_new=True,
        )
        if group.in_initial_rebalance:
            group.new_member_added = True
        group.add(member, request.protocol_type)
        group.members.await_join(member_id, joining.respond)
        group.notes.joined(member_id)
        self._rebalances.keep_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        reason = joining.because(f"member {member_id} joined")
        return Outcome(self._rebalances.prepare_or_complete(group, reason), None)

    # -- with a member id -----------------------------------------------------------------------

    def _join_known(self, group: ClassicGroup, joining: Joining) -> Outcome[None]:
        request = joining.request
        if request.member_id in group.members.pending_join:
            if request.group_instance_id is not None:
                # Only dynamic members are given an id first; this one belongs to somebody else.
                return joining.refuse(Err.UNKNOWN_MEMBER_ID)
            return self._add(group, joining, request.member_id)
        err = group.check_member(request.member_id, request.group_instance_id)
        if err is not Err.NONE:
            return joining.refuse(err)
        if group.state is ClassicState.EMPTY:
            return joining.refuse(Err.UNKNOWN_MEMBER_ID)
        member = group.members[request.member_id]
        reason = self._reason_to_rebalance(group, joining, member)
        if reason is None:
            joining.respond(joined(group, member))
            return _DONE
        self._update(group, joining, member)
        return Outcome(self._rebalances.prepare_or_complete(group, joining.because(reason)), None)

    def _reason_to_rebalance(
        self, group: ClassicGroup, joining: Joining, member: ClassicMember
    ) -> str | None:
        """Why a member that joins again needs a rebalance; None when it only missed the answer."""
        if group.state is ClassicState.PREPARING_REBALANCE:
            return f"member {member.member_id} joined again"
        if group.state is ClassicState.STABLE and member.member_id == group.leader_id:
            # The way for a leader to say that something changed that only it watches, as topics.
            return f"leader {member.member_id} asked for a rebalance"
        if member.protocols != joining.protocols:
            return f"member {member.member_id} changed its metadata"
        return None

    def _update(self, group: ClassicGroup, joining: Joining, member: ClassicMember) -> None:
        group.members.update(
            member,
            joining.protocols,
            joining.rebalance_timeout_ms,
            joining.request.session_timeout_ms,
        )
        group.members.await_join(member.member_id, joining.respond)

    # -- a static member starts again -----------------------------------------------------------

    def _replace_static(
        self,
        group: ClassicGroup,
        joining: Joining,
        instance_id: str,
        old_member_id: str,
        member_id: str,
    ) -> Outcome[None]:
        old_leader_id = group.leader_id
        old = replace(group.members[old_member_id])
        self._rebalances.forget_session(group, old_member_id)
        member = group.replace_static_member(old_member_id, member_id)
        member.client_id, member.client_host = joining.client_id, joining.client_host
        self._update(group, joining, member)
        self._rebalances.keep_session(group, member)
        group.notes.replaced(instance_id, old_member_id, member_id)
        reason = joining.because(f"static member {instance_id} started again")
        if group.state is not ClassicState.STABLE:
            return Outcome(self._rebalances.prepare_or_complete(group, reason), None)
        if group.members.select_protocol() != group.protocol_name:
            reason += "; the protocol of the group changes"
            return Outcome(self._rebalances.prepare(group, reason), None)

        def written(err: Err) -> None:
            if err is not Err.NONE:
                self._restore_static(group, member, old, err)
            elif joining.version >= SKIP_ASSIGNMENT_FROM:
                is_leader = member_id == group.leader_id
                answer = joined(group, member, skip_assignment=is_leader)
                group.members.answer_join(member_id, answer)
            else:
                answer = joined(group, member, with_members=False, leader=old_leader_id)
                group.members.answer_join(member_id, answer)

        assignments = {each.member_id: each.assignment for each in group.members}
        return Outcome((group.record(assignments),), None, written)

    def _restore_static(
        self, group: ClassicGroup, member: ClassicMember, old: ClassicMember, err: Err
    ) -> None:
        """The log does not know the new member id: as if nothing had happened."""
        member_id = member.member_id
        if member_id not in group.members:
            return  # it was removed in the meantime
        group.members.answer_join(member_id, join_error("", err))
        self._rebalances.forget_session(group, member_id)
        group.members.update(
            member, old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms
        )
        group.replace_static_member(member_id, old.member_id)
        member.client_id, member.client_host = old.client_id, old.client_host
        self._rebalances.keep_session(group, member)
