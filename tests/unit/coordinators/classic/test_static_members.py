"""Static membership (KIP-345): a member that starts again keeps its place; its double is fenced."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.errors import ApiError, Err
from odradek.protocol.messages.leave_group import MemberIdentity


def _stable(groups: Any, *instances: str, **options: Any) -> list[str]:
    ids: list[str] = groups.gather([groups.join(instance=each, **options) for each in instances])
    groups.settle(ids)
    return ids


def test_a_static_member_needs_no_id_first_and_is_named_after_its_instance(groups: Any) -> None:
    assert _stable(groups, "i1") == ["i1-1"]


def test_a_restart_keeps_generation_and_assignment(groups: Any) -> None:
    leader, old = _stable(groups, "i1", "i2")
    again = groups.join(instance="i2").join
    assert (again.error_code, again.generation_id, again.leader) == (Err.NONE, 1, leader)
    assert again.member_id != old
    assert again.members == []
    assert not again.skip_assignment
    assert groups.sync(again.member_id, 1, instance="i2").sync.assignment == old.encode()
    assert groups.heartbeat(leader, 1, instance="i1") is Err.NONE


def test_the_log_knows_the_new_id(groups: Any) -> None:
    _, old = _stable(groups, "i1", "i2")
    new = groups.join(instance="i2").join.member_id
    groups.crash()
    assert groups.heartbeat(new, 1, instance="i2") is Err.NONE
    assert groups.heartbeat(old, 1, instance="i2") is Err.FENCED_INSTANCE_ID


def test_a_leader_that_restarts_skips_the_assignment(groups: Any) -> None:
    """KIP-814: from v9 on it sees the members, to watch their topics, and is told not to assign."""
    _stable(groups, "i1", "i2")
    again = groups.join(instance="i1", version=9).join
    assert again.skip_assignment
    assert again.leader == again.member_id
    assert len(again.members) == 2


@pytest.mark.parametrize("version", [5, 8])
def test_before_v9_the_restarted_leader_believes_another_leads(groups: Any, version: int) -> None:
    leader, _ = _stable(groups, "i1", "i2")
    again = groups.join(instance="i1", version=version).join
    assert (again.leader, again.members, again.skip_assignment) == (leader, [], False)
    assert groups.group().leader_id == again.member_id


def test_a_double_is_fenced(groups: Any) -> None:
    (old,) = _stable(groups, "i1")
    new = groups.join(instance="i1").join.member_id
    assert groups.heartbeat(old, 1, instance="i1") is Err.FENCED_INSTANCE_ID
    assert groups.sync(old, 1, instance="i1").err is Err.FENCED_INSTANCE_ID
    assert groups.join(old, instance="i1").err is Err.FENCED_INSTANCE_ID
    assert groups.leave(MemberIdentity(member_id=old, group_instance_id="i1")) == [
        Err.FENCED_INSTANCE_ID
    ]
    with pytest.raises(ApiError) as error:
        groups.group().check_offset_commit(old, "i1", 1, is_transactional=False, api_version=9)
    assert error.value.err is Err.FENCED_INSTANCE_ID
    assert groups.heartbeat(new, 1, instance="i1") is Err.NONE


def test_a_double_that_waits_is_fenced_at_once(groups: Any) -> None:
    first = groups.join(instance="i1")
    second = groups.join(instance="i1")
    assert first.err is Err.FENCED_INSTANCE_ID
    groups.advance(10_000)
    assert second.join.generation_id == 1
    assert len(groups.group().members) == 1


def test_a_double_that_waits_for_its_assignment_is_fenced_and_all_join_again(groups: Any) -> None:
    one, two = groups.gather([groups.join(instance=each) for each in ("i1", "i2")])
    waiting = groups.sync(two, 1, instance="i2")
    again = groups.join(instance="i2")
    assert waiting.err is Err.FENCED_INSTANCE_ID
    assert again.parked
    assert groups.heartbeat(one, 1, instance="i1") is Err.REBALANCE_IN_PROGRESS


def test_a_restart_with_other_protocols_rebalances(groups: Any) -> None:
    _stable(groups, "i1", protocols=("range", "sticky"))
    again = groups.join(instance="i1", protocols=("sticky",)).join
    assert (again.generation_id, again.protocol_name) == (2, "sticky")


def test_a_restart_within_a_rebalance_does_not_hold_it_up(groups: Any) -> None:
    one, _ = _stable(groups, "i1", "i2")
    again = groups.join(one, instance="i1")
    assert again.parked
    restarted = groups.join(instance="i2")
    assert again.join.generation_id == restarted.join.generation_id == 2


def test_a_static_member_that_does_not_join_again_keeps_its_place_until_its_session_ends(
    groups: Any,
) -> None:
    one, two = _stable(groups, "i1", "i2", session_ms=100_000, rebalance_ms=10_000)
    again = groups.join(one, instance="i1", session_ms=100_000, rebalance_ms=10_000)
    groups.advance(10_000)
    assert [m.member_id for m in again.join.members] == [one, two]


def test_with_nobody_back_the_join_phase_goes_on(groups: Any) -> None:
    one, two = _stable(groups, "i1", "i2", session_ms=30_000, rebalance_ms=10_000)
    groups.leave(MemberIdentity(member_id=one, group_instance_id="i1"))
    groups.advance(25_000)
    assert groups.group().state_name == "PreparingRebalance"
    assert groups.heartbeat(two, 1, instance="i2") is Err.REBALANCE_IN_PROGRESS
    groups.advance(100_000)
    assert groups.group().state_name == "Empty"


def test_an_administrator_removes_a_static_member_by_its_instance(groups: Any) -> None:
    one, two = _stable(groups, "i1", "i2")
    assert groups.leave(MemberIdentity(member_id="", group_instance_id="i2")) == [Err.NONE]
    assert groups.heartbeat(two, 1, instance="i2") is Err.UNKNOWN_MEMBER_ID
    assert groups.heartbeat(one, 1, instance="i1") is Err.REBALANCE_IN_PROGRESS


def test_a_member_id_without_its_instance_is_not_somebody_else(groups: Any) -> None:
    (member_id,) = _stable(groups, "i1")
    assert groups.heartbeat(member_id, 1, instance="i2") is Err.UNKNOWN_MEMBER_ID
    pending = groups.join().join.member_id
    assert groups.join(pending, instance="i3").err is Err.UNKNOWN_MEMBER_ID


def test_when_the_new_id_cannot_be_written_the_old_one_goes_on(groups: Any) -> None:
    leader, old = _stable(groups, "i1", "i2")
    groups.runtime.append_error = Err.NOT_COORDINATOR
    with pytest.raises(ApiError):
        groups.join(instance="i1")
    with pytest.raises(ApiError):
        groups.join(instance="i2")
    groups.runtime.append_error = None
    assert groups.heartbeat(leader, 1, instance="i1") is Err.NONE
    assert groups.heartbeat(old, 1, instance="i2") is Err.NONE
    assert groups.group().leader_id == leader
    assert groups.sync(old, 1, instance="i2").sync.assignment == old.encode()
    groups.advance(30_000)
    assert groups.group().state_name == "Empty"  # sessions are watched under the right ids
