"""The broker's assignors: who shall own which partition. Pure functions over plain values.

`uniform` (the default) gives every member the same number of partitions, within one, and moves as few as
that allows. `range` gives every member a run of neighbouring partitions of each topic, so that topics with
equally many partitions are split alike (co-partitioning), and forgets what was before.

Both are complete (every partition of a topic that somebody subscribes to has one owner), give partitions
only to subscribers, and are deterministic: the order of members and topics in the input does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple
from uuid import UUID

from odradek.coordinators.groups.consumer_members import NOTHING, Target

Place = tuple[UUID, int]


class MemberSpec(NamedTuple):
    """What an assignor knows of a member: its fixed name, the topics it wants, its last target."""

    instance_id: str | None
    topics: frozenset[UUID]
    target: Target = NOTHING


Members = Mapping[str, MemberSpec]
# How many partitions each topic that exists has.
Topics = Mapping[UUID, int]
Assignor = Callable[[Members, Topics], dict[str, Target]]


def range_assign(members: Members, topics: Topics) -> dict[str, Target]:
    """Runs of neighbours, topic by topic; the first members get one more when it does not divide."""
    assigned: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in members}
    in_order = sorted(members, key=lambda member_id: _fixed_order(member_id, members))
    for topic_id in sorted(_wanted(members, topics)):
        subscribers = [m for m in in_order if topic_id in members[m].topics]
        share, extra = divmod(topics[topic_id], len(subscribers))
        start = 0
        for index, member_id in enumerate(subscribers):
            end = start + share + (index < extra)
            if end > start:
                assigned[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(assigned)


def uniform_assign(members: Members, topics: Topics) -> dict[str, Target]:
    """Equal numbers for all, with as few moves as possible."""
    if not members:
        return {}
    wishes = {spec.topics for spec in members.values()}
    subscriptions = {frozenset(t for t in wish if t in topics) for wish in wishes}
    if len(subscriptions) == 1:
        return _uniform_alike(members, topics, subscriptions.pop())
    return _Balance(members, topics).result()


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": uniform_assign, "range": range_assign}


def _wanted(members: Members, topics: Topics) -> set[UUID]:
    return {topic_id for spec in members.values() for topic_id in spec.topics if topic_id in topics}


def _fixed_order(member_id: str, members: Members) -> tuple[bool, str, str]:
    """Static members first, by a name that outlives restarts; then the others by member id."""
    instance_id = members[member_id].instance_id
    return (False, instance_id, member_id) if instance_id is not None else (True, "", member_id)


def _valid(spec: MemberSpec, topics: Topics) -> list[Place]:
    """What a member may keep of its last target: partitions that exist, of topics it still wants."""
    return [
        (topic_id, partition)
        for topic_id, partitions in spec.target.items()
        if topic_id in topics and topic_id in spec.topics
        for partition in sorted(partitions)
        if partition < topics[topic_id]
    ]


def _by_topic(places: Iterable[Place]) -> Target:
    grouped: dict[UUID, list[int]] = {}
    for topic_id, partition in places:
        grouped.setdefault(topic_id, []).append(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in grouped.items()}


def _uniform_alike(
    members: Members, topics: Topics, subscribed: frozenset[UUID]
) -> dict[str, Target]:
    """All members want the same topics: quotas are known beforehand, so moves are minimal.

    Every member may keep `share` partitions; as many as there are partitions left over may keep one
    more, and those that have it already come first.
    """
    total = sum(topics[topic_id] for topic_id in subscribed)
    share, extra = divmod(total, len(members))
    kept: dict[str, list[Place]] = {}
    taken: set[Place] = set()
    for member_id in sorted(members):
        # Two members never had the same target; asking again makes a damaged log harmless.
        places = [p for p in _valid(members[member_id], topics) if p not in taken]
        quota = share
        if len(places) > share and extra > 0:
            quota, extra = share + 1, extra - 1
        kept[member_id] = places[:quota]
        taken.update(kept[member_id])
    free = iter(
        [
            place
            for topic_id in sorted(subscribed)
            for place in ((topic_id, partition) for partition in range(topics[topic_id]))
            if place not in taken
        ]
    )
    # Dealt out one by one, so that neighbours of a topic go to different members.
    hungry = [m for m in kept if len(kept[m]) < share]
    while hungry:
        for member_id in hungry:
            kept[member_id].append(next(free))
        hungry = [m for m in hungry if len(kept[m]) < share]
    for member_id, place in zip((m for m in kept if len(kept[m]) == share), free, strict=False):
        kept[member_id].append(place)
    return {member_id: _by_topic(places) for member_id, places in kept.items()}


class _Balance:
    """Members want different topics: keep, hand out to the least loaded, then even out.

    Evening out moves a partition from its owner to a subscriber that has at least two fewer, until there
    is no such pair. Each move lowers the sum of the squares of the loads, so it ends.
    """

    def __init__(self, members: Members, topics: Topics) -> None:
        self._members = members
        self._topics = topics
        self._owner: dict[Place, str] = {}
        self._load = dict.fromkeys(sorted(members), 0)
        self._subscribers: dict[UUID, list[str]] = {}
        for member_id in self._load:
            for topic_id in topics.keys() & members[member_id].topics:
                self._subscribers.setdefault(topic_id, []).append(member_id)
        # Topics with few subscribers first: those leave the least choice.
        self._order = sorted(self._subscribers, key=lambda t: (len(self._subscribers[t]), t))

    def result(self) -> dict[str, Target]:
        """The assignment."""
        self._keep()
        self._hand_out()
        moves = 1
        while moves:
            moves = sum(self._even_out(topic_id) for topic_id in self._order)
        places: dict[str, list[Place]] = {member_id: [] for member_id in self._load}
        for place, member_id in self._owner.items():
            places[member_id].append(place)
        return {member_id: _by_topic(owned) for member_id, owned in places.items()}

    def _keep(self) -> None:
        for member_id in self._load:
            for place in _valid(self._members[member_id], self._topics):
                if place not in self._owner:
                    self._give(place, member_id)

    def _hand_out(self) -> None:
        for topic_id in self._order:
            free = [
                (topic_id, partition)
                for partition in range(self._topics[topic_id])
                if (topic_id, partition) not in self._owner
            ]
            heap = [(self._load[m], m) for m in self._subscribers[topic_id]]
            heapify(heap)
            for place in free:
                _, member_id = heappop(heap)
                self._give(place, member_id)
                heappush(heap, (self._load[member_id], member_id))

    def _even_out(self, topic_id: UUID) -> bool:
        """Move partitions of one topic until no move helps; whether anything moved."""
        owned: dict[str, list[Place]] = {m: [] for m in self._subscribers[topic_id]}
        for partition in range(self._topics[topic_id]):
            place = (topic_id, partition)
            owned[self._owner[place]].append(place)
        moved = False
        givers = [(-self._load[m], m) for m in owned if owned[m]]
        takers = [(self._load[m], m) for m in owned]
        heapify(givers)
        heapify(takers)
        while givers:
            giver = givers[0][1]
            if -givers[0][0] != self._load[giver] or not owned[giver]:
                heappop(givers)
                if owned[giver]:
                    heappush(givers, (-self._load[giver], giver))
                continue
            taker = takers[0][1]
            if takers[0][0] != self._load[taker]:
                heappop(takers)
                heappush(takers, (self._load[taker], taker))
                continue
            if self._load[giver] - self._load[taker] < 2:
                break
            place = owned[giver].pop()
            self._load[giver] -= 1
            self._give(place, taker)
            owned[taker].append(place)
            # Its load is its old one plus one: it is looked at again should it become a giver.
            heappush(givers, (-self._load[taker], taker))
            moved = True
        return moved

    def _give(self, place: Place, member_id: str) -> None:
        self._owner[place] = member_id
        self._load[member_id] += 1
