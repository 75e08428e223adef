"""What the log knows: after a crash a group is what it was when it was last assigned."""

from __future__ import annotations

from typing import Any

from odradek.errors import Err


def test_members_of_a_stable_group_do_not_notice_a_restart(groups: Any) -> None:
    leader, other = groups.stable(2)
    before = groups.group().describe()
    groups.crash()
    assert groups.group().describe() == before
    assert groups.heartbeat(leader, 1) is Err.NONE
    assert groups.sync(other, 1).sync.assignment == other.encode()


def test_members_that_do_not_come_back_after_a_restart_time_out(groups: Any) -> None:
    one, two = groups.stable(2)
    groups.crash()
    groups.advance(9000)
    assert groups.heartbeat(one, 1) is Err.NONE
    groups.advance(1000)
    assert groups.heartbeat(two, 1) is Err.UNKNOWN_MEMBER_ID
    assert groups.join(one).join.generation_id == 2


def test_a_crash_while_members_join_falls_back_to_the_last_assignment(groups: Any) -> None:
    one, two = groups.stable(2)
    newcomer = groups.enter()
    groups.join(one)
    assert newcomer.parked
    groups.crash()
    assert groups.group().state_name == "Stable"
    assert groups.heartbeat(two, 1) is Err.NONE
    calls = [groups.join(one), groups.join(two)]
    assert [call.join.generation_id for call in calls] == [2, 2]


def test_a_crash_before_the_assignment_is_written_sends_members_to_join_again(groups: Any) -> None:
    one, two = groups.stable(2)
    groups.join(one)
    groups.join(two)
    assert groups.group().generation == 2
    groups.crash()
    assert groups.heartbeat(one, 2) is Err.ILLEGAL_GENERATION
    assert groups.sync(one, 2, {one: b"x"}).err is Err.ILLEGAL_GENERATION


def test_an_empty_group_is_remembered_with_its_generation(groups: Any) -> None:
    groups.leave(*groups.stable(1))
    since = groups.group().expired_since()
    groups.advance(1000)
    groups.crash()
    group = groups.group()
    assert (group.state_name, group.generation, group.protocol_type) == ("Empty", 2, "consumer")
    assert group.expired_since() == since
    joined = groups.enter(protocol_type="connect", protocols=("compatible",))
    groups.advance(3000)
    assert joined.join.generation_id == 3


def test_a_group_that_was_only_asked_for_is_remembered_as_empty(groups: Any) -> None:
    groups.join()
    groups.crash()
    assert groups.group().state_name == "Empty"
    assert groups.group().is_simple


def test_a_deleted_group_stays_deleted(groups: Any) -> None:
    groups.leave(*groups.stable(1))
    for record in groups.group().tombstones():
        groups.runtime.log.append(record)
    groups.crash()
    assert groups.table.get("g") is None


def test_values_are_written_in_the_version_kafka_writes(groups: Any) -> None:
    groups.stable(1)
    assert {record.value_version for record in groups.runtime.log} == {3}


def test_what_consumers_read_is_known_from_their_metadata(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    group = groups.group()
    assert group.is_subscribed_to("t")
    assert not group.is_subscribed_to("u")
    groups.leave(member_id)
    assert not group.is_subscribed_to("t")


def test_metadata_that_cannot_be_read_may_mean_any_topic(groups: Any) -> None:
    groups.stable(1, protocols=(("range", b"\0\1garbage"),))
    assert groups.group().is_subscribed_to("anything")


def test_only_a_stable_group_shows_metadata_and_assignments(groups: Any) -> None:
    (member_id,) = groups.stable(1)
    shown = groups.group().describe()
    assert (shown.group_state, shown.protocol_type, shown.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (row,) = shown.members
    assert (row.client_id, row.client_host) == ("c", "/10.0.0.1")
    assert row.member_assignment == member_id.encode()
    groups.enter()
    hidden = groups.group().describe()
    assert (hidden.group_state, hidden.protocol_data) == ("PreparingRebalance", "")
    assert all(not row.member_metadata and not row.member_assignment for row in hidden.members)


def test_an_offsets_only_group_becomes_a_group_with_members(groups: Any) -> None:
    from odradek.coordinators.groups.classic_group import ClassicGroup

    groups.table.put(ClassicGroup("g"))
    joined = groups.enter()
    groups.advance(3000)
    assert joined.join.generation_id == 1


def test_history_tells_why_and_forgets_the_oldest(groups: Any) -> None:
    (leader,) = groups.stable(1)
    first = groups.group().history[0]
    assert first.joined == (leader,)
    assert first.reason == f"member {leader} joined"
    assert first.time_ms - first.started_ms == 3000
    for _ in range(60):
        groups.join(leader, reason="more partitions")
        groups.settle([leader])
    history = groups.group().history
    assert len(history) == 50
    assert (
        history[-1].reason
        == f"leader {leader} asked for a rebalance; client reason: more partitions"
    )
    assert history[-1].generation == 61
