"""Members that speak the classic protocol in groups of the consumer protocol.

`BilingualGroups` answers JoinGroup, SyncGroup, Heartbeat and LeaveGroup whatever the group is. A classic
group is served as ever. In a consumer group, a classic member is a member like any other whose steps are
spread over three requests:

- JoinGroup brings its subscription and what it owns, takes a step (`GroupUpdate`) and answers at once. There
  is no leader: the broker assigns.
- SyncGroup fetches what the step gave it.
- Heartbeat keeps the session alive, and sends it to join again when there is a newer target, something to
  give up, or something that has become free for it.

When the last member of the consumer protocol goes, the group becomes a classic one (`migration`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.classic import ClassicGroups
from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.classic_joins import Joining
from odradek.coordinators.groups.classic_members import JoinRespond, SyncRespond, sync_error
from odradek.coordinators.groups.consumer import NO_OUTCOME, ConsumerGroups
from odradek.coordinators.groups.consumer_group import ConsumerGroup
from odradek.coordinators.groups.consumer_members import (
    CONSUMER_PROTOCOL_TYPE,
    Member,
    MemberState,
)
from odradek.coordinators.groups.consumer_update import GroupUpdate
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.groups.migration import (
    classic_members_allowed,
    classic_metadata,
    owned_partitions,
    read_subscription,
    write_assignment,
)
from odradek.coordinators.shard import CoordinatorRecord, Outcome, ShardTimers
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.codec import DecodeError
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.messages.heartbeat import HeartbeatRequest
from odradek.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from odradek.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from odradek.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

# From this version on a newcomer is given its member id first and comes back with it (KIP-394).
_KNOWN_MEMBER_ID_FROM: Final = 4


class BilingualGroups(ClassicGroups):
    """The classic protocol, for groups of both kinds."""

    def __init__(
        self,
        table: GroupTable,
        config: Callable[[], BrokerConfig],
        timers: ShardTimers,
        now_ms: Callable[[], int],
        image: Callable[[], MetadataImage],
        new_member_id: Callable[[], str],
        consumer: ConsumerGroups,
    ) -> None:
        super().__init__(table, config, timers, now_ms, new_member_id)
        self._groups = table
        self._settings = config
        self._image = image
        self._new_id = new_member_id
        self._consumer = consumer
        consumer.on_downgraded = self._downgraded

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) and not group.is_empty else None

    def _downgraded(self, group: ClassicGroup, reason: str) -> None:
        """The group has only classic members left and is a classic group now: begin a generation."""
        outcome = self.rebalance(group, reason)
        assert not outcome.records, "nobody has joined again yet, so there is nothing to write"

    # -- JoinGroup -----------------------------------------------------------------------------

    def join(
        self,
        request: JoinGroupRequest,
        client_id: str,
        client_host: str,
        version: int,
        respond: JoinRespond,
    ) -> Outcome[None]:
        """Enter a group of either kind."""
        group = self._consumer_group(request.group_id)
        config = self._settings()
        if group is None or not (
            config.group_min_session_timeout_ms
            <= request.session_timeout_ms
            <= config.group_max_session_timeout_ms
        ):
            return super().join(request, client_id, client_host, version, respond)
        joining = Joining.of(request, client_id, client_host, version, respond)
        try:
            return self._join_consumer_group(group, joining)
        except ApiError as error:
            return joining.refuse(error.err)

    def _join_consumer_group(self, group: ConsumerGroup, joining: Joining) -> Outcome[None]:
        request = joining.request
        member_id = request.member_id or self._new_id()
        self._consumer.check_room(group, member_id)
        self._check_protocols(group, joining)
        if (
            not request.member_id
            and request.group_instance_id is None
            and joining.version >= _KNOWN_MEMBER_ID_FROM
        ):
            return joining.refuse(Err.MEMBER_ID_REQUIRED, member_id)
        try:
            subscription = read_subscription(joining.protocols[0].metadata)
        except DecodeError as error:
            raise ApiError(
                Err.INCONSISTENT_GROUP_PROTOCOL, f"garbled subscription: {error}"
            ) from error
        records: list[CoordinatorRecord] = []
        update = self._consumer.new_update(group, records)
        before = self._member_before(update, joining, member_id)
        after = self._joined_member(before, joining, subscription)
        owned = owned_partitions(subscription, self._image())
        member = update.put_member(before, after, owned)
        response = JoinGroupResponse(
            generation_id=member.member_epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=joining.protocols[0].name,
            member_id=member.member_id,
        )

        def written(err: Err) -> None:
            self._consumer.after_write(update, err)
            if err is not Err.NONE:
                joining.refuse(err)
                return
            self._let_in(group.group_id, joining, member.member_id)
            joining.respond(response)

        return Outcome(tuple(records), None, written)

    def _let_in(self, group_id: str, joining: Joining, member_id: str) -> None:
        timers = self._consumer.timers
        timers.joined(group_id, member_id)
        timers.begin_session(group_id, member_id, joining.request.session_timeout_ms)
        timers.await_sync(group_id, member_id, joining.rebalance_timeout_ms)
        # A static member may have been the last one of the consumer protocol.
        self._consumer.maybe_downgrade_soon(group_id)

    def _check_protocols(self, group: ConsumerGroup, joining: Joining) -> None:
        """ApiError(INCONSISTENT_GROUP_PROTOCOL) unless the members' protocols fit together."""
        if not classic_members_allowed(self._settings()):
            raise ApiError(
                Err.INCONSISTENT_GROUP_PROTOCOL,
                "group.consumer.migration.policy keeps classic members out of consumer groups",
            )
        known = [
            {protocol.name for protocol in member.classic.supported_protocols}
            for member in group.members.values()
            if member.classic is not None and member.member_id != joining.request.member_id
        ]
        common = joining.protocol_names.intersection(*known)
        if joining.request.protocol_type != CONSUMER_PROTOCOL_TYPE or not common:
            raise ApiError(
                Err.INCONSISTENT_GROUP_PROTOCOL, "no assignor in common with the other members"
            )

    def _member_before(self, update: GroupUpdate, joining: Joining, member_id: str) -> Member:
        group, instance_id = update.group, joining.request.group_instance_id
        if instance_id is None:
            return group.members.get(member_id) or Member(member_id)
        if joining.request.member_id:
            return self._consumer.static_member(group, instance_id, member_id)
        known = group.static_member(instance_id)
        return update.replace_static(known, member_id) if known is not None else Member(member_id)

    def _joined_member(
        self, member: Member, joining: Joining, subscription: ConsumerProtocolSubscription
    ) -> Member:
        request = joining.request
        instance_id = request.group_instance_id
        updated = replace(
            member,
            instance_id=instance_id if instance_id is not None else member.instance_id,
            rack_id=subscription.rack_id or member.rack_id,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            subscribed_topic_names=frozenset(subscription.topics),
            subscribed_topic_regex="",
            client_id=joining.client_id,
            client_host=joining.client_host,
            classic=classic_metadata(request.session_timeout_ms, joining.protocols),
        )
        return member if updated == member else updated

    # -- SyncGroup -----------------------------------------------------------------------------

    def sync(self, request: SyncGroupRequest, respond: SyncRespond) -> Outcome[None]:
        """Fetch an assignment from a group of either kind."""
        group = self._consumer_group(request.group_id)
        if group is None:
            return super().sync(request, respond)
        try:
            member = self._classic_member(group, request.member_id, request.group_instance_id)
            _check_generation(member, request.generation_id)
            self._check_sync(group, member, request)
        except ApiError as error:
            respond(sync_error(error.err))
            return NO_OUTCOME
        assert member.classic is not None
        timers = self._consumer.timers
        timers.synced(group.group_id, member.member_id)
        timers.begin_session(group.group_id, member.member_id, member.classic.session_timeout_ms)
        metadata = bytes(member.classic.supported_protocols[0].metadata)
        respond(
            SyncGroupResponse(
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=write_assignment(member.assigned, metadata, self._image()),
            )
        )
        return NO_OUTCOME

    def _check_sync(self, group: ConsumerGroup, member: Member, request: SyncGroupRequest) -> None:
        assert member.classic is not None
        told = member.classic.supported_protocols[0].name
        if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or (
            request.protocol_name not in (None, told)
        ):
            raise ApiError(Err.INCONSISTENT_GROUP_PROTOCOL)
        if (
            group.assignment_epoch > member.member_epoch
            and member.state is not MemberState.UNREVOKED_PARTITIONS
        ):
            self._send_to_join(group, member)
            raise ApiError(Err.REBALANCE_IN_PROGRESS)

    # -- Heartbeat -----------------------------------------------------------------------------

    def heartbeat(self, request: HeartbeatRequest) -> Outcome[Err]:
        """A member of a group of either kind lives."""
        group = self._consumer_group(request.group_id)
        if group is None:
            return super().heartbeat(request)
        member = self._classic_member(group, request.member_id, request.group_instance_id)
        _check_generation(member, request.generation_id)
        assert member.classic is not None
        self._consumer.timers.begin_session(
            group.group_id, member.member_id, member.classic.session_timeout_ms
        )
        if not _should_join(group, member):
            return Outcome((), Err.NONE)
        self._send_to_join(group, member)
        return Outcome((), Err.REBALANCE_IN_PROGRESS)

    def _send_to_join(self, group: ConsumerGroup, member: Member) -> None:
        self._consumer.timers.await_join(
            group.group_id, member.member_id, member.rebalance_timeout_ms
        )

    def _classic_member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None
    ) -> Member:
        if instance_id is None:
            member = group.member(member_id)
        else:
            member = self._consumer.static_member(group, instance_id, member_id)
        if not member.uses_classic_protocol:
            raise ApiError(
                Err.UNKNOWN_MEMBER_ID, f"member {member_id} does not use the classic protocol"
            )
        return member

    # -- LeaveGroup ----------------------------------------------------------------------------

    def leave(self, request: LeaveGroupRequest) -> Outcome[LeaveGroupResponse]:
        """Leave a group of either kind, or be removed by an administrator."""
        group = self._consumer_group(request.group_id)
        if group is None:
            return super().leave(request)
        rows: list[MemberResponse] = []
        leaving: dict[str, Member] = {}
        for identity in request.members:
            row = MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id
            )
            try:
                member = self._leaving(group, identity)
                leaving[member.member_id] = member
            except ApiError as error:
                row.error_code = error.err
            rows.append(row)
        response = LeaveGroupResponse(members=rows)
        if not leaving:
            return Outcome((), response)
        names = ", ".join(leaving)
        records, then = self._consumer.fence(group, [*leaving.values()], f"member {names} left")
        return Outcome(records, response, then)

    def _leaving(self, group: ConsumerGroup, identity: MemberIdentity) -> Member:
        instance_id = identity.group_instance_id
        if instance_id is None:
            return group.member(identity.member_id)
        known = group.static_member(instance_id)
        member_id = identity.member_id or (known.member_id if known is not None else "")
        return self._consumer.static_member(group, instance_id, member_id)


def _should_join(group: ConsumerGroup, member: Member) -> bool:
    return (
        member.member_epoch < group.assignment_epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (
            member.state is MemberState.UNRELEASED_PARTITIONS
            and not group.is_waiting_for_others(member)
        )
    )


def _check_generation(member: Member, generation: int) -> None:
    if generation != member.member_epoch:
        raise ApiError(
            Err.ILLEGAL_GENERATION, f"the member is at epoch {member.member_epoch}: join again"
        )
