"""Between the protocols: a classic group becomes a consumer group, serves both kinds, and goes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.consumer_members import MemberState
from odradek.errors import ApiError, Err
from odradek.protocol.codec import decode_from, encode
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from odradek.protocol.messages.heartbeat import HeartbeatRequest
from odradek.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from odradek.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.testing.virtual_consumers import (
    ASSIGNMENT_INTERVAL_MS,
    VirtualConsumerGroups,
)

SESSION_MS = 10_000
REBALANCE_MS = 30_000
ALL = {"t": set(range(6))}
Owned = Mapping[str, Iterable[int]]


class ClassicConsumer:
    """A consumer of the classic protocol with the cooperative assignor."""

    def __init__(
        self, groups: VirtualConsumerGroups, member_id: str = "", instance: str | None = None
    ) -> None:
        self.groups = groups
        self.member_id = member_id
        self.instance = instance
        self.generation = -1
        self.owned: dict[str, set[int]] = {}
        self.joined: list[JoinGroupResponse] = []
        self.topics = ["t"]
        self.protocols = ["cooperative-sticky"]

    def send_join(self, version: int = 9, session_ms: int = SESSION_MS) -> list[JoinGroupResponse]:
        """Send JoinGroup; the answer may come later."""
        subscription = ConsumerProtocolSubscription(
            topics=self.topics,
            owned_partitions=[
                ConsumerProtocolSubscriptionTopicPartition(topic=t, partitions=sorted(p))
                for t, p in self.owned.items()
            ],
        )
        metadata = b"\0\1" + encode(subscription, 1)
        self.joined = []
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=n, metadata=metadata) for n in self.protocols],
        )
        self.groups.runtime.run(
            self.groups.classic.join(request, "old", "/10.0.0.1", version, self.joined.append)
        )
        return self.joined

    def join(self) -> Err:
        """Send JoinGroup, with the id that is asked for, and take the answer."""
        (answer,) = self.send_join()
        if answer.error_code == Err.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            (answer,) = self.send_join()
        return self.take_join(answer)

    def take_join(self, answer: JoinGroupResponse) -> Err:
        if answer.error_code == Err.NONE:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return Err(answer.error_code)

    def sync(self, assignments: Mapping[str, Owned] | None = None) -> Err:
        """Send SyncGroup, as a leader with assignments, and take the answer."""
        request = SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=assignment(o))
                for m, o in (assignments or {}).items()
            ],
        )
        answers: list[SyncGroupResponse] = []
        self.groups.runtime.run(self.groups.classic.sync(request, answers.append))
        (answer,) = answers
        if answer.error_code == Err.NONE:
            told, _ = decode_from(ConsumerProtocolAssignment, answer.assignment, 2, 1)
            self.owned = {e.topic: set(e.partitions) for e in told.assigned_partitions}
        return Err(answer.error_code)

    def beat(self) -> Err:
        request = HeartbeatRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        try:
            return self.groups.runtime.run(self.groups.classic.heartbeat(request))
        except ApiError as error:
            return error.err

    def live(self) -> None:
        """Heartbeat, and join and sync again if told to, as often as that."""
        for _ in range(3):
            if self.beat() is Err.NONE:
                return
            assert self.join() is Err.NONE
            if self.sync() is Err.NONE:
                continue
        # Something is still to be given up or waited for: with the next heartbeat.

    def leave(self) -> Err:
        request = LeaveGroupRequest(
            group_id="g",
            members=[MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)],
        )
        response = self.groups.runtime.run(self.groups.classic.leave(request))
        return Err(response.members[0].error_code)


def assignment(owned: Owned, user_data: bytes | None = None) -> bytes:
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=t, partitions=list(p))
            for t, p in owned.items()
        ],
        user_data=user_data,
    )
    return b"\0\1" + encode(message, 1)


def classic_group(groups: VirtualConsumerGroups, *owned: Owned) -> list[ClassicConsumer]:
    """A stable classic group whose members own these partitions."""
    members = [ClassicConsumer(groups) for _ in owned]
    for member in members:
        (told,) = member.send_join()
        member.member_id = told.member_id
        assert member.send_join() == []
    groups.advance(7000)
    for member in members:
        assert member.take_join(member.joined[0]) is Err.NONE
    leader = members[0].joined[0].leader
    members.sort(key=lambda m: m.member_id != leader)
    parts = dict(zip((m.member_id for m in members), owned, strict=True))
    for member in members:
        assert member.sync(parts if member.member_id == leader else None) is Err.NONE
    assert isinstance(groups.table.get("g"), ClassicGroup)
    return members


def everybody(groups: VirtualConsumerGroups) -> dict[str, set[int]]:
    return {m: p.get("t", set()) for m, p in groups.owners().items()}


def test_a_classic_group_is_taken_along(groups: VirtualConsumerGroups) -> None:
    """The first new-protocol member upgrades the group; nobody owns a partition twice."""
    (old,) = classic_group(groups, ALL)
    new = groups.member("new")
    group = groups.group()
    assert group.members.keys() == {old.member_id, "new"}
    kinds = {m.member_id: m.member_type for m in groups.consumer.describe("g").members}
    assert kinds == {old.member_id: 0, "new": 1}
    assert (group.group_epoch, new.partitions) == (2, {})
    assert groups.owners()[old.member_id] == ALL
    assert old.beat() is Err.REBALANCE_IN_PROGRESS
    for _ in range(4):
        groups.advance(ASSIGNMENT_INTERVAL_MS)
        old.live()
        new.beat()
    assert (len(old.owned["t"]), len(new.partitions["t"])) == (3, 3)
    assert old.owned["t"] | new.partitions["t"] == ALL["t"]
    assert group.state_name == "Stable"
    assert old.beat() is Err.NONE


def test_what_a_classic_member_still_has_is_nobody_elses(groups: VirtualConsumerGroups) -> None:
    (old,) = classic_group(groups, ALL)
    new = groups.member("new")
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    assert old.beat() is Err.REBALANCE_IN_PROGRESS
    assert (old.join(), old.sync()) == (Err.NONE, Err.NONE)
    assert len(old.owned["t"]) == 3  # told to give up, and has not said that it did
    assert groups.group().members[old.member_id].state is MemberState.UNREVOKED_PARTITIONS
    new.beat()
    assert new.partitions == {}
    assert old.beat() is Err.REBALANCE_IN_PROGRESS
    assert (old.join(), old.sync()) == (Err.NONE, Err.NONE)
    new.beat()
    assert len(new.partitions["t"]) == 3


def test_members_that_wait_for_a_classic_rebalance_join_again(
    groups: VirtualConsumerGroups,
) -> None:
    (old,) = classic_group(groups, ALL)
    late = ClassicConsumer(groups)
    (told,) = late.send_join()
    late.member_id = told.member_id
    assert late.send_join() == []  # waits for `old`
    groups.member("new")
    assert [answer.error_code for answer in late.joined] == [Err.REBALANCE_IN_PROGRESS]
    assert (late.join(), late.sync()) == (Err.NONE, Err.NONE)
    assert groups.group().members.keys() == {old.member_id, late.member_id, "new"}


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_upgrades_can_be_forbidden(policy: str) -> None:
    groups = VirtualConsumerGroups({"t": 6}, group_consumer_migration_policy=policy)
    classic_group(groups, ALL)
    with pytest.raises(ApiError) as caught:
        groups.join("new")
    assert caught.value.err is Err.GROUP_ID_NOT_FOUND
    assert isinstance(groups.table.get("g"), ClassicGroup)


def test_groups_that_cannot_be_upgraded(groups: VirtualConsumerGroups) -> None:
    (old,) = classic_group(groups, ALL)
    group = groups.table.get("g")
    assert isinstance(group, ClassicGroup)
    member = group.members[old.member_id]
    for bytes_ in (assignment(ALL, b"sticky state"), b"\0\1garbled"):
        member.assignment = bytes_
        with pytest.raises(ApiError) as caught:
            groups.join("new")
        assert caught.value.err is Err.GROUP_ID_NOT_FOUND
    member.assignment = b""
    group.type_of_members = "connect"
    with pytest.raises(ApiError):
        groups.join("new")
    group.type_of_members = "consumer"
    groups.join("new")


def test_classic_consumers_may_join_a_consumer_group(groups: VirtualConsumerGroups) -> None:
    new = groups.member("new")
    old = ClassicConsumer(groups)
    assert (old.join(), old.sync()) == (Err.NONE, Err.NONE)
    assert old.owned == {}
    for _ in range(4):
        groups.advance(ASSIGNMENT_INTERVAL_MS)
        new.beat()
        old.live()
    assert (len(old.owned["t"]), len(new.partitions["t"])) == (3, 3)


def test_classic_consumers_can_be_kept_out() -> None:
    groups = VirtualConsumerGroups({"t": 6}, group_consumer_migration_policy="disabled")
    groups.member("new")
    assert ClassicConsumer(groups).join() is Err.INCONSISTENT_GROUP_PROTOCOL


def test_classic_consumers_need_an_assignor_in_common(groups: VirtualConsumerGroups) -> None:
    groups.member("new")
    one, other = ClassicConsumer(groups), ClassicConsumer(groups)
    assert one.join() is Err.NONE
    other.protocols = ["range"]
    assert other.join() is Err.INCONSISTENT_GROUP_PROTOCOL
    other.protocols = ["range", "cooperative-sticky"]
    assert other.join() is Err.NONE


def test_classic_consumers_keep_the_rules_of_their_protocol(groups: VirtualConsumerGroups) -> None:
    groups.member("new")
    old = ClassicConsumer(groups)
    assert [a.error_code for a in old.send_join(session_ms=1)] == [Err.INVALID_SESSION_TIMEOUT]
    assert old.join() is Err.NONE
    old.generation += 1
    assert (old.beat(), old.sync()) == (Err.ILLEGAL_GENERATION, Err.ILLEGAL_GENERATION)
    stranger = ClassicConsumer(groups, "stranger")
    assert (stranger.beat(), stranger.sync()) == (Err.UNKNOWN_MEMBER_ID, Err.UNKNOWN_MEMBER_ID)
    assert stranger.leave() is Err.UNKNOWN_MEMBER_ID
    impostor = ClassicConsumer(groups, "new")
    assert (impostor.beat(), impostor.sync()) == (Err.UNKNOWN_MEMBER_ID, Err.UNKNOWN_MEMBER_ID)


def test_a_full_consumer_group_is_full_for_all() -> None:
    groups = VirtualConsumerGroups({"t": 6}, group_consumer_max_size="1")
    groups.member("new")
    assert ClassicConsumer(groups).join() is Err.GROUP_MAX_SIZE_REACHED


@pytest.mark.parametrize("what", ["session", "sync", "join"])
def test_classic_consumers_that_fall_silent_are_removed(
    groups: VirtualConsumerGroups, what: str
) -> None:
    new = groups.member("new")
    old = ClassicConsumer(groups)
    old.join()
    if what != "sync":
        old.sync()
    waited = 0
    while old.member_id in groups.group().members:
        groups.advance(ASSIGNMENT_INTERVAL_MS)
        waited += ASSIGNMENT_INTERVAL_MS
        new.beat()
        if what != "session":
            old.beat()  # never joins again, or never syncs
    assert waited == {"session": SESSION_MS}.get(what, REBALANCE_MS) + (
        ASSIGNMENT_INTERVAL_MS if what == "join" else 0
    )


def test_the_last_new_member_leaves_a_classic_group_behind(groups: VirtualConsumerGroups) -> None:
    """And back: those who stay join a new generation."""
    (old,) = classic_group(groups, ALL)
    new = groups.member("new")
    for _ in range(4):
        groups.advance(ASSIGNMENT_INTERVAL_MS)
        old.live()
        new.beat()
    groups.send("new", -1)
    group = groups.table.get("g")
    assert isinstance(group, ClassicGroup)
    assert [m.member_id for m in group.members] == [old.member_id]
    assert group.state_name == "PreparingRebalance"
    old.beat()
    (answer,) = old.send_join()
    assert old.take_join(answer) is Err.NONE
    assert old.sync({old.member_id: ALL}) is Err.NONE
    assert old.owned == ALL
    assert not any(key.startswith("consumer-") for key in groups.runtime.timers.keys)


def test_a_downgrade_survives_a_crash(groups: VirtualConsumerGroups) -> None:
    (old,) = classic_group(groups, ALL)
    groups.member("new")
    groups.send("new", -1)
    groups.crash()
    group = groups.table.get("g")
    assert isinstance(group, ClassicGroup)
    assert [m.member_id for m in group.members] == [old.member_id]


def test_an_upgrade_survives_a_crash(groups: VirtualConsumerGroups) -> None:
    (old,) = classic_group(groups, ALL)
    groups.member("new")
    before = groups.group().members
    groups.crash()
    assert groups.group().members == before
    groups.advance(SESSION_MS)
    assert old.member_id not in groups.group().members


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_downgrades_can_be_forbidden(policy: str) -> None:
    groups = VirtualConsumerGroups({"t": 6})
    (old,) = classic_group(groups, ALL)
    groups.member("new")
    groups.config = VirtualConsumerGroups(group_consumer_migration_policy=policy).config
    groups.send("new", -1)
    assert groups.group().members.keys() == {old.member_id}


def test_a_static_member_may_change_its_protocol_up(groups: VirtualConsumerGroups) -> None:
    groups.member("other")
    old = ClassicConsumer(groups, instance="i1")
    assert old.join() is Err.NONE
    new = groups.member("new", instance_id="i1")
    assert groups.group().members.keys() == {"other", "new"}
    assert old.beat() is Err.FENCED_INSTANCE_ID
    assert new.epoch == 2


def test_a_static_member_may_change_its_protocol_down(groups: VirtualConsumerGroups) -> None:
    """It was the last one of the consumer protocol, so the group becomes classic with it."""
    groups.member("new", instance_id="i1")
    old = ClassicConsumer(groups, instance="i1")
    assert old.join() is Err.NONE
    assert groups.refused("new", 2, instance_id="i1") is Err.FENCED_INSTANCE_ID
    groups.advance(0)
    group = groups.table.get("g")
    assert isinstance(group, ClassicGroup)
    assert [m.group_instance_id for m in group.members] == ["i1"]
    (answer,) = old.send_join()
    assert old.take_join(answer) is Err.NONE
    assert old.sync({old.member_id: ALL}) is Err.NONE


def test_leaving_through_the_classic_protocol(groups: VirtualConsumerGroups) -> None:
    """LeaveGroup names members of either kind; administrators name static ones by instance id."""
    groups.member("new")
    groups.member("static", instance_id="i1")
    old = ClassicConsumer(groups)
    old.join()
    assert old.leave() is Err.NONE
    assert ClassicConsumer(groups, "", "i1").leave() is Err.NONE
    assert ClassicConsumer(groups, "", "i1").leave() is Err.UNKNOWN_MEMBER_ID
    assert ClassicConsumer(groups, "other", "i2").leave() is Err.UNKNOWN_MEMBER_ID
    assert groups.group().members.keys() == {"new"}


def test_what_could_not_be_written_is_not_told(groups: VirtualConsumerGroups) -> None:
    groups.member("new")
    old = ClassicConsumer(groups, "old")
    groups.runtime.append_error = Err.COORDINATOR_NOT_AVAILABLE
    with pytest.raises(ApiError):
        old.send_join()
    assert [answer.error_code for answer in old.joined] == [Err.COORDINATOR_NOT_AVAILABLE]
    assert groups.group().members.keys() == {"new"}
