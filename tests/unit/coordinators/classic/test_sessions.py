"""Heartbeats, silence and goodbyes: S-5.2, S-5.2b, S-5.2c."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.errors import ApiError, Err
from odradek.protocol.messages.leave_group import MemberIdentity


def test_a_member_that_beats_stays(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    for _ in range(10):
        groups.advance(9999)
        assert groups.heartbeat(member_id, 1) is Err.NONE
    assert groups.group().state_name == "Stable"


def test_the_partitions_of_a_silent_member_go_to_a_peer(groups: Any) -> None:
    """S-5.2b: after the session time-out, not before."""
    stays, silent = groups.stable(2)
    groups.advance(5000)
    assert groups.heartbeat(stays, 1) is Err.NONE
    groups.advance(4999)
    assert groups.heartbeat(stays, 1) is Err.NONE
    groups.advance(1)
    assert groups.heartbeat(stays, 1) is Err.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(silent, 1) is Err.UNKNOWN_MEMBER_ID
    answer = groups.join(stays).join
    assert [m.member_id for m in answer.members] == [stays]
    event = groups.group().history[-1]
    assert event.timed_out == (silent,)
    assert silent in event.reason


def test_a_member_that_leaves_is_missed_at_once(groups: Any) -> None:
    """S-5.2: peers need not wait for a session time-out."""
    stays, leaves = groups.stable(2)
    assert groups.leave(leaves) == [Err.NONE]
    assert groups.heartbeat(stays, 1) is Err.REBALANCE_IN_PROGRESS
    assert groups.join(stays).join.generation_id == 2
    assert groups.group().history[-1].left == (leaves,)


def test_an_idle_member_takes_over(groups: Any) -> None:
    """S-5.2c: of four members on three partitions one dies; the idle one is assigned its part."""
    ids = groups.stable(4)
    groups.leave(ids[1])
    rest = [ids[0], *ids[2:]]
    calls = [groups.join(each) for each in rest]
    assert {call.join.generation_id for call in calls} == {2}
    groups.settle(rest)


def test_the_last_one_to_leave_empties_the_group(groups: Any) -> None:
    one, two = groups.stable(2)
    assert groups.leave(one, two) == [Err.NONE, Err.NONE]
    group = groups.group()
    assert (group.state_name, group.generation, group.protocol_type) == ("Empty", 2, "consumer")
    value = groups.runtime.log[-1].value
    assert (value.members, value.leader, value.protocol, value.generation) == ([], None, None, 2)
    assert group.expired_since() == groups.runtime.now_ms()


def test_all_members_silent_empties_the_group(groups: Any) -> None:
    groups.stable(3)
    groups.advance(100_000)
    assert groups.group().state_name == "Empty"
    assert not groups.runtime.timers.keys


@pytest.mark.parametrize(
    ("member_id", "generation", "options", "err"),
    [
        ("ghost", 1, {}, Err.UNKNOWN_MEMBER_ID),
        ("c-1", 0, {}, Err.ILLEGAL_GENERATION),
        ("c-1", 9, {}, Err.ILLEGAL_GENERATION),
        ("c-1", 1, {"group_id": "none"}, Err.UNKNOWN_MEMBER_ID),
        ("c-1", 1, {"group_id": ""}, Err.INVALID_GROUP_ID),
        ("c-1", 1, {"instance": "nobody"}, Err.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeats_of_others_are_refused(
    groups: Any, member_id: str, generation: int, options: dict[str, Any], err: Err
) -> None:
    assert groups.stable(1) == ["c-1"]
    assert groups.heartbeat(member_id, generation, **options) is err


def test_leaving_says_per_member_what_became_of_it(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    pending = groups.join().join.member_id
    gone = groups.leave(
        "ghost",
        pending,
        MemberIdentity(member_id=member_id, group_instance_id="i"),
        MemberIdentity(member_id="", group_instance_id="i"),
        MemberIdentity(member_id=""),
    )
    unknown = Err.UNKNOWN_MEMBER_ID
    assert gone == [unknown, Err.NONE, unknown, unknown, unknown]
    assert groups.group().state_name == "Stable"  # nobody who had partitions left
    assert groups.leave("x", group_id="none") == [unknown]


def test_leaving_answers_what_the_member_still_waits_for(groups: Any) -> None:
    joined = groups.enter()
    member_id = next(iter(groups.group().members)).member_id
    groups.leave(member_id)
    assert joined.err is Err.UNKNOWN_MEMBER_ID
    groups.advance(10_000)
    assert groups.group().state_name == "Empty"


def test_one_that_was_given_an_id_and_leaves_is_not_waited_for(groups: Any) -> None:
    (old,) = groups.stable(1)
    pending = groups.join().join.member_id
    again = groups.join(old)
    assert again.parked
    groups.leave(pending)
    assert again.join.generation_id == 2


def test_an_id_that_nobody_comes_back_with_expires(groups: Any) -> None:
    pending = groups.join().join.member_id
    groups.advance(10_000)
    assert groups.join(pending).err is Err.UNKNOWN_MEMBER_ID
    assert not groups.runtime.timers.keys


def test_commits_keep_the_session_too(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    groups.advance(9000)
    groups.classic.keep_session(groups.group(), member_id)
    groups.advance(9000)
    assert groups.heartbeat(member_id, 1) is Err.NONE


def _commit_err(
    groups: Any,
    member_id: str,
    generation: int,
    instance: str | None = None,
    *,
    transactional: bool = False,
) -> Err:
    try:
        groups.group().check_offset_commit(
            member_id, instance, generation, is_transactional=transactional, api_version=9
        )
    except ApiError as error:
        return error.err
    return Err.NONE


def test_who_may_commit_to_a_group_with_members(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    assert _commit_err(groups, member_id, 1) is Err.NONE
    assert _commit_err(groups, member_id, 0) is Err.ILLEGAL_GENERATION
    assert _commit_err(groups, "ghost", 1) is Err.UNKNOWN_MEMBER_ID
    assert _commit_err(groups, "", -1) is Err.UNKNOWN_MEMBER_ID
    assert _commit_err(groups, member_id, 1, "i") is Err.UNKNOWN_MEMBER_ID
    assert _commit_err(groups, "", -1, transactional=True) is Err.NONE  # old producers say no more
    assert _commit_err(groups, member_id, 2, transactional=True) is Err.ILLEGAL_GENERATION


def test_who_may_commit_while_a_group_rebalances(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    groups.join(member_id)
    assert groups.group().state_name == "CompletingRebalance"
    assert _commit_err(groups, member_id, 2) is Err.REBALANCE_IN_PROGRESS
    assert _commit_err(groups, member_id, 2, transactional=True) is Err.NONE
    groups.settle([member_id])
    groups.enter()
    assert groups.group().state_name == "PreparingRebalance"
    assert _commit_err(groups, member_id, 2) is Err.NONE  # its last word before it joins again


def test_anybody_may_commit_to_an_empty_group(groups: Any) -> None:
    groups.leave(*groups.stable(1))
    assert _commit_err(groups, "", -1) is Err.NONE
    assert _commit_err(groups, "c-1", 2) is Err.UNKNOWN_MEMBER_ID


def test_a_group_with_members_is_not_deleted(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    with pytest.raises(ApiError) as error:
        groups.group().check_delete()
    assert error.value.err is Err.NON_EMPTY_GROUP
    groups.leave(member_id)
    group = groups.group()
    group.check_delete()
    for record in group.tombstones():
        groups.classic.replay(record)
    assert groups.table.get("g") is None
    assert group.state_name == "Dead"
    assert _dead_err(group) is Err.COORDINATOR_NOT_AVAILABLE


def _dead_err(group: Any) -> Err:
    with pytest.raises(ApiError) as error:
        group.check_offset_commit("", None, -1, is_transactional=False, api_version=9)
    return error.value.err


def test_when_another_broker_takes_over_all_who_wait_are_sent_there(groups: Any) -> None:
    one, two = groups.stable(2)
    joining, other = groups.join(one), groups.enter(group_id="h")
    groups.classic.on_unloaded()
    assert (joining.err, other.err) == (Err.NOT_COORDINATOR, Err.NOT_COORDINATOR)
    assert groups.group().state_name == "Dead"
    assert not groups.runtime.timers.keys
    assert groups.heartbeat(two, 1) is Err.COORDINATOR_NOT_AVAILABLE
