"""How a classic group gets from one generation to the next, and the timers behind it.

1. **Prepare**: somebody joins, leaves or falls silent. Members learn of it by their next heartbeat and join
   again; each JoinGroup is parked. An empty group waits `group.initial.rebalance.delay.ms` for company, and
   as long again when somebody came, within the rebalance time-out. Otherwise the phase ends when all have
   joined, or when the longest rebalance time-out of the members is over: dynamic members that did not come
   are removed, static ones keep their place until their session ends.
2. **Complete**: the generation grows, all parked joins are answered, the leader with the list of members.
   Members ask for their assignment (SyncGroup) and are parked until the leader has sent it and the log
   has taken it. Those that do not ask within the rebalance time-out are removed, which begins the next
   rebalance.

Nobody waits for ever: behind parked joins stands the timer of the join phase (and, for those that have
never been members, `NEW_MEMBER_JOIN_TIMEOUT_MS`), behind parked syncs the timer of the sync phase. While
members are parked their session does not end; it begins anew with the answer.

The functions here return the records to write; they change only what lives in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.classic_group import ClassicGroup, ClassicState
from odradek.coordinators.groups.classic_members import ClassicMember, sync_error
from odradek.coordinators.shard import CoordinatorRecord, Outcome, ShardTimers
from odradek.errors import Err
from odradek.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from odradek.protocol.messages.sync_group import SyncGroupResponse

Records = tuple[CoordinatorRecord, ...]
NO_RECORDS: Final[Records] = ()

# A member that joins for the first time cannot send heartbeats, and while its request is parked nobody
# reads its socket. It may be long gone; after Kafka's five minutes it is asked to try again.
NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000


class ClassicRebalances:
    """Moves groups through their states; one per shard."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        timers: ShardTimers,
        now_ms: Callable[[], int],
    ) -> None:
        self._config = config
        self._timers = timers
        self._now_ms = now_ms

    # -- join phase -----------------------------------------------------------------------------

    def prepare_or_complete(self, group: ClassicGroup, reason: str) -> Records:
        """Somebody came or went: begin a rebalance, or see whether the one under way is complete."""
        if group.can_rebalance:
            return self.prepare(group, reason)
        return self.maybe_complete(group)

    def prepare(self, group: ClassicGroup, reason: str) -> Records:
        """Begin a rebalance: members that wait for an assignment are sent to join again."""
        now_ms = self._now_ms()
        group.notes.start(now_ms, reason)
        if group.state is ClassicState.COMPLETING_REBALANCE:
            self.drop_assignment(group, Err.REBALANCE_IN_PROGRESS)
        self._timers.cancel(_sync_key(group))
        is_initial = group.is_empty
        group.transition_to(ClassicState.PREPARING_REBALANCE, now_ms)
        if is_initial:
            delay_ms = self._config().group_initial_rebalance_delay_ms
            left_ms = max(group.members.rebalance_timeout_ms - delay_ms, 0)
            self._schedule_initial(group, delay_ms, left_ms)
            return NO_RECORDS
        if group.members.all_joined:
            return self._complete(group)
        self._schedule_join_end(group)
        return NO_RECORDS

    def maybe_complete(self, group: ClassicGroup) -> Records:
        """End the join phase if nobody is missing; the initial delay is waited for in any case."""
        if (
            group.state is ClassicState.PREPARING_REBALANCE
            and not group.in_initial_rebalance
            and group.members.all_joined
        ):
            return self._complete(group)
        return NO_RECORDS

    def _schedule_initial(self, group: ClassicGroup, delay_ms: int, left_ms: int) -> None:
        self._timers.schedule(
            _join_key(group),
            delay_ms,
            lambda: Outcome(self._initial_delay_over(group, delay_ms, left_ms), None),
        )

    def _initial_delay_over(self, group: ClassicGroup, delay_ms: int, left_ms: int) -> Records:
        if group.state is not ClassicState.PREPARING_REBALANCE:
            return NO_RECORDS
        if not group.new_member_added or left_ms == 0:
            return self._complete(group)
        group.new_member_added = False
        next_ms = min(self._config().group_initial_rebalance_delay_ms, left_ms)
        self._schedule_initial(group, next_ms, max(left_ms - delay_ms, 0))
        return NO_RECORDS

    def _schedule_join_end(self, group: ClassicGroup) -> None:
        self._timers.schedule(
            _join_key(group),
            group.members.rebalance_timeout_ms,
            lambda: Outcome(self._join_time_over(group), None),
        )

    def _join_time_over(self, group: ClassicGroup) -> Records:
        if group.state is not ClassicState.PREPARING_REBALANCE:
            return NO_RECORDS
        return self._complete(group)

    def _complete(self, group: ClassicGroup) -> Records:
        """The join phase is over: the next generation begins."""
        self._timers.cancel(_join_key(group))
        for member in group.members.missing():
            if not member.is_static:
                group.notes.timed_out(member.member_id)
                self.remove(group, member.member_id, Err.UNKNOWN_MEMBER_ID)
        if len(group.members) and not group.elect_joined_leader():
            # Only static members are left and none has come: their sessions decide.
            self._schedule_join_end(group)
            return NO_RECORDS
        group.begin_generation(self._now_ms())
        if group.is_empty:
            return (group.record({}),)
        for member in group.members:
            member.is_new = False
            group.members.pending_sync.add(member.member_id)
            group.members.answer_join(member.member_id, joined(group, member))
            self.keep_session(group, member)
        self._schedule_sync_end(group)
        return NO_RECORDS

    # -- sync phase -----------------------------------------------------------------------------

    def _schedule_sync_end(self, group: ClassicGroup) -> None:
        generation = group.generation
        self._timers.schedule(
            _sync_key(group),
            group.members.rebalance_timeout_ms,
            lambda: Outcome(self._sync_time_over(group, generation), None),
        )

    def _sync_time_over(self, group: ClassicGroup, generation: int) -> Records:
        in_phase = group.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE)
        if not in_phase or generation != group.generation or not group.members.pending_sync:
            return NO_RECORDS
        late = sorted(group.members.pending_sync)
        for member_id in late:
            group.notes.timed_out(member_id)
            self.remove(group, member_id, Err.UNKNOWN_MEMBER_ID)
        return self.prepare(
            group, f"{_count(late, 'member')} did not ask for an assignment in time"
        )

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """A member has asked for its assignment; when all have, nobody needs to be timed."""
        group.members.pending_sync.discard(member_id)
        if not group.members.pending_sync:
            self._timers.cancel(_sync_key(group))

    def publish_assignment(self, group: ClassicGroup) -> None:
        """The log has the assignment: the group is stable, answer those who wait for it."""
        group.transition_to(ClassicState.STABLE, self._now_ms())
        for member in group.members:
            if group.members.answer_sync(member.member_id, assigned(group, member)):
                self.keep_session(group, member)

    def drop_assignment(self, group: ClassicGroup, err: Err) -> None:
        """There will be no assignment in this generation: tell those who wait for it."""
        for member in group.members:
            member.assignment = b""
            if group.members.answer_sync(member.member_id, sync_error(err)):
                self.keep_session(group, member)

    # -- sessions -------------------------------------------------------------------------------

    def keep_session(
        self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None
    ) -> None:
        """The member has shown that it lives: its session begins anew."""
        self.expect(
            group,
            member.member_id,
            member.session_timeout_ms if timeout_ms is None else timeout_ms,
        )

    def expect(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Remove a member, or one that was only given an id, unless it is heard of in time."""
        self._timers.schedule(
            _session_key(group, member_id),
            timeout_ms,
            lambda: Outcome(self._session_over(group, member_id), None),
        )

    def _session_over(self, group: ClassicGroup, member_id: str) -> Records:
        members = group.members
        if group.state is ClassicState.DEAD:
            return NO_RECORDS
        if member_id in members.pending_join:
            self.remove(group, member_id, Err.UNKNOWN_MEMBER_ID)
            return self.maybe_complete(group)
        member = members.get(member_id)
        if member is None:
            return NO_RECORDS
        is_parked = member_id in members.awaiting_join or member_id in members.awaiting_sync
        if is_parked and not member.is_new:
            return NO_RECORDS  # the broker is late, not the member
        group.notes.timed_out(member_id)
        self.remove(group, member_id, Err.UNKNOWN_MEMBER_ID)
        return self.after_removal(group, f"member {member_id} was silent for its session time-out")

    def forget_session(self, group: ClassicGroup, member_id: str) -> None:
        """Stop waiting for a sign of this member id."""
        self._timers.cancel(_session_key(group, member_id))

    # -- members go -----------------------------------------------------------------------------

    def remove(self, group: ClassicGroup, member_id: str, err: Err) -> None:
        """Forget a member and its timer; call `after_removal` once all that go are gone."""
        self.forget_session(group, member_id)
        group.remove(member_id, err)

    def after_removal(self, group: ClassicGroup, reason: str) -> Records:
        """What the absence of a member sets off."""
        if group.is_empty or group.state is ClassicState.DEAD:
            return NO_RECORDS
        return self.prepare_or_complete(group, reason)

    def retire(self, group: ClassicGroup, err: Err) -> None:
        """The group goes away: answer everybody, stop its timers."""
        group.members.answer_all(err)
        self._timers.cancel(_join_key(group))
        self._timers.cancel(_sync_key(group))
        for member_id in (*(m.member_id for m in group.members), *group.members.pending_join):
            self.forget_session(group, member_id)
        if group.state is not ClassicState.DEAD:
            group.transition_to(ClassicState.DEAD, self._now_ms())


# -- answers ------------------------------------------------------------------------------------


def joined(
    group: ClassicGroup,
    member: ClassicMember,
    *,
    with_members: bool | None = None,
    leader: str | None = None,
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """The current generation as JoinGroup tells a member of it; the leader sees all members."""
    is_leader = member.member_id == group.leader_id
    shown = group.members if (is_leader if with_members is None else with_members) else ()
    return JoinGroupResponse(
        error_code=Err.NONE,
        generation_id=group.generation,
        protocol_type=group.type_of_members,
        protocol_name=group.protocol_name,
        leader=(group.leader_id if leader is None else leader) or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                metadata=each.metadata(group.protocol_name),
            )
            for each in shown
        ],
    )


def assigned(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    """A member's part of the current assignment."""
    return SyncGroupResponse(
        error_code=Err.NONE,
        protocol_type=group.type_of_members,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def _count(names: list[str], noun: str) -> str:
    return f"{noun} {names[0]}" if len(names) == 1 else f"{len(names)} {noun}s"


# -- keys of timers; a group id may contain anything, so its length comes first -------------------


def _session_key(group: ClassicGroup, member_id: str) -> str:
    return f"classic-session-{len(group.group_id)}-{group.group_id}-{member_id}"


def _join_key(group: ClassicGroup) -> str:
    return f"classic-join-{group.group_id}"


def _sync_key(group: ClassicGroup) -> str:
    return f"classic-sync-{group.group_id}"
