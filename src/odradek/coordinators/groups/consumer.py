"""The consumer group protocol (KIP-848): one request carries all of a member's life.

    join (epoch 0) ──► heartbeats (its epoch; what changed; what it owns) ──► leave (-1), or step out (-2)

The answer to a heartbeat tells the member its epoch and, when it changed, its assignment. The broker computes
who shall own what; members only report. `GroupUpdate` holds the rules of a step; here is who may take one,
and what happens when somebody is silent: a member is removed when no heartbeat comes within the session
time-out, or when it does not give up partitions within its rebalance time-out.

**Pace.** Members are told how soon to come again. While a member waits for partitions that others hold, or
its group has only just changed, it is told a fraction of the interval: a rebalance of many members then takes
the time of a few short steps instead of a few whole heartbeats.

Pure: handlers read, `replay` changes. Timers are soft state, set up again by `on_loaded`. A member whose
join could not be written has a timer that finds nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups import consumer_records as records_of
from odradek.coordinators.groups import consumer_replay
from odradek.coordinators.groups.assignors import ASSIGNORS
from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.consumer_describe import described
from odradek.coordinators.groups.consumer_group import ConsumerGroup
from odradek.coordinators.groups.consumer_members import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    NOTHING_OWNED,
    Member,
    MemberState,
    Target,
    listed,
    reported,
    with_epoch,
    without_epochs,
)
from odradek.coordinators.groups.consumer_requests import (
    check_epoch,
    check_heartbeat,
    is_full,
    updated_member,
)
from odradek.coordinators.groups.consumer_settings import ConsumerSettings, GroupSettings
from odradek.coordinators.groups.consumer_timers import MemberTimers
from odradek.coordinators.groups.consumer_update import GroupUpdate, Surroundings
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.groups.migration import downgrade, is_downgrade_due, upgrade
from odradek.coordinators.groups.subscriptions import Patterns
from odradek.coordinators.shard import CoordinatorRecord, Outcome, ShardTimers
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.messages.consumer_group_describe import DescribedGroup
from odradek.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)

NO_OUTCOME: Final[Outcome[None]] = Outcome((), None)
# While something is under way, members come so many times as often.
PACE_WHILE_CHANGING: Final = 5

Heartbeat = Outcome[ConsumerGroupHeartbeatResponse]


class ConsumerGroups:
    """The consumer groups of one shard."""

    def __init__(
        self,
        table: GroupTable,
        config: Callable[[], BrokerConfig],
        timers: ShardTimers,
        now_ms: Callable[[], int],
        image: Callable[[], MetadataImage],
        new_member_id: Callable[[], str],
    ) -> None:
        self._table = table
        self._config = config
        self.timers: Final = MemberTimers(timers, self.fence_silent)
        # Told when a group has become a classic one, with the reason.
        self.on_downgraded: Callable[[ClassicGroup, str], None] = lambda group, reason: None
        self._now_ms = now_ms
        self._new_member_id = new_member_id
        self._image = image
        self._settings = GroupSettings(config)
        self._patterns = Patterns()

    # -- requests ------------------------------------------------------------------------------

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client_id: str,
        client_host: str,
        api_version: int = 1,
    ) -> Heartbeat:
        """Answer a member; ApiError when it is refused."""
        check_heartbeat(request, api_version, self._config().group_consumer_assignors)
        if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
            return self._leave(request)
        group_id = request.group_id
        records: list[CoordinatorRecord] = []
        group = self._group_for(group_id, request.member_epoch == JOIN_EPOCH, records)
        self.check_room(group, request.member_id)
        settings = self._settings.of(group_id, self._image())
        update = self.new_update(group, records, settings)
        owned = reported(request.topic_partitions)
        before = self._member_of(update, request, owned)
        after = updated_member(before, request, client_id, client_host)
        member = update.put_member(before, after, owned)
        self.timers.begin_session(group_id, member.member_id, settings.session_timeout_ms)
        self._watch_revocation(group_id, member, before)
        reply = ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self._pace(update, member, settings),
        )
        if (
            request.member_epoch == JOIN_EPOCH
            or is_full(request)
            or before.assigned != member.assigned
        ):
            reply.assignment = Assignment(
                topic_partitions=listed(
                    member.assigned, ConsumerGroupHeartbeatResponseTopicPartitions
                )
            )
        return Outcome(tuple(records), reply, partial(self.after_write, update))

    def describe(self, group_id: str) -> DescribedGroup:
        """The group for administrators; its error when it is no consumer group."""
        group = self._table.get(group_id)
        if not isinstance(group, ConsumerGroup):
            found = "is not a consumer group" if group is not None else "not found"
            return DescribedGroup(
                group_id=group_id,
                error_code=Err.GROUP_ID_NOT_FOUND,
                error_message=f"Group {group_id} {found}.",
            )
        return described(group, self._default_assignor(), self._image())

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> Heartbeat:
        group = self._table.get(request.group_id)
        if not isinstance(group, ConsumerGroup):
            raise _no_group(request.group_id)
        if request.instance_id is None:
            member = group.member(request.member_id)
        else:
            member = self.static_member(group, request.instance_id, request.member_id)
        reply = ConsumerGroupHeartbeatResponse(
            member_id=member.member_id, member_epoch=request.member_epoch
        )
        if request.member_epoch == LEAVE_STATIC_EPOCH:
            # It keeps its partitions until it is back or its session ends.
            waiting = replace(
                member,
                member_epoch=LEAVE_STATIC_EPOCH,
                assigned=with_epoch(without_epochs(member.assigned), 0),
                pending_revocation=NOTHING_OWNED,
            )
            return Outcome((records_of.current_assignment(group.group_id, waiting),), reply)
        records, then = self.fence(group, [member], f"member {member.member_id} left")
        return Outcome(records, reply, then)

    # -- who may speak -------------------------------------------------------------------------

    def _group_for(
        self, group_id: str, joining: bool, records: list[CoordinatorRecord]
    ) -> ConsumerGroup:
        """The group; a new one, or one that takes the place of a classic group, for who joins."""
        group = self._table.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if not joining:
            raise _no_group(group_id)
        if group is None or group.is_empty:
            records.extend(group.tombstones() if group is not None else ())
            return ConsumerGroup(group_id)
        if not isinstance(group, ClassicGroup):
            raise _no_group(group_id)
        upgraded, converted = upgrade(group, self._config(), self._image())
        # Members in the middle of a rebalance join again, and then join the consumer group.
        group.members.answer_all(Err.REBALANCE_IN_PROGRESS)
        for member in upgraded.members.values():
            self._resume(group_id, member)
        records.extend(converted)
        return upgraded

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        """ApiError(GROUP_MAX_SIZE_REACHED) when a new member would be one too many."""
        size_max = self._config().group_consumer_max_size
        if len(group.members) >= size_max and member_id not in group.members:
            raise ApiError(
                Err.GROUP_MAX_SIZE_REACHED, f"the group has its {size_max} members already"
            )

    def static_member(self, group: ConsumerGroup, instance_id: str, member_id: str) -> Member:
        """The member behind a fixed name; ApiError when it is unknown or somebody else."""
        member = group.static_member(instance_id)
        if member is None:
            raise ApiError(Err.UNKNOWN_MEMBER_ID, f"no member has the instance id {instance_id}")
        if member.member_id != member_id:
            raise ApiError(
                Err.FENCED_INSTANCE_ID,
                f"the instance id {instance_id} belongs to member {member.member_id}",
            )
        return member

    def _member_of(
        self, update: GroupUpdate, request: ConsumerGroupHeartbeatRequest, owned: Target | None
    ) -> Member:
        """The member as it was before this request."""
        group, epoch, instance_id = update.group, request.member_epoch, request.instance_id
        member_id = request.member_id or self._new_member_id()
        joining = epoch == JOIN_EPOCH
        if instance_id is None:
            found = group.members.get(member_id)
            if found is None:
                return Member(member_id) if joining else group.member(member_id)
        elif joining:
            known = group.static_member(instance_id)
            if known is None:
                return group.members.get(member_id) or Member(member_id)
            has_left = known.uses_classic_protocol or known.member_epoch == LEAVE_STATIC_EPOCH
            if not has_left and known.member_id == member_id:
                return known  # It is the same one, which was fenced and starts over.
            if not has_left:
                raise ApiError(
                    Err.UNRELEASED_INSTANCE_ID,
                    f"the instance id {instance_id} is in use by member {known.member_id}",
                )
            return update.replace_static(known, member_id)
        else:
            found = self.static_member(group, instance_id, member_id)
        check_epoch(found, epoch, owned)
        return found

    # -- steps ---------------------------------------------------------------------------------

    def new_update(
        self,
        group: ConsumerGroup,
        records: list[CoordinatorRecord],
        settings: ConsumerSettings | None = None,
    ) -> GroupUpdate:
        """Begin a step of a group, whose records are added to `records`."""
        settings = settings or self._settings.of(group.group_id, self._image())
        around = Surroundings(
            image=self._image(),
            patterns=self._patterns,
            now_ms=self._now_ms(),
            assignment_interval_ms=settings.assignment_interval_ms,
            regex_refresh_interval_ms=self._config().group_consumer_regex_refresh_interval_ms,
            default_assignor=self._default_assignor(),
        )
        return GroupUpdate(group, around, records)

    def after_write(self, update: GroupUpdate, err: Err) -> None:
        """The records of a step are in the log, or not."""
        group = self._table.get(update.group.group_id)
        if err is Err.NONE and isinstance(group, ConsumerGroup):
            update.written(group)

    def fence(
        self,
        group: ConsumerGroup,
        members: Collection[Member],
        reason: str,
        *,
        timed_out: bool = False,
    ) -> tuple[tuple[CoordinatorRecord, ...], Callable[[Err], None]]:
        """Remove members: the records, and what to do once they are written."""
        for member in members:
            self.timers.forget(group.group_id, member.member_id)
        if is_downgrade_due(group, members, self._config()):
            return self._downgrade(group, members, reason)
        records: list[CoordinatorRecord] = []
        update = self.new_update(group, records)
        update.remove_members(members, reason, timed_out=timed_out)
        return tuple(records), partial(self.after_write, update)

    def _downgrade(
        self, group: ConsumerGroup, leaving: Collection[Member], reason: str
    ) -> tuple[tuple[CoordinatorRecord, ...], Callable[[Err], None]]:
        """Make a classic group of the members that stay, all of which speak that protocol."""
        members = tuple(group.members)

        def written(err: Err) -> None:
            classic = self._table.get(group.group_id)
            if err is Err.NONE and isinstance(classic, ClassicGroup):
                for member_id in members:
                    self.timers.forget(group.group_id, member_id)
                self.on_downgraded(classic, f"{reason}: only classic members are left")

        return tuple(downgrade(group, leaving, self._image(), self._now_ms())), written

    def maybe_downgrade_soon(self, group_id: str) -> None:
        """A classic member has taken the place of another: perhaps only such are left."""
        group = self._table.get(group_id)
        if isinstance(group, ConsumerGroup) and is_downgrade_due(group, (), self._config()):
            self.timers.soon("downgrade", group_id, partial(self._downgrade_now, group_id))

    def _downgrade_now(self, group_id: str) -> Outcome[None]:
        group = self._table.get(group_id)
        if not isinstance(group, ConsumerGroup) or not is_downgrade_due(group, (), self._config()):
            return NO_OUTCOME
        records, then = self._downgrade(group, (), "a static member changed its protocol")
        return Outcome(records, None, then)

    def _default_assignor(self) -> str:
        """The first of the broker's list that there is."""
        configured = self._config().group_consumer_assignors
        return next((name for name in configured if name in ASSIGNORS), next(iter(ASSIGNORS)))

    def _pace(self, update: GroupUpdate, member: Member, settings: ConsumerSettings) -> int:
        interval_ms = settings.heartbeat_interval_ms
        changing = (
            member.state is MemberState.UNRELEASED_PARTITIONS
            or update.group_epoch > update.target_epoch
            or update.group_epoch != update.group.group_epoch
            or self._now_ms() < update.group.epoch_changed_ms + interval_ms
        )
        return max(interval_ms // PACE_WHILE_CHANGING, 1) if changing else interval_ms

    # -- silence -------------------------------------------------------------------------------

    def fence_silent(self, group_id: str, member_id: str, why: str) -> Outcome[None]:
        """Remove a member that did not do what it should have in time, if it is there."""
        group = self._table.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None:
            return NO_OUTCOME
        records, then = self.fence(group, [member], f"member {member_id} {why}", timed_out=True)
        return Outcome(records, None, then)

    def _watch_revocation(self, group_id: str, member: Member, before: Member) -> None:
        """A member that has to give up partitions has its rebalance time-out to do so."""
        member_id, epoch = member.member_id, member.member_epoch
        if member.state is not MemberState.UNREVOKED_PARTITIONS:
            if before.state is MemberState.UNREVOKED_PARTITIONS:
                self.timers.revoked(group_id, member_id)
        elif before.pending_revocation != member.pending_revocation:
            self.timers.await_revocation(
                group_id,
                member_id,
                member.rebalance_timeout_ms,
                partial(self._revocation_over, group_id, member_id, epoch),
            )

    def _revocation_over(self, group_id: str, member_id: str, epoch: int) -> Outcome[None]:
        group = self._table.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or member.member_epoch != epoch:
            return NO_OUTCOME
        return self.fence_silent(group_id, member_id, "did not give up its partitions in time")

    # -- as a part of the shard ----------------------------------------------------------------

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record of the log."""
        consumer_replay.replay(self._table, record)

    def on_loaded(self, image: MetadataImage) -> Outcome[None]:
        """Begin the sessions of all members."""
        for group in self._table:
            if isinstance(group, ConsumerGroup):
                for member in group.members.values():
                    self._resume(group.group_id, member)
        return NO_OUTCOME

    def _resume(self, group_id: str, member: Member) -> None:
        timeout_ms = (
            member.classic.session_timeout_ms
            if member.classic is not None
            else self._settings.of(group_id, self._image()).session_timeout_ms
        )
        self.timers.begin_session(group_id, member.member_id, timeout_ms)
        if not member.uses_classic_protocol:
            self._watch_revocation(group_id, member, Member(member.member_id))

    def on_metadata(self, image: MetadataImage) -> Outcome[None]:
        """Nothing at once: each group looks at its topics with its next heartbeat."""
        return NO_OUTCOME

    def on_unloaded(self) -> None:
        """Nobody waits for an answer here."""


def _no_group(group_id: str) -> ApiError:
    return ApiError(Err.GROUP_ID_NOT_FOUND, f"there is no consumer group {group_id}")
