"""A consumer group through everything that can happen to it, by seed.

Members join, leave, step out, fall silent, lose answers, are slow to give partitions up and change their
minds; topics come, grow and go; the broker crashes and reloads. After every event: no partition is held by
two members (as the members themselves see it), epochs only grow, and the log says what memory says. In the
end, when all is calm, everybody has its target. The seed of a failure is the name of the test.
"""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from odradek.errors import ApiError, Err
from odradek.testing.virtual_consumers import REBALANCE_MS, VirtualConsumerGroups

STEPS = 250
SEEDS = range(25)
NAMES = [f"topic-{n}" for n in range(5)]
REGEXES = ["topic-.*", "topic-[0-2]", ""]
Place = tuple[UUID, int]


class SimulatedMember:
    """A client: what it holds is what it is working on, whatever the broker thinks."""

    def __init__(self, world: World, name: str, instance_id: str | None) -> None:
        self.world = world
        self.rng = world.rng
        self.name = name
        self.instance_id = instance_id
        self.lives = 0
        self.member_id = name
        self.slow = self.rng.random() < 0.3
        self.start_over()

    def start_over(self) -> None:
        self.epoch = 0
        self.held: set[Place] = set()
        self.told: set[Place] = set()
        self.subscription = self.choose()
        self.says_subscription = True

    def choose(self) -> tuple[list[str], str]:
        names = self.rng.sample(NAMES, self.rng.randint(0, 3))
        return (names, self.rng.choice(REGEXES) if self.rng.random() < 0.3 else "")

    @property
    def owned(self) -> dict[object, set[int]]:
        by_topic: dict[object, set[int]] = {}
        for topic_id, partition in self.held:
            name = self.world.name_of(topic_id)
            by_topic.setdefault(name if name is not None else topic_id, set()).add(partition)
        return by_topic

    def beat(self) -> None:
        """One heartbeat in full; its answer may be lost."""
        if not self.slow or self.rng.random() < 0.3:
            self.held &= self.told
        names, regex = self.subscription
        try:
            reply = self.world.groups.send(
                self.member_id,
                self.epoch,
                instance_id=self.instance_id,
                rebalance_timeout_ms=REBALANCE_MS,
                subscribed_topic_names=names,
                subscribed_topic_regex=regex,
                owned=self.owned if self.epoch else {},
            )
        except ApiError as error:
            self.on_error(error.err)
            return
        if self.rng.random() < 0.1 and self.epoch:
            return  # the answer is lost; the next request says the same again
        self.epoch = reply.member_epoch
        assert reply.assignment is not None, "a full request is answered in full"
        self.told = {
            (e.topic_id, p) for e in reply.assignment.topic_partitions for p in e.partitions
        }
        self.held |= self.told

    def on_error(self, err: Err) -> None:
        assert err in (
            Err.FENCED_MEMBER_EPOCH,
            Err.UNKNOWN_MEMBER_ID,
            Err.GROUP_ID_NOT_FOUND,
            Err.UNRELEASED_INSTANCE_ID,
            Err.FENCED_INSTANCE_ID,
        )
        self.held.clear()
        self.epoch = 0

    def leave(self) -> None:
        if self.epoch > 0:
            self.held.clear()
            epoch = -2 if self.instance_id is not None and self.rng.random() < 0.7 else -1
            try:
                self.world.groups.send(self.member_id, epoch, instance_id=self.instance_id)
            except ApiError as error:
                self.on_error(error.err)
        self.start_over()
        self.lives += 1
        self.member_id = f"{self.name}.{self.lives}"


