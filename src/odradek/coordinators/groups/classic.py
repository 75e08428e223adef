"""The classic group protocol of one shard: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and the log.

Members balance themselves: the broker gathers them (JoinGroup), one of them, the leader, computes the
assignment, and the broker hands it out (SyncGroup). Assignors and their bytes are the clients' own
affair, so eager and cooperative rebalancing are the same to us.

What is replicated is the last assigned generation of each group. The leader's assignment becomes part of
it in `replay`, and nobody is given an assignment before the log has it, so after a crash no member holds
one that the coordinator does not know. Everything else, a rebalance in progress included, is soft state
(see `classic_group`). While the log is loaded, a record *is* the group; later it confirms what the
group wrote of itself.

Runs on the loop's thread, as everything of a shard; answers to JoinGroup and SyncGroup come through the
`respond` callback, at once or when the phase ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.classic_group import ClassicGroup, ClassicState
from odradek.coordinators.groups.classic_joins import ClassicJoins, Joining
from odradek.coordinators.groups.classic_members import JoinRespond, SyncRespond, sync_error
from odradek.coordinators.groups.classic_rebalance import (
    NO_RECORDS,
    ClassicRebalances,
    assigned,
)
from odradek.coordinators.groups.group import Group, GroupTable
from odradek.coordinators.groups.history import REASON_CHARS_MAX
from odradek.coordinators.shard import CoordinatorRecord, Outcome, ShardTimers
from odradek.errors import Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.messages.heartbeat import HeartbeatRequest
from odradek.protocol.messages.internal.group_metadata import GroupMetadataKey, GroupMetadataValue
from odradek.protocol.messages.join_group import JoinGroupRequest
from odradek.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from odradek.protocol.messages.sync_group import SyncGroupRequest

_DONE: Final[Outcome[None]] = Outcome(NO_RECORDS, None)


class ClassicGroups:
    """The classic groups of one shard."""

    def __init__(
        self,
        table: GroupTable,
        config: Callable[[], BrokerConfig],
        timers: ShardTimers,
        now_ms: Callable[[], int],
        new_member_suffix: Callable[[], str],
    ) -> None:
        self._table = table
        self._config = config
        self._now_ms = now_ms
        self._rebalances = ClassicRebalances(config, timers, now_ms)
        self._joins = ClassicJoins(self._rebalances, config, new_member_suffix)
        # Groups that are about to be written for the first time; `replay` puts them into the table.
        self._new: dict[str, ClassicGroup] = {}
        self._loading = True

    # -- JoinGroup ------------------------------------------------------------------------------

    def join(
        self,
        request: JoinGroupRequest,
        client_id: str,
        client_host: str,
        version: int,
        respond: JoinRespond,
    ) -> Outcome[None]:
        """Enter a group, or enter it again; an unknown group is created for a newcomer."""
        joining = Joining.of(request, client_id, client_host, version, respond)
        config = self._config()
        if not request.group_id:
            return joining.refuse(Err.INVALID_GROUP_ID)
        if not (
            config.group_min_session_timeout_ms
            <= request.session_timeout_ms
            <= config.group_max_session_timeout_ms
        ):
            return joining.refuse(Err.INVALID_SESSION_TIMEOUT)
        found = self._table.get(request.group_id)
        if isinstance(found, ClassicGroup):
            return self._joins.join(found, joining)
        if found is not None and not found.is_empty:
            return joining.refuse(Err.INCONSISTENT_GROUP_PROTOCOL, "")
        if request.member_id:
            return joining.refuse(Err.UNKNOWN_MEMBER_ID)
        return self._join_new_group(found, joining)

    def _join_new_group(self, replaced: Group | None, joining: Joining) -> Outcome[None]:
        """The first member of a group, or of what was an empty group of another kind."""
        group = ClassicGroup(joining.request.group_id)
        group.state_since_ms = self._now_ms()
        empty = group.record({})
        outcome = self._joins.join(group, joining)
        assert not outcome.records, "an empty group waits before anything else happens"
        if group.is_empty and not group.members.pending_join:
            return _DONE  # refused
        self._new[group.group_id] = group

        def written(err: Err) -> None:
            if err is not Err.NONE:
                self._new.pop(group.group_id, None)
                self._rebalances.retire(group, err)
                if self._table.get(group.group_id) is group:
                    self._table.remove(group.group_id)

        before = tuple(replaced.tombstones()) if replaced is not None else NO_RECORDS
        return Outcome((*before, empty), None, written)

    # -- SyncGroup ------------------------------------------------------------------------------

    def sync(self, request: SyncGroupRequest, respond: SyncRespond) -> Outcome[None]:
        """Bring the assignment, or wait for one's part of it."""
        if not request.group_id:
            respond(sync_error(Err.INVALID_GROUP_ID))
            return _DONE
        group = self._find(request.group_id)
        err = Err.UNKNOWN_MEMBER_ID if group is None else _check_sync(group, request)
        if group is None or err is not Err.NONE:
            respond(sync_error(err))
            return _DONE
        member = group.members[request.member_id]
        self._rebalances.synced(group, member.member_id)
        if group.state is ClassicState.STABLE:
            respond(assigned(group, member))
            return _DONE
        assert group.state is ClassicState.COMPLETING_REBALANCE
        group.members.await_sync(member.member_id, respond)
        if member.member_id != group.leader_id or group.writing_generation == group.generation:
            return _DONE
        return self._assign(group, request)

    def _assign(self, group: ClassicGroup, request: SyncGroupRequest) -> Outcome[None]:
        """Write the leader's assignment; once the log has it, everybody is given theirs."""
        generation = group.writing_generation = group.generation
        assignments = {each.member_id: bytes(each.assignment) for each in request.assignments}

        def written(err: Err) -> None:
            if (
                group.state is not ClassicState.COMPLETING_REBALANCE
                or generation != group.generation
            ):
                return  # somebody joined or left in the meantime, and all were told
            if err is Err.NONE:
                self._rebalances.publish_assignment(group)
                return
            self._rebalances.drop_assignment(group, err)
            # Nobody has joined again yet, so there is nothing to write.
            records = self._rebalances.prepare(group, f"the assignment was not written: {err.name}")
            assert not records

        return Outcome((group.record(assignments),), None, written)

    # -- Heartbeat ------------------------------------------------------------------------------

    def heartbeat(self, request: HeartbeatRequest) -> Outcome[Err]:
        """A member lives; tell it whether to join again."""
        return Outcome(NO_RECORDS, self._heartbeat(request))

    def _heartbeat(self, request: HeartbeatRequest) -> Err:
        if not request.group_id:
            return Err.INVALID_GROUP_ID
        group = self._find(request.group_id)
        if group is None:
            return Err.UNKNOWN_MEMBER_ID
        if group.state is ClassicState.DEAD:
            return Err.COORDINATOR_NOT_AVAILABLE
        err = group.check_member(request.member_id, request.group_instance_id)
        if err is not Err.NONE:
            return err
        if request.generation_id != group.generation:
            return Err.ILLEGAL_GENERATION
        self.keep_session(group, request.member_id)
        if group.state is ClassicState.PREPARING_REBALANCE:
            return Err.REBALANCE_IN_PROGRESS
        return Err.NONE

    def keep_session(self, group: ClassicGroup, member_id: str) -> None:
        """A member has been heard of: by a heartbeat, or because it committed offsets."""
        member = group.members.get(member_id)
        if member is not None:
            self._rebalances.keep_session(group, member)

    # -- LeaveGroup -----------------------------------------------------------------------------

    def leave(self, request: LeaveGroupRequest) -> Outcome[LeaveGroupResponse]:
        """Members leave, or an administrator removes static ones by their instance ids."""
        if not request.group_id:
            return Outcome(NO_RECORDS, LeaveGroupResponse(error_code=Err.INVALID_GROUP_ID))
        leaving = request.members
        group = self._find(request.group_id)
        if group is None:
            rows = [_left(each, Err.UNKNOWN_MEMBER_ID) for each in leaving]
            return Outcome(NO_RECORDS, LeaveGroupResponse(error_code=Err.NONE, members=rows))
        if group.state is ClassicState.DEAD:
            return Outcome(NO_RECORDS, LeaveGroupResponse(error_code=Err.COORDINATOR_NOT_AVAILABLE))
        members_before = len(group.members)
        rows = [_left(each, self._remove_leaving(group, each)) for each in leaving]
        gone = members_before - len(group.members)
        records = (
            self._rebalances.after_removal(group, _leave_reason(leaving, gone))
            if gone
            else self._rebalances.maybe_complete(
                group
            )  # may have waited for one that had only an id
        )
        return Outcome(records, LeaveGroupResponse(error_code=Err.NONE, members=rows))

    def _remove_leaving(self, group: ClassicGroup, leaving: MemberIdentity) -> Err:
        member_id, instance_id = leaving.member_id, leaving.group_instance_id
        if not member_id:
            current = None if instance_id is None else group.members.static_member_id(instance_id)
            if current is None:
                return Err.UNKNOWN_MEMBER_ID
            member_id = current
        elif member_id not in group.members.pending_join:
            err = group.check_member(member_id, instance_id)
            if err is not Err.NONE:
                return err
        if member_id in group.members:
            group.notes.left(member_id)
        self._rebalances.remove(group, member_id, Err.UNKNOWN_MEMBER_ID)
        return Err.NONE

    # -- the log, and life ----------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a GroupMetadata record."""
        assert isinstance(record.key, GroupMetadataKey)
        group_id, value = record.key.group, record.value
        found = self._table.get(group_id)
        if value is None:
            if isinstance(found, ClassicGroup):
                self._rebalances.retire(found, Err.UNKNOWN_MEMBER_ID)
                self._table.remove(group_id)
            return
        assert isinstance(value, GroupMetadataValue)
        new = self._new.pop(group_id, None)
        if new is not None:
            self._table.put(new)
        elif self._loading or not isinstance(found, ClassicGroup):
            group = ClassicGroup.restored(group_id, value)
            self._table.put(group)
            if not self._loading:
                self._watch(group)
        else:
            found.confirm(value)

    def on_loaded(self, image: MetadataImage) -> Outcome[None]:
        """The members that the log knows have one session time-out to be heard of."""
        self._loading = False
        for group in self._table:
            if isinstance(group, ClassicGroup):
                self._watch(group)
                if len(group.members) > self._config().group_max_size:
                    # Nobody has joined again yet, so there is nothing to write.
                    records = self._rebalances.prepare(group, "the group is larger than allowed")
                    assert not records
        return _DONE

    def _watch(self, group: ClassicGroup) -> None:
        for member in group.members:
            self._rebalances.keep_session(group, member)

    def on_metadata(self, image: MetadataImage) -> Outcome[None]:
        """The leader of a group watches its topics, not the broker."""
        return _DONE

    def on_unloaded(self) -> None:
        """Another broker coordinates these groups now: send everybody there."""
        for group in self._table:
            if isinstance(group, ClassicGroup):
                self._rebalances.retire(group, Err.NOT_COORDINATOR)

    # -- for migration between protocols ----------------------------------------------------------

    def rebalance(self, group: ClassicGroup, reason: str) -> Outcome[None]:
        """Make the members join again."""
        return Outcome(self._rebalances.prepare_or_complete(group, reason), None)

    def retire(self, group: ClassicGroup, err: Err) -> None:
        """Answer everybody who waits with `err`; the group is dead and its timers are gone."""
        self._rebalances.retire(group, err)

    def _find(self, group_id: str) -> ClassicGroup | None:
        group = self._table.get(group_id)
        return group if isinstance(group, ClassicGroup) else None


