"""The handlers of the classic protocol: what old versions are told, and what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.coordinators.shard import Outcome
from odradek.errors import ApiError, Err
from odradek.protocol.codec import encode
from odradek.protocol.messages.heartbeat import HeartbeatRequest
from odradek.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from odradek.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.sync_group import SyncGroupRequest
from odradek.server.handlers.heartbeat import heartbeat
from odradek.server.handlers.join_group import join_group
from odradek.server.handlers.leave_group import leave_group
from odradek.server.handlers.sync_group import sync_group


class Coordinator:
    """Runs handlers on one shard, or fails as a runtime does."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups
        self.failure: Err | None = None
        self.replicating = False

    def write(self, group_id: str, handler: Callable[[Any], Outcome[Any]]) -> Any:
        if self.failure is not None:
            raise ApiError(self.failure)
        reply = self._groups.runtime.run(handler(SimpleNamespace(classic=self._groups.classic)))
        return self._later(reply) if self.replicating else reply

    async def _later(self, reply: Any) -> Any:
        await asyncio.sleep(0)
        return reply


class Bench:
    """Calls handlers as the dispatcher does."""

    def __init__(self, groups: Any) -> None:
        self.groups = groups
        self.coordinator = Coordinator(groups)

    def context(self, version: int) -> Any:
        return SimpleNamespace(
            services=SimpleNamespace(groups=self.coordinator),
            api_version=version,
            client_id="app",
            client_address="10.1.2.3:4567",
        )


@pytest.fixture
def bench(groups: Any) -> Bench:
    return Bench(groups)


def _join(**fields: Any) -> JoinGroupRequest:
    given = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"")],
    }
    return JoinGroupRequest(**{**given, **fields})


@pytest.mark.parametrize("version", range(10))
def test_a_refusal_can_be_told_in_every_version(bench: Bench, version: int) -> None:
    response = join_group(bench.context(version), _join(session_timeout_ms=1))
    assert isinstance(response, JoinGroupResponse)
    assert response.error_code == Err.INVALID_SESSION_TIMEOUT
    encode(response, version)


def test_a_join_waits_without_holding_up_anybody(bench: Bench) -> None:
    async def story() -> JoinGroupResponse:
        coming = join_group(bench.context(3), _join())
        assert isinstance(coming, Coroutine)
        waiting = asyncio.ensure_future(coming)
        await asyncio.sleep(0)
        assert not waiting.done()
        bench.groups.advance(3000)
        return await waiting

    response = asyncio.run(story())
    assert response.generation_id == 1
    (member,) = bench.groups.group().members
    assert (member.client_id, member.client_host) == ("app", "/10.1.2.3")


def test_what_must_be_replicated_first_is_waited_for(bench: Bench) -> None:
    bench.coordinator.replicating = True
    response = asyncio.run(join_group(bench.context(9), _join()))  # type: ignore[arg-type]
    assert response.error_code == Err.MEMBER_ID_REQUIRED
    left = LeaveGroupRequest(group_id="g", member_id="ghost")
    assert asyncio.run(leave_group(bench.context(0), left)).error_code == Err.UNKNOWN_MEMBER_ID  # type: ignore[arg-type]


def test_before_v3_one_member_leaves_and_its_error_is_the_answer(bench: Bench) -> None:
    (member_id,) = bench.groups.stable(1)
    for asked, err in (("ghost", Err.UNKNOWN_MEMBER_ID), (member_id, Err.NONE)):
        response: Any = leave_group(
            bench.context(2), LeaveGroupRequest(group_id="g", member_id=asked)
        )
        assert (response.error_code, response.members) == (err, [])


def test_from_v3_on_each_member_has_its_own_error(bench: Bench) -> None:
    rows = [MemberIdentity(member_id="a"), MemberIdentity(member_id="b")]
    response: Any = leave_group(bench.context(5), LeaveGroupRequest(group_id="g", members=rows))
    assert response.error_code == Err.NONE
    assert [row.error_code for row in response.members] == [Err.UNKNOWN_MEMBER_ID] * 2


def test_while_groups_are_loaded_members_need_not_worry(bench: Bench) -> None:
    bench.coordinator.failure = Err.COORDINATOR_LOAD_IN_PROGRESS
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert heartbeat(bench.context(4), beat).error_code == Err.NONE  # type: ignore[union-attr]
    joined = join_group(bench.context(9), _join(member_id="m"))
    assert isinstance(joined, JoinGroupResponse)
    assert (joined.error_code, joined.member_id) == (Err.COORDINATOR_LOAD_IN_PROGRESS, "m")


def test_another_brokers_group_is_said_to_be_so(bench: Bench) -> None:
    bench.coordinator.failure = Err.NOT_COORDINATOR
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert heartbeat(bench.context(4), beat).error_code == Err.NOT_COORDINATOR  # type: ignore[union-attr]
    left: Any = leave_group(bench.context(3), LeaveGroupRequest(group_id="g"))
    assert left.error_code == Err.NOT_COORDINATOR


def test_from_v5_on_a_sync_names_its_protocol(bench: Bench) -> None:
    (member_id,) = bench.groups.stable(1)
    request = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id)
    new: Any = sync_group(bench.context(5), request)
    old: Any = sync_group(bench.context(4), request)
    assert new.error_code == Err.INCONSISTENT_GROUP_PROTOCOL
    assert old.assignment == member_id.encode()
