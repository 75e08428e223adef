"""Committed offsets: who may commit, what is kept, what a fetch sees, what deletion takes away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from odradek.coordinators.groups.offsets import NOT_COMMITTED
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage


def test_a_simple_consumer_commits_without_joining(desk: Any) -> None:
    """Its group appears with the first record, as a classic group without a protocol (S-5.1)."""
    assert desk.commit("g", ("t", 0, 5, "note"), ("t", 1, 7)) == [Err.NONE, Err.NONE]
    found = desk.shard.offsets.fetch("g", "t", 0, require_stable=True)
    assert (found.offset, found.metadata) == (5, "note")
    assert desk.committed("g", "t", 1) == 7
    assert desk.committed("g", "t", 2) == -1
    (summary,) = desk.shard.list_groups((), ())
    assert summary == ("g", "", "Empty", "classic")


def test_an_offset_may_go_back_when_the_client_says_so(desk: Any) -> None:
    desk.commit("g", ("t", 0, 5))
    desk.commit("g", ("t", 0, 2))
    assert desk.committed("g") == 2


@pytest.mark.parametrize(
    ("generation", "version", "err"),
    [
        (3, 8, Err.ILLEGAL_GENERATION),
        (3, 9, Err.GROUP_ID_NOT_FOUND),
        (0, 2, Err.ILLEGAL_GENERATION),
    ],
)
def test_a_member_of_no_group_is_refused(
    desk: Any, generation: int, version: int, err: Err
) -> None:
    """With the code its version knows; nothing is written."""
    with pytest.raises(ApiError) as caught:
        desk.commit("g", ("t", 0, 5), generation=generation, member="m", version=version)
    assert caught.value.err is err
    assert desk.log == []
    assert desk.groups() == []


def test_a_member_of_a_simple_group_is_refused(desk: Any) -> None:
    desk.commit("g", ("t", 0, 5))
    with pytest.raises(ApiError) as caught:
        desk.commit("g", ("t", 0, 6), generation=0, member="m")
    assert caught.value.err is Err.UNKNOWN_MEMBER_ID
    assert desk.committed("g") == 5


def test_long_notes_are_refused_one_by_one(desk: Any) -> None:
    """offset.metadata.max.bytes; the other partitions of the request are committed."""
    told = desk.commit("g", ("t", 0, 1, "n" * 4096), ("t", 1, 2, "n" * 4097), ("t", 2, 3))
    assert told == [Err.NONE, Err.OFFSET_METADATA_TOO_LARGE, Err.NONE]
    assert [desk.committed("g", "t", p) for p in range(3)] == [1, -1, 3]


def test_an_offset_belongs_to_the_topic_of_its_time(desk: Any) -> None:
    """Asked by id (v10), an offset of an earlier topic of that name is none."""
    old, new = UUID(int=1), UUID(int=2)
    desk.commit("g", ("t", 0, 5), version=10, topic_id=old)
    assert desk.committed("g", topic_id=old) == 5
    assert desk.committed("g") == 5
    assert (
        desk.shard.offsets.fetch("g", "t", 0, require_stable=False, topic_id=new) == NOT_COMMITTED
    )


# -- transactions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_decides_about_its_offsets(desk: Any, committed: bool) -> None:
    """Until then they are not seen, and who asks for stable ones is told to wait (KIP-447)."""
    desk.commit("g", ("t", 0, 1))
    assert desk.commit_in(9, "g", ("t", 0, 5)) == [Err.NONE]
    assert desk.committed("g") == 1
    unstable = desk.shard.offsets.fetch("g", "t", 0, require_stable=True)
    assert (unstable.err, unstable.offset) == (Err.UNSTABLE_OFFSET_COMMIT, -1)
    assert desk.committed("g", "t", 1, require_stable=True) == -1
    desk.end(9, committed=committed)
    assert desk.committed("g", require_stable=True) == (5 if committed else 1)


def test_the_first_offsets_of_a_group_may_be_undecided(desk: Any) -> None:
    """A consumer that starts now must wait, or it would read from the beginning what was processed."""
    desk.commit_in(9, "g", ("t", 0, 5))
    for shard in (desk.shard, desk.reloaded()):
        assert shard.offsets.check_fetch("g", None, -1)
        found = shard.offsets.fetch("g", "t", 0, require_stable=True)
        assert found.err is Err.UNSTABLE_OFFSET_COMMIT


def test_the_later_record_wins_over_an_earlier_one_of_a_transaction(desk: Any) -> None:
    """What was committed outside, after the transaction wrote, is newer than its marker says."""
    desk.commit_in(9, "g", ("t", 0, 5))
    desk.commit("g", ("t", 0, 8))
    desk.end(9, committed=True)
    assert desk.committed("g") == 8


def test_transactions_of_several_producers_are_independent(desk: Any) -> None:
    desk.commit_in(8, "g", ("t", 0, 3))
    desk.commit_in(9, "g", ("t", 0, 5), ("u", 0, 6))
    desk.end(9, committed=True)
    assert desk.shard.offsets.is_pending("g", "t", 0)
    assert not desk.shard.offsets.is_pending("g", "u", 0)
    desk.end(8, committed=True)
    assert desk.committed("g", require_stable=True) == 5  # written later than producer 8's
    assert not desk.shard.offsets.has_open_transaction("g")


def test_a_group_whose_only_transaction_was_aborted_goes_away(desk: Any) -> None:
    desk.commit_in(9, "g", ("t", 0, 5))
    desk.end(9, committed=False)
    desk.advance(10 * 60_000)
    assert desk.groups() == []


def test_a_transactional_commit_of_a_stranger_is_refused(desk: Any) -> None:
    with pytest.raises(ApiError) as caught:
        desk.commit_in(9, "g", ("t", 0, 5), generation=4)
    assert caught.value.err is Err.ILLEGAL_GENERATION


# -- deleting -------------------------------------------------------------------------------------


def test_offsets_are_deleted_by_partition(desk: Any) -> None:
    """Deleting what is not there is fine; a group that is not there is not."""
    desk.commit("g", ("t", 0, 1), ("t", 1, 2), ("u", 0, 3))
    told = desk.run(desk.shard.offsets.delete("g", [("t", [0, 2]), ("u", [0])]))
    assert told == [("t", [(0, Err.NONE), (2, Err.NONE)]), ("u", [(0, Err.NONE)])]
    assert [desk.committed("g", "t", p) for p in (0, 1)] == [-1, 2]
    assert desk.committed("g", "u") == -1
    with pytest.raises(ApiError) as caught:
        desk.run(desk.shard.offsets.delete("none", [("t", [0])]))
    assert caught.value.err is Err.GROUP_ID_NOT_FOUND


def test_a_deleted_group_takes_its_offsets_along(desk: Any) -> None:
    """Undecided ones too: the transaction's end does not bring them back."""
    desk.commit("g", ("t", 0, 1), ("u", 0, 2))
    desk.commit_in(9, "g", ("t", 1, 5))
    desk.run(desk.shard.delete_group("g"))
    desk.end(9, committed=True)
    assert desk.groups() == []
    assert [desk.committed("g", "t", p) for p in (0, 1)] == [-1, -1]
    with pytest.raises(ApiError) as caught:
        desk.run(desk.shard.delete_group("g"))
    assert caught.value.err is Err.GROUP_ID_NOT_FOUND