class World:
    """The group, its members, and what must be true of them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.groups = VirtualConsumerGroups({NAMES[0]: 4, NAMES[1]: 7})
        self.members = [
            SimulatedMember(self, f"m{n}", f"i{n}" if n % 3 == 0 else None) for n in range(7)
        ]
        self.active: list[SimulatedMember] = []
        self.epochs = (0, 0)

    def name_of(self, topic_id: UUID) -> str | None:
        topic = self.groups.image.topics_by_id.get(topic_id)
        return topic.name if topic is not None else None

    def step(self) -> None:
        rng = self.rng
        event = rng.choices(
            [
                "beat",
                "come",
                "leave",
                "silence",
                "time",
                "long",
                "change",
                "topic",
                "crash",
                "fail",
            ],
            [40, 8, 4, 2, 20, 1, 5, 5, 2, 3],
        )[0]
        if event == "come":
            idle = [m for m in self.members if m not in self.active]
            if idle:
                self.active.append(rng.choice(idle))
                self.active[-1].beat()
        elif event == "time":
            self.pass_time(rng.choice([10, 300, 1000, 3000]))
        elif event == "long":
            self.pass_time(rng.choice([20_000, 50_000, REBALANCE_MS]))
        elif event == "topic":
            self.change_topics()
        elif event == "crash":
            self.groups.crash()
        elif self.active:
            self.act(event, rng.choice(self.active))

    def act(self, event: str, member: SimulatedMember) -> None:
        if event == "beat":
            member.beat()
        elif event == "leave":
            self.active.remove(member)
            member.leave()
        elif event == "silence":
            # Gone without a word: its partitions are free when the broker says so, not before.
            self.active.remove(member)
            member.start_over()
            member.lives += 1
            member.member_id = f"{member.name}.{member.lives}"
        elif event == "change":
            member.subscription = member.choose()
        elif event == "fail":
            self.groups.runtime.append_error = Err.COORDINATOR_NOT_AVAILABLE
            try:
                self.groups.send(
                    member.member_id, member.epoch or 1, subscribed_topic_names=list(NAMES)
                )
            except ApiError:
                pass  # refused, or not written: nothing happened
            finally:
                self.groups.runtime.append_error = None

    def pass_time(self, milliseconds: int) -> None:
        self.groups.advance(milliseconds)
        group = self.groups.table.get("g")
        alive = self.groups.group().members if group is not None else {}
        for member in self.active:
            # A real client notices by its own clock that its session is over.
            if member.epoch and member.member_id not in alive:
                member.held.clear()

    def change_topics(self) -> None:
        rng, topics = self.rng, self.groups.image.topics
        name = rng.choice(NAMES)
        if name not in topics:
            self.groups.create_topic(name, rng.randint(1, 8))
        elif rng.random() < 0.6:
            self.groups.grow_topic(name, len(topics[name].partitions) + rng.randint(1, 5))
        else:
            self.groups.delete_topic(name)

    # -- what must be true -----------------------------------------------------------------------

    def check(self) -> None:
        if self.groups.table.get("g") is None:
            return
        group = self.groups.group()
        held: dict[Place, str] = {}
        for member in self.active:
            if member.member_id in group.members:
                for place in member.held:
                    assert held.setdefault(place, member.name) == member.name, "two hold it"
        owned: dict[Place, str] = {}
        for value in group.members.values():
            for part in (value.assigned, value.pending_revocation):
                for topic_id, partitions in part.items():
                    for partition in partitions:
                        place = (topic_id, partition)
                        assert owned.setdefault(place, value.member_id) == value.member_id
        assert owned == group.owners
        epochs = (group.group_epoch, group.assignment_epoch)
        assert all(now >= before for now, before in zip(epochs, self.epochs, strict=True))
        self.epochs = epochs

    def check_log(self) -> None:
        """What is replayed is what was there."""
        before = self.groups.table.get("g")
        if before is None:
            return
        group = self.groups.group()
        facts = (group.members, group.target, group.owners, group.group_epoch, group.resolved)
        self.groups.crash()
        group = self.groups.group()
        assert facts == (
            group.members,
            group.target,
            group.owners,
            group.group_epoch,
            group.resolved,
        )

    def calm_down(self) -> None:
        """Nothing happens any more: all members reach the target, which gives out everything."""
        for _ in range(80):
            self.groups.advance(1000)
            for member in self.active:
                member.slow = False
                member.beat()
        group = self.groups.table.get("g")
        if group is None or not self.active:
            return
        group = self.groups.group()
        assert group.state_name == "Stable"
        assert group.members.keys() == {m.member_id for m in self.active}
        for member in self.active:
            target = group.target.get(member.member_id, {})
            wanted = {(topic_id, p) for topic_id, ps in target.items() for p in ps}
            assert member.held == member.told == wanted
        topics = self.groups.image.topics
        assert set(group.owners) == {
            (topics[name].id, p)
            for name in group.topic_counts
            if name in topics
            for p in range(len(topics[name].partitions))
        }


@pytest.mark.parametrize("seed", SEEDS)
def test_no_partition_has_two_owners_and_all_members_get_there(seed: int) -> None:
    world = World(seed)
    for number in range(STEPS):
        world.step()
        world.check()
        if number % 50 == 0:
            world.check_log()
    world.calm_down()
    world.check()
