"""Old offsets go: those of groups nobody uses, never those somebody reads (S-5.8)."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.coordinators.groups import expiry
from odradek.coordinators.groups.classic_group import ClassicGroup, ClassicState

MINUTE_MS = 60_000
RETENTION_MS = 10_080 * MINUTE_MS
CHECK_MS = 10 * MINUTE_MS


def group_of(desk: Any, name: str) -> ClassicGroup:
    group = desk.shard.table.get(name)
    assert isinstance(group, ClassicGroup)
    return group


def test_a_simple_consumers_offsets_expire_after_their_commit(desk: Any) -> None:
    """Each by its own age; the group goes with its last one."""
    desk.commit("g", ("t", 0, 1))
    desk.advance(RETENTION_MS // 2)
    desk.commit("g", ("t", 1, 2))
    desk.advance(RETENTION_MS // 2 + CHECK_MS)
    assert [desk.committed("g", "t", p) for p in (0, 1)] == [-1, 2]
    assert desk.groups() == ["g"]
    desk.advance(RETENTION_MS)
    assert desk.groups() == []
    assert [g.group_id for g in desk.reloaded().table] == []


def test_the_clock_of_an_empty_group_starts_when_its_last_member_leaves(desk: Any) -> None:
    desk.commit("g", ("t", 0, 1))
    group = group_of(desk, "g")
    group.type_of_members = "consumer"
    desk.advance(RETENTION_MS - MINUTE_MS)
    group.state_since_ms = desk.now_ms
    desk.advance(RETENTION_MS - MINUTE_MS)
    assert desk.committed("g") == 1
    desk.advance(CHECK_MS + MINUTE_MS)
    assert desk.committed("g") == -1


@pytest.mark.parametrize(
    ("state", "topics", "kept"),
    [
        (ClassicState.STABLE, frozenset({"t"}), True),
        (ClassicState.STABLE, frozenset({"u"}), False),
        (ClassicState.STABLE, None, True),
        (ClassicState.PREPARING_REBALANCE, frozenset({"u"}), True),
    ],
)
def test_a_living_group_keeps_what_it_reads(
    desk: Any, state: ClassicState, topics: frozenset[str] | None, kept: bool
) -> None:
    """And everything, while nobody knows what it reads."""
    desk.commit("g", ("t", 0, 1))
    group = group_of(desk, "g")
    group.type_of_members, group.state, group.topics = "consumer", state, topics
    desk.advance(RETENTION_MS + CHECK_MS)
    assert desk.committed("g") == (1 if kept else -1)
    assert desk.groups() == ["g"]


def test_an_old_clients_own_retention_counts(desk: Any) -> None:
    """OffsetCommit v2 to v4 may say how long to keep it."""
    desk.commit("g", ("t", 0, 1), version=4, retention_ms=5 * MINUTE_MS)
    desk.commit("h", ("t", 0, 1), version=4, retention_ms=2 * RETENTION_MS)
    desk.advance(CHECK_MS)
    assert desk.groups() == ["h"]
    desk.advance(RETENTION_MS + CHECK_MS)
    assert desk.committed("h") == 1


def test_an_open_transaction_holds_offsets_and_group(desk: Any) -> None:
    desk.commit("g", ("t", 0, 1), ("t", 1, 1))
    desk.commit_in(9, "g", ("t", 0, 2))
    desk.advance(RETENTION_MS + CHECK_MS)
    assert [desk.committed("g", "t", p) for p in (0, 1)] == [1, -1]
    desk.end(9, committed=False)
    desk.advance(CHECK_MS)
    assert desk.groups() == []


def test_many_expire_in_steps(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is bounded, and the next one follows at once."""
    monkeypatch.setattr(expiry, "RECORDS_PER_RUN_MAX", 5)
    for i in range(20):
        desk.commit(f"g{i}", ("t", 0, 1))
    desk.advance(RETENTION_MS + CHECK_MS)
    assert desk.groups() == []
