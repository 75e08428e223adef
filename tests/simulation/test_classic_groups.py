"""Classic groups under a seeded storm: joins, leaves, silence, slow logs, failed writes, crashes.

Clients here behave as real ones do: they join, sync, beat, drop out, restart as static members, give up on
calls and repeat them. After every event: at most one assignment per generation is ever given out, no
partition has two owners in a generation, generations that are assigned grow, states move along
the table; and nobody waits for ever: once the storm is over, everybody is answered within the time-outs and
the living members settle.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.classic import ClassicGroups
from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.groups.records import GROUP_RECORDS
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
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

SEEDS = 60
EVENTS = 400
PARTITIONS = 12
SESSION_MS = 10_000
REBALANCE_MS = 20_000
CLIENTS = 7


class Waiting:
    """A call on its way; it may be answered once."""

    def __init__(self, world: World, then: Callable[[Any], None]) -> None:
        self.world = world
        self.then: Callable[[Any], None] | None = then
        self.answered = False

    def __call__(self, answer: Any) -> None:
        assert not self.answered, "answered twice"
        self.answered = True
        self.world.waiting.discard(self)
        if self.then is not None:
            self.then(answer)


class Client:
    """One consumer: knows what it was told, and does what a consumer does next."""

    def __init__(self, world: World, name: str, instance: str | None) -> None:
        self.world = world
        self.name = name
        self.instance = instance
        self.wants = True
        self.forget()

    def forget(self) -> None:
        """Start from nothing, as after a restart; answers to calls of before go nowhere."""
        self.member_id = ""
        self.generation = -1
        self.call: Waiting | None = None
        self.next: str = "join"
        self.led: JoinGroupResponse | None = None
        self.assigned: bytes | None = None

    def step(self) -> None:
        """What it would do now: nothing while it waits."""
        if self.call is not None:
            return
        if not self.wants:
            if self.member_id and self.instance is None:
                self.world.leave(self)
            self.forget()
        elif self.next == "join":
            self.join()
        elif self.next == "sync":
            self.sync()
        else:
            self.beat()

    def give_up(self) -> None:
        """The call takes too long: hang up, and repeat it."""
        if self.call is not None:
            self.call.then = None
            self.call = None

    def join(self) -> None:
        self.assigned = None
        self.call = self.world.park(self.joined)
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        version = self.world.rng.choice((3, 5, 9)) if self.instance is None else 9
        call = self.call
        self.world.run(
            lambda: self.world.classic.join(request, self.name, "/h", version, call), call
        )

    def joined(self, answer: JoinGroupResponse) -> None:
        self.call = None
        err = Err(answer.error_code)
        if err is Err.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif err in (Err.UNKNOWN_MEMBER_ID, Err.FENCED_INSTANCE_ID):
            self.member_id = ""
        elif err is Err.NONE:
            self.member_id, self.generation = answer.member_id, answer.generation_id
            self.led = answer if answer.leader == answer.member_id else None
            self.next = "sync"

    def sync(self) -> None:
        self.call = self.world.park(self.synced)
        assignments = {}
        if self.led is not None and not self.led.skip_assignment:
            assignments = self.world.deal(self.generation, [m.member_id for m in self.led.members])
        request = SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=a)
                for m, a in assignments.items()
            ],
        )
        call = self.call
        self.world.run(lambda: self.world.classic.sync(request, call), call)

    def synced(self, answer: SyncGroupResponse) -> None:
        self.call = None
        err = Err(answer.error_code)
        if err is Err.NONE:
            self.next = "beat"
            self.assigned = answer.assignment
            self.world.check_assigned(self)
        else:
            self.next = "join"
            if err in (Err.UNKNOWN_MEMBER_ID, Err.FENCED_INSTANCE_ID):
                self.member_id = ""

    def beat(self) -> None:
        request = HeartbeatRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        err = self.world.runtime.run(self.world.classic.heartbeat(request))
        if err is not Err.NONE:
            self.next = "join"
            if err in (Err.UNKNOWN_MEMBER_ID, Err.FENCED_INSTANCE_ID):
                self.member_id = ""


class World:
    """One group, its clients, and what must always be true."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.config, _ = BrokerConfig.from_strings(
            {"group.initial.rebalance.delay.ms": str(self.rng.choice((0, 500, 3000)))}
        )
        self.runtime = VirtualShardRuntime(GROUP_RECORDS)
        self.suffixes = itertools.count()
        self.waiting: set[Waiting] = set()
        # By (life of the generation, generation): what was given to whom.
        self.given: dict[int, dict[str, bytes]] = {}
        self.deals = itertools.count()
        self.written_generation = -1
        self.open()
        self.runtime.replay = self.replay
        self.classic.on_loaded(MetadataImage())
        self.clients = [
            Client(self, f"c{n}", f"i{n}" if n % 3 == 0 else None) for n in range(CLIENTS)
        ]

    def open(self) -> None:
        self.table = GroupTable()
        self.classic = ClassicGroups(
            self.table,
            lambda: self.config,
            self.runtime.timers,
            self.runtime.now_ms,
            lambda: str(next(self.suffixes)),
        )

    def replay(self, record: Any) -> None:
        self.classic.replay(record)
        generation = record.value.generation
        assert generation >= self.written_generation, "generations in the log never go back"
        self.written_generation = generation

    def park(self, then: Callable[[Any], None]) -> Waiting:
        call = Waiting(self, then)
        self.waiting.add(call)
        return call

    def run(self, handler: Callable[[], Any], call: Waiting) -> None:
        """Run a handler; a failed write is what a connection sees as an error answer."""
        try:
            self.runtime.run(handler())
        except ApiError as error:
            if not call.answered:
                answer = (
                    JoinGroupResponse(error_code=error.err, protocol_name="")
                    if call.then is not None and call.then.__name__ == "joined"
                    else SyncGroupResponse(error_code=error.err)
                )
                call(answer)

    def leave(self, client: Client) -> None:
        rows = [MemberIdentity(member_id=client.member_id)]
        try:
            self.runtime.run(self.classic.leave(LeaveGroupRequest(group_id="g", members=rows)))
        except ApiError:
            return

    def deal(self, generation: int, members: list[str]) -> dict[str, bytes]:
        """A leader's assignment: every deal is told from every other, to see whether two are given."""
        deal = next(self.deals)
        hands: dict[str, list[int]] = {member: [] for member in members}
        for partition in range(PARTITIONS):
            hands[self.rng.choice(members)].append(partition)
        return {m: f"{deal}:{','.join(map(str, hand))}".encode() for m, hand in hands.items()}

    def check_assigned(self, client: Client) -> None:
        assert client.assigned is not None
        given = self.given.setdefault(client.generation, {})
        earlier = given.setdefault(client.member_id, client.assigned)
        assert earlier == client.assigned, "a member's assignment changed within a generation"
        # A static member that restarted has the hand of its former self: count hands once.
        hands = {hand for hand in given.values() if hand}
        assert len({hand.partition(b":")[0] for hand in hands}) <= 1, "two assignments"
        dealt = [p for hand in hands for p in hand.partition(b":")[2].split(b",") if p]
        assert len(dealt) == len(set(dealt)), "a partition has two owners"

    def crash(self) -> None:
        self.open()
        waiting, self.waiting = self.waiting, set()
        for call in waiting:  # connections break
            call.then = None
        for client in self.clients:
            if client.call is not None:
                client.call = None
        self.runtime.restart(self.classic.replay)
        self.runtime.replay = self.replay
        self.runtime.run(self.classic.on_loaded(MetadataImage()))

    def event(self) -> None:
        rng = self.rng
        client = rng.choice(self.clients)
        what = rng.random()
        if what < 0.40:
            client.step()
        elif what < 0.60:
            for each in self.clients:  # a quiet moment
                each.step()
        elif what < 0.80:
            self.runtime.advance(rng.choice((10, 200, 1000, 4000)))
        elif what < 0.86:
            client.wants = not client.wants
        elif what < 0.90:
            client.give_up()
            client.forget()  # killed, and started again
        elif what < 0.93:
            client.give_up()
        elif what < 0.96:
            if self.runtime.held is None:
                self.runtime.hold()
            else:
                self.runtime.release(
                    rng.choice((Err.NONE, Err.NONE, Err.COORDINATOR_NOT_AVAILABLE))
                )
        elif what < 0.98:
            self.runtime.append_error = (
                Err.NOT_COORDINATOR if self.runtime.append_error is None else None
            )
        else:
            self.crash()
        self.check()

    def check(self) -> None:
        group = self.table.get("g")
        if not isinstance(group, ClassicGroup):
            return
        members = group.members
        assert set(members.awaiting_join) <= {m.member_id for m in members}
        assert set(members.awaiting_sync) <= {m.member_id for m in members}
        assert members.pending_sync <= {m.member_id for m in members}
        assert (group.leader_id in members) == bool(len(members))
        keys = self.runtime.timers.keys
        if group.state_name == "PreparingRebalance":
            assert "classic-join-g" in keys
        if members.awaiting_sync and group.writing_generation != group.generation:
            assert "classic-sync-g" in keys

    def calm_down(self) -> None:
        """The storm is over: the log works, clients poll and nothing else happens."""
        self.runtime.append_error = None
        if self.runtime.held is not None:
            self.runtime.release()
        for client in self.clients[:3]:
            client.wants = True
        for _ in range(400):
            for client in self.clients:
                client.step()
            self.runtime.advance(300)
            self.check()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_storm(seed: int) -> None:
    """Whatever happens in whatever order, the invariants hold and the group settles afterwards."""
    world = World(seed)
    for _ in range(EVENTS):
        world.event()
    world.calm_down()
    assert not world.waiting, "somebody waits for ever"
    group = world.table.get("g")
    assert isinstance(group, ClassicGroup)
    assert group.state_name == "Stable"
    living = [client for client in world.clients if client.wants]
    assert {m.member_id for m in group.members} == {client.member_id for client in living}
    assert {client.generation for client in living} == {group.generation}
    owned = sorted(
        int(p)
        for client in living
        for p in (client.assigned or b":").partition(b":")[2].split(b",")
        if p
    )
    assert owned == list(range(PARTITIONS))
