"""Who may commit and fetch offsets of a consumer group, and what keeps a group from being deleted."""

from __future__ import annotations

from typing import Any

import pytest

from odradek.errors import ApiError, Err
from odradek.testing.virtual_consumers import VirtualConsumerGroups


def commit(
    groups: VirtualConsumerGroups,
    member_id: str,
    epoch: int,
    *,
    transactional: bool = False,
    version: int = 9,
) -> Err:
    return _told(
        groups.group().check_offset_commit,
        member_id,
        None,
        epoch,
        is_transactional=transactional,
        api_version=version,
    )


def fetch(groups: VirtualConsumerGroups, member_id: str | None, epoch: int) -> Err:
    return _told(groups.group().check_offset_fetch, member_id, epoch)


def _told(check: Any, *args: object, **kwargs: object) -> Err:
    try:
        check(*args, **kwargs)
    except ApiError as error:
        return error.err
    return Err.NONE


def test_commits(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    assert commit(groups, "a", 2) is Err.NONE
    assert commit(groups, "a", 3) is Err.STALE_MEMBER_EPOCH
    assert commit(groups, "a", 1) is Err.STALE_MEMBER_EPOCH
    assert commit(groups, "b", 2) is Err.UNKNOWN_MEMBER_ID
    assert commit(groups, "", -1) is Err.UNKNOWN_MEMBER_ID
    assert commit(groups, "a", 2, version=8) is Err.UNSUPPORTED_VERSION


def test_a_member_that_is_behind_commits_what_it_has_held_since(
    groups: VirtualConsumerGroups,
) -> None:
    """A heartbeat moved it on while the commit was under way; nobody else can have read in between."""
    a, b = groups.member("a"), groups.member("b")
    groups.settle(a, b)
    (topic_id,) = groups.image.topics_by_id
    held = groups.group().held_since
    assert (a.epoch, b.epoch) == (3, 3)
    assert all(held("a", 2, topic_id, p) == (p in a.partitions["t"]) for p in range(6))
    assert not any(held("b", 2, topic_id, p) for p in range(6))  # got them at 3
    assert not held("a", 1, topic_id, 0)
    assert not held("a", 4, topic_id, 0)
    assert not held("stranger", 3, topic_id, 0)


def test_commits_of_transactions(groups: VirtualConsumerGroups) -> None:
    """Producers before KIP-447 name no member and may commit all the same."""
    groups.join("a")
    assert commit(groups, "", -1, transactional=True) is Err.NONE
    assert commit(groups, "a", 2, transactional=True, version=3) is Err.NONE
    assert commit(groups, "a", 1, transactional=True) is Err.STALE_MEMBER_EPOCH


def test_anybody_may_commit_to_an_empty_group(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    groups.send("a", -1)
    assert commit(groups, "", -1) is Err.NONE
    assert commit(groups, "a", 2) is Err.UNKNOWN_MEMBER_ID


def test_fetches(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    assert fetch(groups, None, -1) is Err.NONE
    assert fetch(groups, "a", 2) is Err.NONE
    assert fetch(groups, "a", 1) is Err.STALE_MEMBER_EPOCH
    assert fetch(groups, "b", 2) is Err.UNKNOWN_MEMBER_ID
    assert fetch(groups, "", 0) is Err.UNKNOWN_MEMBER_ID


def test_only_an_empty_group_is_deleted(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    with pytest.raises(ApiError) as caught:
        groups.group().check_delete()
    assert caught.value.err is Err.NON_EMPTY_GROUP
    groups.send("a", -1)
    groups.group().check_delete()
    assert groups.group().expired_since() is None
