"""Static members: they may go and come back under another member id, and keep what they had."""

from __future__ import annotations

from odradek.errors import Err
from odradek.testing.virtual_consumers import REBALANCE_MS, SESSION_MS, VirtualConsumerGroups

JOIN = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": ["t"], "owned": {}}


def test_a_static_member_that_restarts_keeps_its_partitions(groups: VirtualConsumerGroups) -> None:
    """Nobody else notices, no new epoch, the same partitions."""
    a = groups.member("a", instance_id="i1")
    b = groups.member("b")
    groups.settle(a, b)
    had, epoch = a.partitions, groups.group().group_epoch
    reply = groups.send("a", -2, instance_id="i1")
    assert (reply.member_id, reply.member_epoch) == ("a", -2)
    assert groups.consumer.describe("g").group_state == "Reconciling"
    b.beat()
    again = groups.member("a2", instance_id="i1")
    assert (again.partitions, again.epoch) == (had, epoch)
    assert groups.group().group_epoch == epoch
    assert groups.group().members.keys() == {"a2", "b"}
    assert groups.group().state_name == "Stable"


def test_a_static_member_that_does_not_return_is_removed(groups: VirtualConsumerGroups) -> None:
    groups.member("a", instance_id="i1")
    groups.send("a", -2, instance_id="i1")
    groups.advance(SESSION_MS)
    assert groups.group().is_empty
    assert groups.group().static_members == {}


def test_an_instance_id_in_use_is_not_given_away(groups: VirtualConsumerGroups) -> None:
    groups.member("a", instance_id="i1")
    assert groups.refused("a2", 0, **JOIN, instance_id="i1") is Err.UNRELEASED_INSTANCE_ID


def test_a_static_member_that_was_fenced_may_join_again(groups: VirtualConsumerGroups) -> None:
    """The same member id is the same process: nobody needs to wait for the end of its session."""
    groups.member("a", instance_id="i1")
    assert groups.refused("a", 7, instance_id="i1") is Err.FENCED_MEMBER_EPOCH
    assert groups.member("a", instance_id="i1").partitions == {"t": set(range(6))}


def test_the_old_self_of_a_static_member_is_fenced(groups: VirtualConsumerGroups) -> None:
    groups.member("a", instance_id="i1")
    groups.send("a", -2, instance_id="i1")
    groups.member("a2", instance_id="i1")
    assert groups.refused("a", 2, instance_id="i1") is Err.FENCED_INSTANCE_ID
    assert groups.refused("a", -1, instance_id="i1") is Err.FENCED_INSTANCE_ID
    assert groups.refused("a", -2, instance_id="i1") is Err.FENCED_INSTANCE_ID
    assert groups.refused("a", 2) is Err.UNKNOWN_MEMBER_ID


def test_an_instance_id_nobody_has(groups: VirtualConsumerGroups) -> None:
    groups.member("a")
    assert groups.refused("a", 2, instance_id="i1") is Err.UNKNOWN_MEMBER_ID
    assert groups.refused("a", -2, instance_id="i1") is Err.UNKNOWN_MEMBER_ID


def test_a_static_member_leaves_for_good_at_once(groups: VirtualConsumerGroups) -> None:
    groups.member("a", instance_id="i1")
    assert groups.send("a", -1, instance_id="i1").member_epoch == -1
    assert groups.group().is_empty


def test_a_static_member_may_come_back_with_another_subscription() -> None:
    groups = VirtualConsumerGroups({"t": 2, "u": 2})
    groups.member("a", instance_id="i1")
    groups.send("a", -2, instance_id="i1")
    groups.advance(1000)
    a2 = groups.member("a2", ("u",), instance_id="i1")
    groups.settle(a2)
    assert a2.partitions == {"u": {0, 1}}
    assert dict(groups.group().topic_counts) == {"u": 1}
    assert groups.group().owners.keys() == {(groups.image.topics["u"].id, p) for p in range(2)}


def test_a_restart_of_the_broker_does_not_forget_who_stepped_out(
    groups: VirtualConsumerGroups,
) -> None:
    groups.member("a", instance_id="i1")
    groups.send("a", -2, instance_id="i1")
    groups.crash()
    again = groups.member("a2", instance_id="i1")
    assert again.partitions == {"t": set(range(6))}
    groups.advance(SESSION_MS - 1)
    assert not groups.group().is_empty
