"""SyncGroup: nobody is given an assignment before the log has it, and nobody waits for ever."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.errors import ApiError, Err


def _completing(groups: Any, count: int, **options: Any) -> list[str]:
    ids: list[str] = groups.gather([groups.enter(**options) for _ in range(count)])
    return ids


def test_followers_wait_for_the_leaders_assignment(groups: Any) -> None:
    leader, other = _completing(groups, 2)
    waiting = groups.sync(other, 1)
    assert waiting.parked
    led = groups.sync(leader, 1, {leader: b"L", other: b"O", "stranger": b"X"})
    assert (led.sync.assignment, waiting.sync.assignment) == (b"L", b"O")
    assert (led.sync.protocol_type, led.sync.protocol_name) == ("consumer", "range")
    assert groups.group().state_name == "Stable"


def test_the_log_has_the_assignment_before_anybody_else(groups: Any) -> None:
    leader, other = _completing(groups, 2)
    groups.runtime.hold()
    waiting = groups.sync(other, 1)
    led = groups.sync(leader, 1, {leader: b"L", other: b"O"})
    assert waiting.parked
    assert led.parked
    value = groups.runtime.log[-1].value
    assert {m.member_id: m.assignment for m in value.members} == {leader: b"L", other: b"O"}
    assert (value.generation, value.leader, value.protocol) == (1, leader, "range")
    groups.runtime.release()
    assert waiting.sync.assignment == b"O"


def test_a_generation_is_assigned_once_even_if_the_leader_repeats_itself(groups: Any) -> None:
    (leader,) = _completing(groups, 1)
    groups.runtime.hold()
    first = groups.sync(leader, 1, {leader: b"first"})
    written = len(groups.runtime.log)
    second = groups.sync(leader, 1, {leader: b"second"})
    assert first.err is Err.REBALANCE_IN_PROGRESS
    assert len(groups.runtime.log) == written
    groups.runtime.release()
    assert second.sync.assignment == b"first"


def test_members_the_leader_forgot_get_nothing(groups: Any) -> None:
    leader, other = _completing(groups, 2)
    groups.sync(leader, 1, {leader: b"all"})
    assert groups.sync(other, 1).sync.assignment == b""


def test_in_a_stable_group_the_assignment_comes_at_once(groups: Any) -> None:
    _, other = groups.stable(2)
    assert groups.sync(other, 1).sync.assignment == other.encode()


def test_a_member_that_joins_meanwhile_sends_all_back_to_join(groups: Any) -> None:
    _, other = _completing(groups, 2)
    waiting = groups.sync(other, 1)
    groups.enter()
    assert waiting.err is Err.REBALANCE_IN_PROGRESS
    assert groups.sync(other, 1).err is Err.REBALANCE_IN_PROGRESS


def test_an_assignment_that_comes_too_late_changes_nothing(groups: Any) -> None:
    leader, other = _completing(groups, 2)
    groups.runtime.hold()
    led = groups.sync(leader, 1, {leader: b"L", other: b"O"})
    groups.enter()
    assert led.err is Err.REBALANCE_IN_PROGRESS
    groups.runtime.release()
    assert groups.group().state_name == "PreparingRebalance"


def test_when_the_log_refuses_the_assignment_all_join_again(groups: Any) -> None:
    leader, other = _completing(groups, 2)
    waiting = groups.sync(other, 1)
    groups.runtime.append_error = Err.NOT_COORDINATOR
    with pytest.raises(ApiError):
        groups.sync(leader, 1, {leader: b"L"})
    assert waiting.err is Err.NOT_COORDINATOR
    assert groups.heartbeat(other, 1) is Err.REBALANCE_IN_PROGRESS
    groups.runtime.append_error = None
    again = [groups.join(leader), groups.join(other)]
    assert [call.join.generation_id for call in again] == [2, 2]


@pytest.mark.parametrize(
    ("member_id", "generation", "options", "err"),
    [
        ("ghost", 1, {}, Err.UNKNOWN_MEMBER_ID),
        ("c-1", 0, {}, Err.ILLEGAL_GENERATION),
        ("c-1", 2, {}, Err.ILLEGAL_GENERATION),
        ("c-1", 1, {"protocol_type": "connect"}, Err.INCONSISTENT_GROUP_PROTOCOL),
        ("c-1", 1, {"protocol_name": "sticky"}, Err.INCONSISTENT_GROUP_PROTOCOL),
        ("c-1", 1, {"instance": "i"}, Err.UNKNOWN_MEMBER_ID),
        ("c-1", 1, {"group_id": "other"}, Err.UNKNOWN_MEMBER_ID),
        ("c-1", 1, {"group_id": ""}, Err.INVALID_GROUP_ID),
        ("c-1", 1, {"protocol_type": None, "protocol_name": None}, Err.NONE),
    ],
)
def test_who_may_not_ask_is_told_why(
    groups: Any, member_id: str, generation: int, options: dict[str, Any], err: Err
) -> None:
    assert groups.stable(1) == ["c-1"]
    assert groups.sync(member_id, generation, **options).err is err


def test_a_leader_that_never_assigns_is_removed(groups: Any) -> None:
    leader, other = _completing(groups, 2, session_ms=1_000_000, rebalance_ms=60_000)
    waiting = groups.sync(other, 1)
    groups.advance(60_000)
    assert waiting.err is Err.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(leader, 1) is Err.UNKNOWN_MEMBER_ID
    again = groups.join(other)
    assert again.join.leader == other
    assert leader in groups.group().history[-1].timed_out


def test_a_follower_that_never_asks_is_removed(groups: Any) -> None:
    leader, lazy = _completing(groups, 2, session_ms=1_000_000, rebalance_ms=60_000)
    groups.sync(leader, 1, {leader: b"L"})
    groups.advance(60_000)
    assert groups.heartbeat(lazy, 1) is Err.UNKNOWN_MEMBER_ID
    assert groups.heartbeat(leader, 1) is Err.REBALANCE_IN_PROGRESS


def test_a_parked_member_does_not_lose_its_session(groups: Any) -> None:
    leader, other = _completing(groups, 2, session_ms=10_000)
    waiting = groups.sync(other, 1)
    for _ in range(5):
        groups.advance(9000)
        assert groups.heartbeat(leader, 1) is Err.NONE
    groups.sync(leader, 1, {other: b"O"})
    assert waiting.sync.assignment == b"O"
    groups.advance(9999)
    assert groups.heartbeat(other, 1) is Err.NONE
