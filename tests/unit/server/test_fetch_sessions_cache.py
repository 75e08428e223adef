"""The cache of fetch sessions keeps KIP-227's rules: epochs, eviction, names and ids apart."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

import pytest

from odradek.errors import ApiError, Err
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from odradek.server.fetch_sessions import (
    EVICTION_MS,
    FINAL_EPOCH,
    FULL_EPOCH,
    NO_SESSION,
    FetchSessions,
)

TOPIC_ID = UUID(int=5)


def request(
    partitions: dict[int, int],
    *,
    session_id: int = NO_SESSION,
    epoch: int = FULL_EPOCH,
    forget: tuple[int, ...] = (),
    topic: str = "t",
    topic_id: UUID = TOPIC_ID,
) -> FetchRequest:
    wanted = [
        FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=100)
        for p, offset in partitions.items()
    ]
    forgotten = ForgottenTopic(topic=topic, topic_id=topic_id, partitions=list(forget))
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=wanted)] if wanted else [],
        forgotten_topics_data=[forgotten] if forget else [],
    )


@pytest.fixture
def sessions(clock: Any) -> FetchSessions:
    return FetchSessions(clock, slots_max=3, rng=Random(1))


def positions(partitions: Any) -> dict[int, int]:
    return {partition.index: partition.fetch_offset for partition in partitions.values()}


def open_session(sessions: FetchSessions, partitions: dict[int, int]) -> Any:
    session, _, incremental = sessions.open(request(partitions), by_id=False)
    assert session is not None
    assert not incremental
    return session


def refused(sessions: FetchSessions, asked: FetchRequest, by_id: bool = False) -> Err:
    with pytest.raises(ApiError) as caught:
        sessions.open(asked, by_id)
    return caught.value.err


def test_a_full_fetch_begins_a_session(sessions: FetchSessions) -> None:
    session = open_session(sessions, {0: 10, 1: 20})
    assert session.id > 0
    assert positions(session.partitions) == {0: 10, 1: 20}
    assert len(sessions) == 1


def test_a_final_fetch_begins_none_and_ends_one(sessions: FetchSessions) -> None:
    """Epoch -1: a full fetch without a session; with a session id it closes that one."""
    session = open_session(sessions, {0: 0})
    found, partitions, incremental = sessions.open(
        request({0: 5}, session_id=session.id, epoch=FINAL_EPOCH), by_id=False
    )
    assert (found, positions(partitions), incremental) == (None, {0: 5}, False)
    assert len(sessions) == 0


def test_a_new_full_fetch_replaces_the_old_session(sessions: FetchSessions) -> None:
    """Epoch 0 with an id: the client starts over."""
    old = open_session(sessions, {0: 0})
    new, _, _ = sessions.open(request({0: 1}, session_id=old.id), by_id=False)
    assert new is not None
    assert new.id != old.id
    assert len(sessions) == 1


def test_later_fetches_carry_only_changes(sessions: FetchSessions) -> None:
    session = open_session(sessions, {0: 0, 1: 0, 2: 0})
    asked = request({1: 7, 3: 0}, session_id=session.id, epoch=1, forget=(2,))
    again, partitions, incremental = sessions.open(asked, by_id=False)
    assert again is session
    assert incremental
    assert positions(partitions) == {0: 0, 1: 7, 3: 0}


def test_what_was_forgotten_can_come_back(sessions: FetchSessions) -> None:
    """Forget and add in one request: added anew, at the end, with nothing told yet."""
    session = open_session(sessions, {0: 0, 1: 0})
    session.partitions["t", 0].told_high_watermark = 9
    asked = request({0: 4}, session_id=session.id, epoch=1, forget=(0,))
    _, partitions, _ = sessions.open(asked, by_id=False)
    assert positions(partitions) == {1: 0, 0: 4}
    assert list(partitions) == [("t", 1), ("t", 0)]
    assert partitions["t", 0].told_high_watermark == -1


@pytest.mark.parametrize("epoch", [2, 3, 2**31 - 1])
def test_a_wrong_epoch_is_refused(sessions: FetchSessions, epoch: int) -> None:
    session = open_session(sessions, {0: 0})
    asked = request({}, session_id=session.id, epoch=epoch)
    assert refused(sessions, asked) is Err.INVALID_FETCH_SESSION_EPOCH
    # The session itself is not harmed.
    assert sessions.open(request({}, session_id=session.id, epoch=1), by_id=False)[0] is session


def test_a_repeated_epoch_is_refused(sessions: FetchSessions) -> None:
    """A retry of a request whose reply was lost must not move the session twice."""
    session = open_session(sessions, {0: 0})
    asked = request({}, session_id=session.id, epoch=1)
    sessions.open(asked, by_id=False)
    assert refused(sessions, asked) is Err.INVALID_FETCH_SESSION_EPOCH


def test_epochs_start_again_at_one(sessions: FetchSessions) -> None:
    session = open_session(sessions, {0: 0})
    session.epoch = 2**31 - 1
    sessions.open(request({}, session_id=session.id, epoch=2**31 - 1), by_id=False)
    assert session.epoch == 1


def test_an_unknown_session_is_refused(sessions: FetchSessions) -> None:
    asked = request({0: 0}, session_id=12345, epoch=1)
    assert refused(sessions, asked) is Err.FETCH_SESSION_ID_NOT_FOUND
    assert refused(sessions, request({}, epoch=5)) is Err.FETCH_SESSION_ID_NOT_FOUND


def test_names_and_ids_do_not_mix(sessions: FetchSessions) -> None:
    by_name = open_session(sessions, {0: 0})
    asked = request({}, session_id=by_name.id, epoch=1)
    assert refused(sessions, asked, by_id=True) is Err.FETCH_SESSION_TOPIC_ID_ERROR
    by_id, partitions, _ = sessions.open(request({0: 0}), by_id=True)
    assert by_id is not None
    assert list(partitions) == [(TOPIC_ID.bytes, 0)]
    asked = request({}, session_id=by_id.id, epoch=1)
    assert refused(sessions, asked) is Err.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_without_partitions_ends(sessions: FetchSessions) -> None:
    session = open_session(sessions, {0: 0})
    asked = request({}, session_id=session.id, epoch=1, forget=(0,))
    assert sessions.open(asked, by_id=False) == (None, {}, False)
    assert len(sessions) == 0


def test_no_session_for_nothing(sessions: FetchSessions) -> None:
    assert sessions.open(request({}), by_id=False) == (None, {}, False)


def test_a_full_cache_serves_without_a_session(sessions: FetchSessions) -> None:
    """Sessions in use are not thrown out for a newcomer."""
    for _ in range(3):
        open_session(sessions, {0: 0})
    session, partitions, incremental = sessions.open(request({0: 3}), by_id=False)
    assert (session, incremental) == (None, False)
    assert positions(partitions) == {0: 3}
    assert len(sessions) == 3


def test_the_longest_idle_session_makes_room(sessions: FetchSessions, clock: Any) -> None:
    first, second, third = (open_session(sessions, {0: 0}) for _ in range(3))
    clock.ms += EVICTION_MS - 1
    sessions.open(request({}, session_id=first.id, epoch=1), by_id=False)
    assert sessions.open(request({0: 0}), by_id=False)[0] is None
    clock.ms += 1
    open_session(sessions, {0: 0})
    asked = request({}, session_id=second.id, epoch=1)
    assert refused(sessions, asked) is Err.FETCH_SESSION_ID_NOT_FOUND
    for kept, epoch in ((first, 2), (third, 1)):
        assert sessions.open(request({}, session_id=kept.id, epoch=epoch), by_id=False)[0] is kept


def test_no_slots_means_no_sessions(clock: Any) -> None:
    assert FetchSessions(clock, slots_max=0).open(request({0: 0}), by_id=False)[0] is None


def test_ids_do_not_repeat_after_a_restart(clock: Any) -> None:
    """A client with an old id must not meet another's session: ids are random, never 0, never taken."""
    caches = [FetchSessions(clock, slots_max=10) for _ in range(2)]
    ids = [open_session(cache, {0: 0}).id for cache in caches for _ in range(10)]
    assert len(set(ids)) == 20
    assert all(0 < session_id < 2**31 for session_id in ids)


def test_a_taken_id_is_not_given_again(clock: Any) -> None:
    class Stubborn(Random):
        def randint(self, a: int, b: int) -> int:
            drawn.append(1)
            return 7 if len(drawn) < 4 else 8

    drawn: list[int] = []
    sessions = FetchSessions(clock, slots_max=3, rng=Stubborn())
    assert [open_session(sessions, {0: 0}).id for _ in range(2)] == [7, 8]


def test_served_partitions_go_to_the_end(sessions: FetchSessions) -> None:
    """So that with little room per answer none starves; one that left meanwhile is no matter."""
    session = open_session(sessions, {0: 0, 1: 0, 2: 0})
    session.serve_later([("t", 0), ("t", 9)])
    assert [index for _, index in session.partitions] == [1, 2, 0]