def _check_sync(group: ClassicGroup, request: SyncGroupRequest) -> Err:
    if group.state is ClassicState.DEAD:
        return Err.COORDINATOR_NOT_AVAILABLE
    err = group.check_member(request.member_id, request.group_instance_id)
    if err is not Err.NONE:
        return err
    if request.generation_id != group.generation:
        return Err.ILLEGAL_GENERATION
    if _differ(request.protocol_type, group.type_of_members) or _differ(
        request.protocol_name, group.protocol_name
    ):
        return Err.INCONSISTENT_GROUP_PROTOCOL
    if group.state is ClassicState.PREPARING_REBALANCE:
        return Err.REBALANCE_IN_PROGRESS
    return Err.NONE


def _differ(asked: str | None, ours: str | None) -> bool:
    return asked is not None and ours is not None and asked != ours


def _left(leaving: MemberIdentity, err: Err) -> MemberResponse:
    return MemberResponse(
        member_id=leaving.member_id,
        group_instance_id=leaving.group_instance_id,
        error_code=err,
    )


def _leave_reason(leaving: list[MemberIdentity], gone: int) -> str:
    words = next((each.reason for each in leaving if each.reason), None)
    who = leaving[0].member_id or leaving[0].group_instance_id if gone == 1 else None
    text = f"member {who} left" if who is not None else f"{gone} members left"
    return f"{text}; client reason: {words[:REASON_CHARS_MAX]}" if words else text
