"""JoinGroup: who gets in, how long a join phase lasts, and who leads the generation it makes."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.errors import Err


def test_a_newcomer_is_given_an_id_first_and_comes_back_with_it(groups: Any) -> None:
    asked = groups.join(client_id="app")
    assert asked.err is Err.MEMBER_ID_REQUIRED
    assert asked.join.member_id == "app-1"
    joined = groups.join("app-1")
    assert joined.parked
    groups.advance(3000)
    answer = joined.join
    assert (answer.error_code, answer.generation_id, answer.leader) == (Err.NONE, 1, "app-1")
    assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")
    assert [m.member_id for m in answer.members] == ["app-1"]


@pytest.mark.parametrize("version", range(4))
def test_old_clients_are_let_in_at_once(groups: Any, version: int) -> None:
    joined = groups.join(version=version, client_id="old")
    groups.advance(3000)
    assert joined.join.member_id == "old-1"


def test_before_v1_the_session_timeout_is_the_rebalance_timeout(groups: Any) -> None:
    groups.join(version=0, rebalance_ms=-1, session_ms=7000)
    (member,) = groups.group().members
    assert member.rebalance_timeout_ms == 7000


@pytest.mark.parametrize("session_ms", [5999, 1_800_001, 0, -1])
def test_a_session_timeout_out_of_bounds_is_refused(groups: Any, session_ms: int) -> None:
    assert groups.join(session_ms=session_ms).err is Err.INVALID_SESSION_TIMEOUT
    assert len(groups.table) == 0


def test_an_empty_group_id_is_refused(groups: Any) -> None:
    assert groups.join(group_id="").err is Err.INVALID_GROUP_ID


def test_a_member_id_that_nobody_gave_is_unknown(groups: Any) -> None:
    assert groups.join("ghost").err is Err.UNKNOWN_MEMBER_ID  # no such group
    groups.stable(1)
    assert groups.join("ghost").err is Err.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("protocol_type", "protocols"), [("", ("range",)), ("consumer", ())], ids=["type", "protocols"]
)
def test_a_first_member_without_protocol_leaves_no_group_behind(
    groups: Any, protocol_type: str, protocols: tuple[str, ...]
) -> None:
    refused = groups.join(protocol_type=protocol_type, protocols=protocols)
    assert refused.err is Err.INCONSISTENT_GROUP_PROTOCOL
    assert len(groups.table) == 0
    assert not groups.runtime.log


def test_members_must_share_type_and_one_protocol(groups: Any) -> None:
    groups.stable(1, protocols=("range", "sticky"))
    err = Err.INCONSISTENT_GROUP_PROTOCOL
    assert groups.join(protocols=("roundrobin",)).err is err
    assert groups.join(protocol_type="connect").err is err
    assert groups.join(protocols=("sticky",)).err is Err.MEMBER_ID_REQUIRED


def test_the_protocol_is_chosen_by_vote_among_those_all_know(groups: Any) -> None:
    first = groups.enter(protocols=("a", "b", "c"))
    groups.enter(protocols=("c", "b"))
    groups.enter(protocols=("c", "b", "a"))
    groups.advance(10_000)
    assert first.join.protocol_name == "c"  # nobody may get `a`: the second does not know it


def test_the_leader_alone_sees_all_members_with_their_metadata(groups: Any) -> None:
    leader = groups.enter(protocols=(("range", b"one"),))
    other = groups.enter(protocols=(("range", b"two"),))
    groups.advance(10_000)
    assert {m.member_id: m.metadata for m in leader.join.members} == {
        leader.join.member_id: b"one",
        other.join.member_id: b"two",
    }
    assert other.join.members == []
    assert other.join.leader == leader.join.member_id


def test_the_initial_delay_grows_while_members_come_but_not_for_ever(groups_with: Any) -> None:
    groups = groups_with(group_initial_rebalance_delay_ms="3000")
    first = groups.enter(rebalance_ms=10_000)
    for _ in range(3):
        groups.advance(2900)
        groups.enter(rebalance_ms=10_000)
        assert first.parked
    groups.advance(1300)  # 10 s after the first one came, whoever came since
    assert first.join.generation_id == 1
    assert len(first.join.members) == 4


def test_without_company_the_delay_is_waited_for_once(groups: Any) -> None:
    joined = groups.enter()
    groups.advance(2999)
    assert joined.parked
    groups.advance(1)
    assert not joined.parked


def test_a_delay_of_zero_still_answers_through_the_timer(groups_with: Any) -> None:
    groups = groups_with(group_initial_rebalance_delay_ms="0")
    joined = groups.enter()
    groups.advance(0)
    assert joined.join.generation_id == 1


def test_a_rebalance_ends_when_the_last_member_has_joined(groups: Any) -> None:
    old = groups.stable(2)
    new = groups.enter()
    again = groups.join(old[0])
    assert new.parked
    assert again.parked
    last = groups.join(old[1])
    assert {new.join.generation_id, again.join.generation_id, last.join.generation_id} == {2}


def test_a_rebalance_waits_for_those_that_were_given_an_id(groups: Any) -> None:
    (old,) = groups.stable(1)
    pending = groups.join().join.member_id
    groups.enter()
    again = groups.join(old)
    assert again.parked
    groups.advance(10_000)  # its session is over: it will not come
    assert again.join.generation_id == 2
    assert groups.join(pending).err is Err.UNKNOWN_MEMBER_ID


def test_members_that_do_not_join_again_in_time_are_removed(groups: Any) -> None:
    stays, goes = groups.stable(2, rebalance_ms=20_000, session_ms=30_000)
    again = groups.join(stays, rebalance_ms=20_000, session_ms=30_000)
    groups.advance(19_999)
    assert again.parked
    groups.advance(1)
    assert [m.member_id for m in again.join.members] == [stays]
    assert groups.heartbeat(goes, 1) is Err.UNKNOWN_MEMBER_ID
    assert groups.group().history[-1].timed_out == (goes,)


def test_the_longest_rebalance_timeout_counts(groups: Any) -> None:
    slow = groups.enter(rebalance_ms=300_000)
    quick = groups.enter(rebalance_ms=10_000)
    groups.advance(10_000)
    groups.settle([slow.join.member_id, quick.join.member_id])
    again = groups.join(quick.join.member_id, rebalance_ms=10_000, protocols=("range", "x"))
    for _ in range(29):
        groups.advance(9000)
        assert groups.heartbeat(slow.join.member_id, 1) is Err.REBALANCE_IN_PROGRESS
    assert again.parked
    groups.advance(9000)
    assert groups.heartbeat(slow.join.member_id, 1) is Err.REBALANCE_IN_PROGRESS
    groups.advance(30_000)
    assert not again.parked


def test_the_lead_passes_to_one_who_has_joined(groups: Any) -> None:
    leader, other = groups.stable(2, session_ms=300_000, rebalance_ms=20_000)
    assert groups.group().leader_id == leader
    again = groups.join(other, protocols=("range", "x"), rebalance_ms=20_000)
    groups.advance(20_000)
    assert again.join.leader == other


def test_a_leader_that_joins_again_makes_all_join_again(groups: Any) -> None:
    leader, other = groups.stable(2)
    assert groups.join(leader, reason="a topic has more partitions").parked
    assert groups.heartbeat(other, 1) is Err.REBALANCE_IN_PROGRESS


def test_a_follower_that_joins_again_unchanged_is_told_the_current_generation(groups: Any) -> None:
    leader, other = groups.stable(2)
    answer = groups.join(other).join
    assert (answer.generation_id, answer.leader, answer.members) == (1, leader, [])
    assert groups.group().state_name == "Stable"


def test_a_member_that_missed_the_answer_gets_it_again(groups: Any) -> None:
    first, second = groups.enter(), groups.enter()
    groups.advance(10_000)
    again = groups.join(first.join.member_id).join
    assert again.generation_id == 1
    assert len(again.members) == 2
    assert groups.join(second.join.member_id).join.members == []
    changed = groups.join(second.join.member_id, protocols=("range", "sticky"))
    assert changed.parked  # other metadata needs another generation


def test_a_second_join_of_the_same_member_answers_the_first(groups: Any) -> None:
    first = groups.enter()
    member_id = next(iter(groups.group().members)).member_id
    second = groups.join(member_id)
    assert first.err is Err.REBALANCE_IN_PROGRESS
    groups.advance(10_000)
    assert second.join.generation_id == 1


def test_a_full_group_takes_nobody_else(groups_with: Any) -> None:
    groups = groups_with(group_max_size="2")
    ids = groups.stable(2)
    refused = groups.join()
    assert refused.err is Err.GROUP_MAX_SIZE_REACHED
    assert refused.join.member_id == ""
    assert groups.join(ids[1]).err is Err.NONE


def test_a_full_group_keeps_those_who_join_again_first(groups_with: Any) -> None:
    groups = groups_with(group_max_size="2")
    one, two = groups.stable(2)
    assert groups.join(one).parked
    newcomer = groups.join(version=3)  # takes the place of one that has not come back
    assert newcomer.parked
    assert groups.join(two).err is Err.GROUP_MAX_SIZE_REACHED
    assert newcomer.join.generation_id == 2  # nobody is missing any more
    assert len(groups.group().members) == 2


def test_a_group_larger_than_allowed_rebalances_after_loading(groups_with: Any) -> None:
    groups = groups_with()
    ids = groups.stable(3)
    groups.config, _ = type(groups.config).from_strings({"group.max.size": "2"})
    groups.crash()
    assert groups.group().state_name == "PreparingRebalance"
    calls = [groups.join(each) for each in ids]
    assert calls[2].err is Err.GROUP_MAX_SIZE_REACHED
    assert calls[0].join.generation_id == 2


def test_a_newcomer_that_waits_too_long_is_asked_to_try_again(groups: Any) -> None:
    groups.stable(1, rebalance_ms=3_600_000, session_ms=1_800_000)
    joined = groups.enter(rebalance_ms=3_600_000)
    groups.advance(299_999)
    assert joined.parked
    groups.advance(1)
    assert joined.err is Err.UNKNOWN_MEMBER_ID
    assert joined.join.member_id == ""


def test_when_the_new_group_cannot_be_written_it_is_not_there(groups: Any) -> None:
    from odradek.errors import ApiError

    groups.runtime.append_error = Err.COORDINATOR_NOT_AVAILABLE
    with pytest.raises(ApiError):
        groups.join(version=3)
    assert len(groups.table) == 0
    assert not groups.runtime.timers.keys
