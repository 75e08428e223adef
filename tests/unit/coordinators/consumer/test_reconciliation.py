"""Stories of members on their way to a target: giving up first, taking after, never two owners."""

from __future__ import annotations

import pytest

from odradek.coordinators.groups.consumer_members import Member, MemberState
from odradek.coordinators.groups.reconciliation import reconcile
from odradek.errors import ApiError, Err
from odradek.testing.virtual_consumers import (
    ASSIGNMENT_INTERVAL_MS,
    REBALANCE_MS,
    SESSION_MS,
    VirtualConsumerGroups,
)


def test_a_partition_changes_hands_in_two_steps(groups: VirtualConsumerGroups) -> None:
    """The new owner gets it only when the old one no longer says it has it."""
    a = groups.member("a")
    b = groups.member("b")
    assert (b.epoch, b.partitions) == (2, {})  # the last target is younger than a second
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    b.beat()  # computes the target; all of it is a's still
    assert (b.epoch, b.partitions) == (3, {})
    assert groups.group().members["b"].state is MemberState.UNRELEASED_PARTITIONS
    a.beat()  # is told to give up half of it, and has not yet
    assert (a.epoch, a.partitions) == (2, {"t": {0, 1, 2}})
    assert groups.group().members["a"].state is MemberState.UNREVOKED_PARTITIONS
    b.beat()
    assert b.partitions == {}
    a.beat()  # has given it up
    assert a.epoch == 3
    assert groups.group().members["a"].state is MemberState.STABLE
    b.beat()
    assert (b.epoch, b.partitions) == (3, {"t": {3, 4, 5}})
    assert groups.group().state_name == "Stable"


def test_saying_nothing_is_not_giving_up(groups: VirtualConsumerGroups) -> None:
    a = groups.member("a")
    groups.member("b")
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    assert groups.send("a", a.epoch).member_epoch == 2
    assert groups.send("a", a.epoch, owned={"t": {0, 1, 2, 3}}).member_epoch == 2
    assert groups.send("a", a.epoch, owned={"t": {0, 1, 2}}).member_epoch == 3


def test_members_that_do_not_give_up_are_removed(groups: VirtualConsumerGroups) -> None:
    """Heartbeats alone do not help; the rebalance time-out is for giving up."""
    a = groups.member("a")
    b = groups.member("b")
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    for _ in range(REBALANCE_MS // 1000 - 1):
        groups.advance(1000)
        groups.send("a", 2)
        b.beat()
    assert "a" in groups.group().members
    groups.advance(1000)
    assert groups.refused("a", 2) is Err.UNKNOWN_MEMBER_ID
    groups.settle(b)
    assert b.partitions == {"t": set(range(6))}
    assert any("a" in event.timed_out for event in groups.group().history)


def test_who_gave_up_in_time_stays(groups: VirtualConsumerGroups) -> None:
    a, b = groups.member("a"), groups.member("b")
    groups.settle(a, b)
    for _ in range(REBALANCE_MS // 10_000 + 1):
        groups.advance(10_000)
        a.beat(), b.beat()
    assert groups.group().members.keys() == {"a", "b"}


def test_silence_ends_a_session(groups: VirtualConsumerGroups) -> None:
    a, b = groups.member("a"), groups.member("b")
    groups.settle(a, b)
    groups.advance(SESSION_MS - 1)
    a.beat()
    groups.advance(1)
    assert groups.group().members.keys() == {"a"}
    assert groups.refused("b", b.epoch) is Err.UNKNOWN_MEMBER_ID
    groups.settle(a)
    assert a.partitions == {"t": set(range(6))}


def test_a_newer_target_overtakes_one_that_was_not_reached(groups: VirtualConsumerGroups) -> None:
    a = groups.member("a")
    groups.member("b")
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()  # shall give up 3, 4 and 5
    groups.send("b", -1)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    groups.settle(a)
    assert a.partitions == {"t": set(range(6))}


def test_targets_are_not_computed_more_often_than_allowed(groups: VirtualConsumerGroups) -> None:
    groups.member("a")
    groups.member("b")
    groups.member("c")
    assert groups.group().assignment_epoch == 2
    assert groups.group().state_name == "Assigning"
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    groups.send("c", 2)
    assert groups.group().assignment_epoch == 4


def test_without_an_interval_every_change_is_computed_at_once() -> None:
    groups = VirtualConsumerGroups({"t": 6}, group_consumer_assignment_interval_ms="0")
    groups.member("a")
    assert groups.member("b").epoch == groups.group().assignment_epoch == 3


def test_a_member_drops_topics_it_does_not_want_any_more() -> None:
    groups = VirtualConsumerGroups({"t": 2, "u": 2})
    a = groups.member("a", ("t", "u"))
    assert a.partitions == {"t": {0, 1}, "u": {0, 1}}
    reply = groups.send("a", a.epoch, subscribed_topic_names=["t"])
    assert reply.assignment is not None
    assert [e.partitions for e in reply.assignment.topic_partitions] == [[0, 1]]
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    groups.send("a", reply.member_epoch, owned={"t": {0, 1}})
    assert groups.owners() == {"a": {"t": {0, 1}}}
    assert groups.group().state_name == "Stable"


def test_fifty_members_that_come_at_once_are_stable_in_a_few_seconds() -> None:
    groups = VirtualConsumerGroups({"t": 100})
    members = [groups.member(f"m{n:02}") for n in range(50)]
    started = groups.runtime.now_ms()
    groups.settle(*members)
    assert groups.runtime.now_ms() - started <= 3 * ASSIGNMENT_INTERVAL_MS
    assert {len(m.partitions["t"]) for m in members} == {2}


def test_a_member_in_a_state_of_the_future_starts_over() -> None:
    """Such a record was written by a newer broker; what it meant nobody here knows."""
    member = Member("a", member_epoch=3, state=MemberState.UNKNOWN)
    facts = {"target": {}, "target_epoch": 4, "subscribed": set(), "subscription_changed": False}
    for owned in (None, {next(iter(VirtualConsumerGroups({"t": 1}).image.topics_by_id)): {0}}):
        with pytest.raises(ApiError) as caught:
            reconcile(member, is_held=lambda *_: False, owned=owned, **facts)  # type: ignore[arg-type]
        assert caught.value.err is Err.FENCED_MEMBER_EPOCH
    again = reconcile(member, is_held=lambda *_: False, owned={}, **facts)  # type: ignore[arg-type]
    assert (again.state, again.member_epoch) == (MemberState.STABLE, 4)
