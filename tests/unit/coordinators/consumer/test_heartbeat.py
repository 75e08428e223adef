"""ConsumerGroupHeartbeat: who gets in, what is refused, and what members are told."""

from __future__ import annotations

import pytest

from odradek.errors import ApiError, Err
from odradek.testing.virtual_consumers import (
    ASSIGNMENT_INTERVAL_MS,
    INTERVAL_MS,
    REBALANCE_MS,
    VirtualConsumerGroups,
)

ALL_OF_T = {"t": set(range(6))}


def test_the_first_member_gets_everything_at_once(groups: VirtualConsumerGroups) -> None:
    reply = groups.join("a")
    assert (reply.member_id, reply.member_epoch) == ("a", 2)
    assert reply.assignment is not None
    assert groups.owners() == {"a": ALL_OF_T}
    assert groups.group().state_name == "Stable"


def test_a_member_that_knows_everything_is_told_nothing_new(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    written = len(groups.runtime.log)
    reply = groups.send("a", 2)
    assert (reply.member_epoch, reply.assignment) == (2, None)
    assert len(groups.runtime.log) == written


def test_a_full_request_is_answered_in_full(groups: VirtualConsumerGroups) -> None:
    """A client that lost the last answer says everything, and so learns everything."""
    groups.join("a")
    reply = groups.send(
        "a",
        2,
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=["t"],
        owned=ALL_OF_T,
    )
    assert reply.assignment is not None
    assert groups.named({e.topic_id: e.partitions for e in reply.assignment.topic_partitions}) == (
        ALL_OF_T
    )


def test_version_0_may_leave_the_member_id_to_the_broker(groups: VirtualConsumerGroups) -> None:
    assert groups.join("", version=0).member_id == "made-up-1"
    assert groups.refused("", 0, rebalance_timeout_ms=1) is Err.INVALID_REQUEST


JOIN = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": ["t"], "owned": {}}


@pytest.mark.parametrize(
    ("member_id", "epoch", "fields"),
    [
        ("", 0, JOIN),
        (" ", 0, JOIN),
        ("", 1, {"version": 0}),
        ("", -1, {"version": 0}),
        ("a", 0, JOIN | {"group_id": ""}),
        ("a", 0, JOIN | {"group_id": "  "}),
        ("a", 0, JOIN | {"instance_id": ""}),
        ("a", 0, JOIN | {"rack_id": " "}),
        ("a", 0, JOIN | {"rebalance_timeout_ms": -1}),
        ("a", 0, JOIN | {"owned": None}),
        ("a", 0, JOIN | {"owned": {"t": {0}}}),
        ("a", 0, JOIN | {"subscribed_topic_names": None}),
        ("a", -2, {}),
        ("a", -3, {}),
    ],
)
def test_requests_that_make_no_sense(
    groups: VirtualConsumerGroups, member_id: str, epoch: int, fields: dict[str, object]
) -> None:
    assert groups.refused(member_id, epoch, **fields) is Err.INVALID_REQUEST


def test_an_assignor_nobody_knows(groups: VirtualConsumerGroups) -> None:
    assert groups.refused("a", 0, **JOIN, server_assignor="fair") is Err.UNSUPPORTED_ASSIGNOR
    groups.join("a", server_assignor="range")
    assert groups.consumer.describe("g").assignor_name == "range"


def test_only_joining_makes_a_group(groups: VirtualConsumerGroups) -> None:
    assert groups.refused("a", 1) is Err.GROUP_ID_NOT_FOUND
    assert groups.refused("a", -1) is Err.GROUP_ID_NOT_FOUND


def test_a_member_that_the_group_does_not_know(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    assert groups.refused("b", 1) is Err.UNKNOWN_MEMBER_ID
    assert groups.refused("b", -1) is Err.UNKNOWN_MEMBER_ID


def test_a_full_group_lets_only_its_members_in() -> None:
    groups = VirtualConsumerGroups({"t": 6}, group_consumer_max_size="1")
    groups.join("a")
    assert groups.refused("b", 0, **JOIN) is Err.GROUP_MAX_SIZE_REACHED
    assert groups.refused("", 0, **JOIN, version=0) is Err.GROUP_MAX_SIZE_REACHED
    groups.send("a", 2)
    groups.join("a")


def test_epochs_of_the_past_and_the_future_are_fenced(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    assert groups.refused("a", 3) is Err.FENCED_MEMBER_EPOCH
    assert groups.refused("a", 1) is Err.FENCED_MEMBER_EPOCH


def test_a_member_may_be_one_epoch_behind_if_it_owns_nothing_foreign(
    groups: VirtualConsumerGroups,
) -> None:
    """The answer that moved it on was lost; what it owns is part of what it should."""
    a = groups.member("a")
    b = groups.member("b")
    groups.settle(a, b)
    before, epoch = a.partitions, a.epoch
    groups.send("b", -1)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    assert groups.send("a", epoch, owned=before).member_epoch == epoch + 1
    assert groups.refused("a", epoch, owned={"t": set(range(7))}) is Err.FENCED_MEMBER_EPOCH
    assert groups.refused("a", epoch) is Err.FENCED_MEMBER_EPOCH
    again = groups.send("a", epoch, owned=before)
    assert again.member_epoch == epoch + 1


def test_a_member_may_join_again_whenever_it_likes(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    reply = groups.join("a")
    assert reply.member_epoch == 2
    assert reply.assignment is not None
    assert groups.group().group_epoch == 2


def test_a_member_that_leaves_is_gone(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    reply = groups.send("a", -1)
    assert (reply.member_id, reply.member_epoch, reply.assignment) == ("a", -1, None)
    group = groups.group()
    assert (group.is_empty, group.owners, group.target, group.topic_counts) == (True, {}, {}, {})
    assert (group.state_name, group.group_epoch) == ("Empty", 3)
    assert groups.runtime.timers.keys == set()


def test_members_without_topics_cost_nobody_a_rebalance(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    assert groups.join("idle", ()).member_epoch == 2
    assert groups.group().group_epoch == 2


def test_members_are_told_to_come_sooner_while_the_group_changes(
    groups: VirtualConsumerGroups,
) -> None:
    """A rebalance then takes a few short steps instead of a few whole heartbeats."""
    a = groups.member("a")
    assert a.interval_ms == INTERVAL_MS // 5
    groups.advance(INTERVAL_MS)
    a.beat()
    assert a.interval_ms == INTERVAL_MS
    b = groups.member("b")
    b.beat()
    assert b.interval_ms == INTERVAL_MS // 5
    groups.settle(a, b)
    groups.advance(INTERVAL_MS)
    for member in (a, b):
        member.beat()
        assert member.interval_ms == INTERVAL_MS


def test_a_group_has_settings_of_its_own_within_the_brokers_bounds() -> None:
    groups = VirtualConsumerGroups({"t": 6}, group_consumer_max_heartbeat_interval_ms="8000")
    groups.configure("g", consumer_heartbeat_interval_ms="7000")
    groups.join("a")
    groups.advance(8000)
    assert groups.send("a", 2).heartbeat_interval_ms == 7000
    groups.configure("g", consumer_heartbeat_interval_ms="60000")
    assert groups.send("a", 2).heartbeat_interval_ms == 8000
    groups.configure("g")
    assert groups.send("a", 2).heartbeat_interval_ms == INTERVAL_MS


def test_what_could_not_be_written_did_not_happen(groups: VirtualConsumerGroups) -> None:
    groups.runtime.append_error = Err.COORDINATOR_NOT_AVAILABLE
    with pytest.raises(ApiError):
        groups.join("a")
    assert groups.table.get("g") is None
    groups.runtime.append_error = None
    assert groups.join("a").member_epoch == 2


def test_why_the_group_moved_is_remembered(groups: VirtualConsumerGroups) -> None:
    """Who joined, left and fell silent, per computed target."""
    a = groups.member("a")
    b = groups.member("b")
    groups.settle(a, b)
    groups.send("b", -1)
    groups.settle(a)
    first, second, third = groups.group().history
    assert (first.reason, first.joined) == ("member a joined", ("a",))
    assert (second.joined, second.generation) == (("b",), 3)
    assert (third.reason, third.left, third.members) == ("member b left", ("b",), 1)


def test_descriptions(groups: VirtualConsumerGroups) -> None:
    assert groups.consumer.describe("g").error_code == Err.GROUP_ID_NOT_FOUND
    groups.join("a", instance_id="i1", rack_id="r1")
    described = groups.consumer.describe("g")
    assert (described.error_code, described.group_state) == (Err.NONE, "Stable")
    assert (described.group_epoch, described.assignment_epoch) == (2, 2)
    assert described.assignor_name == "uniform"
    (member,) = described.members
    assert (member.member_id, member.instance_id, member.rack_id) == ("a", "i1", "r1")
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert (member.member_epoch, member.member_type) == (2, 1)
    assert member.subscribed_topic_names == ["t"]
    (owned,) = member.assignment.topic_partitions
    assert (owned.topic_name, owned.partitions) == ("t", [0, 1, 2, 3, 4, 5])
    assert member.target_assignment == member.assignment
