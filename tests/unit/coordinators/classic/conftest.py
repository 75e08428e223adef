"""Classic groups on a virtual clock, with members that remember what they were told."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.classic import ClassicGroups
from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.groups.records import GROUP_RECORDS
from odradek.errors import Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.codec import encode
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from odradek.protocol.messages.heartbeat import HeartbeatRequest
from odradek.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from odradek.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.testing.virtual_shard import VirtualShardRuntime

SESSION_MS = 10_000
REBALANCE_MS = 60_000


def subscription(*topics: str) -> bytes:
    """Bytes as a consumer sends them."""
    return b"\0\0" + encode(ConsumerProtocolSubscription(topics=list(topics)), 0)


@dataclass
class Call:
    """A JoinGroup or SyncGroup on its way, with the answers that came (there is at most one)."""

    answers: list[JoinGroupResponse | SyncGroupResponse] = field(default_factory=list)

    @property
    def parked(self) -> bool:
        return not self.answers

    @property
    def join(self) -> JoinGroupResponse:
        (answer,) = self.answers
        assert isinstance(answer, JoinGroupResponse)
        return answer

    @property
    def sync(self) -> SyncGroupResponse:
        (answer,) = self.answers
        assert isinstance(answer, SyncGroupResponse)
        return answer

    @property
    def err(self) -> Err:
        (answer,) = self.answers
        return Err(answer.error_code)


class Groups:
    """A shard of classic groups, spoken to as clients speak."""

    def __init__(self, **settings: str) -> None:
        keys = {name.replace("_", "."): value for name, value in settings.items()}
        self.config, _ = BrokerConfig.from_strings(keys)
        self.runtime = VirtualShardRuntime(GROUP_RECORDS)
        self._suffixes = itertools.count(1)
        self._open()
        self.runtime.replay = self.classic.replay
        self.classic.on_loaded(MetadataImage())

    def _open(self) -> None:
        self.table = GroupTable()
        self.classic = ClassicGroups(
            self.table,
            lambda: self.config,
            self.runtime.timers,
            self.runtime.now_ms,
            lambda: str(next(self._suffixes)),
        )

    def crash(self) -> None:
        """The broker dies and comes back: memory is lost, the log is not."""
        self._open()
        self.runtime.restart(self.classic.replay)
        self.runtime.run(self.classic.on_loaded(MetadataImage()))

    def advance(self, milliseconds: float) -> None:
        self.runtime.advance(milliseconds)

    def group(self, group_id: str = "g") -> ClassicGroup:
        group = self.table.get(group_id)
        assert isinstance(group, ClassicGroup)
        return group

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = "g",
        instance: str | None = None,
        protocols: Sequence[str | tuple[str, bytes]] = ("range",),
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        client_id: str = "c",
        version: int = 9,
        reason: str | None = None,
    ) -> Call:
        call = Call()
        pairs = [(p, subscription("t")) if isinstance(p, str) else p for p in protocols]
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=n, metadata=m) for n, m in pairs],
            reason=reason,
        )
        outcome = self.classic.join(request, client_id, "/10.0.0.1", version, call.answers.append)
        self.runtime.run(outcome)
        return call

    def enter(self, **options: object) -> Call:
        """Join as a dynamic member does: get an id, then come with it."""
        asked = self.join(**options)  # type: ignore[arg-type]
        assert asked.err is Err.MEMBER_ID_REQUIRED
        return self.join(asked.join.member_id, **options)  # type: ignore[arg-type]

    def sync(
        self,
        member_id: str,
        generation: int,
        assignment: dict[str, bytes] | None = None,
        *,
        group_id: str = "g",
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> Call:
        call = Call()
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=a)
                for m, a in (assignment or {}).items()
            ],
        )
        self.runtime.run(self.classic.sync(request, call.answers.append))
        return call

    def heartbeat(
        self, member_id: str, generation: int, *, group_id: str = "g", instance: str | None = None
    ) -> Err:
        request = HeartbeatRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        return self.runtime.run(self.classic.heartbeat(request))

    def leave(self, *members: MemberIdentity | str, group_id: str = "g") -> list[Err]:
        rows = [MemberIdentity(member_id=m) if isinstance(m, str) else m for m in members]
        request = LeaveGroupRequest(group_id=group_id, members=rows)
        response = self.runtime.run(self.classic.leave(request))
        assert response.error_code == Err.NONE
        return [Err(row.error_code) for row in response.members]

    def gather(self, calls: Sequence[Call]) -> list[str]:
        """Wait until the generation begins; the ids of those who joined."""
        while calls[0].parked:
            self.advance(100)
        return [call.join.member_id for call in calls]

    def stable(self, count: int, **options: object) -> list[str]:
        """A stable group of so many members in generation 1; the first one leads."""
        ids = self.gather([self.enter(**options) for _ in range(count)])
        self.settle(ids)
        return ids

    def settle(self, ids: Sequence[str]) -> None:
        """Everybody asks for the assignment; each gets its own name."""
        group = self.group()
        assert group.leader_id is not None
        calls = [
            self.sync(
                m, group.generation, {i: i.encode() for i in ids} if m == group.leader_id else {}
            )
            for m in ids
        ]
        assert [call.sync.assignment for call in calls] == [m.encode() for m in ids]
        assert group.state_name == "Stable"


@pytest.fixture
def groups() -> Groups:
    """With Kafka's defaults."""
    return Groups()


@pytest.fixture
def groups_with() -> type[Groups]:
    """`groups_with(group_max_size="2")`: with other settings."""
    return Groups