def test_a_deleted_topic_takes_its_offsets_along(
    desk: Any, image: Callable[..., MetadataImage]
) -> None:
    """Those of a transaction too; other topics keep theirs."""
    desk.commit("g", ("t", 0, 1), ("u", 0, 2))
    desk.commit_in(9, "h", ("t", 0, 5))
    desk.run(desk.shard.on_metadata(image("u")))
    desk.end(9, committed=True)
    assert (desk.committed("g"), desk.committed("g", "u"), desk.committed("h")) == (-1, 2, -1)


def test_a_topic_deleted_while_the_broker_was_down_is_noticed(
    desk: Any, image: Callable[..., MetadataImage]
) -> None:
    """A topic created later under the same name does not inherit positions."""
    desk.commit("g", ("t", 0, 1), ("u", 0, 2))
    desk.shard = desk.reloaded()
    desk.run(desk.shard.on_loaded(image("u")))
    assert (desk.committed("g"), desk.committed("g", "u")) == (-1, 2)


# -- the log --------------------------------------------------------------------------------------


def test_loading_equals_running(desk: Any) -> None:
    desk.commit("g", ("t", 0, 1), ("t", 1, 2))
    desk.commit_in(8, "g", ("t", 0, 5))
    desk.commit_in(9, "h", ("u", 0, 6))
    desk.end(8, committed=True)
    desk.commit("gone", ("t", 0, 1))
    desk.run(desk.shard.delete_group("gone"))
    again = desk.reloaded()
    for group in ("g", "h", "gone"):
        assert list(again.offsets.of_group(group)) == list(desk.shard.offsets.of_group(group))
    assert again.offsets.is_pending("h", "u", 0)
    assert [g.group_id for g in again.table] == [g.group_id for g in desk.shard.table]


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        ((), (), True),
        (("empty",), (), True),
        (("stable",), (), False),
        ((), ("classic",), True),
        ((), ("consumer",), False),
    ],
)
def test_groups_are_listed_by_state_and_type(
    desk: Any, states: tuple[str, ...], types: tuple[str, ...], found: bool
) -> None:
    desk.commit("g", ("t", 0, 1))
    assert bool(desk.shard.list_groups(states, types)) == found
