"""Unmodified clients in classic groups share, leave, die, restart and rebalance as with Apache Kafka."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

SECONDS_MAX = 30.0
QUICK = {
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "1000",
}
PEER = Path(__file__).parents[2].parent / "shared" / "peers" / "kafka-peer"

pytestmark = pytest.mark.odradek(QUICK)


class Member:
    """A librdkafka consumer that notes what it was given, what it gave back and what it read."""

    def __init__(self, servers: str, group: str, topics: Sequence[str], **options: Any) -> None:
        self.assigned: list[list[tuple[str, int]]] = []
        self.revoked: list[list[tuple[str, int]]] = []
        self.events: list[str] = []
        self.values: list[bytes] = []
        self.errors: list[str] = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 200,
                "topic.metadata.refresh.interval.ms": 500,
                **{name.replace("_", "."): value for name, value in options.items()},
            }
        )
        self.consumer.subscribe(list(topics), on_assign=self._assign, on_revoke=self._revoke)

    def _assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned.append(_pairs(partitions))
        self.events.append("assigned")

    def _revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.revoked.append(_pairs(partitions))
        self.events.append("revoked")

    @property
    def owned(self) -> list[tuple[str, int]]:
        return _pairs(self.consumer.assignment())

    def poll(self, seconds: float = 0.01) -> None:
        message = self.consumer.poll(seconds)
        if message is None:
            return
        if message.error() is None:
            self.values.append(message.value())
        else:
            self.errors.append(message.error().str())


def _pairs(partitions: Iterable[TopicPartition]) -> list[tuple[str, int]]:
    return sorted((each.topic, each.partition) for each in partitions)


def until(what: str, members: Sequence[Member], condition: Callable[[], bool]) -> None:
    """Poll the members in turn until it is so."""
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < end, f"{what}: {[m.owned for m in members]}"
        for member in members:
            member.poll()


def all_owned_once(members: Sequence[Member], topics: dict[str, int]) -> bool:
    wanted = sorted((topic, p) for topic, count in topics.items() for p in range(count))
    return sorted(pair for member in members for pair in member.owned) == wanted


@contextmanager
def members_of(count: int, *args: Any, **options: Any) -> Iterator[list[Member]]:
    members = [Member(*args, **options) for _ in range(count)]
    try:
        yield members
    finally:
        for member in members:
            member.consumer.close()


@pytest.fixture
def group() -> str:
    return f"group-{uuid4().hex[:8]}"


@pytest.fixture
def servers(embedded: Any) -> str:
    return str(embedded.bootstrap_servers)


@pytest.fixture
def fill(servers: str, open_client: Any, sent: Any) -> Callable[[str, int, int], list[bytes]]:
    """Produces so many records over so many partitions; gives their values."""

    def produce(topic: str, count: int, partitions: int) -> list[bytes]:
        values = [b"%d" % n for n in range(count)]
        client = open_client("confluent-kafka", servers)
        client.produce(topic, [sent(v, partition=n % partitions) for n, v in enumerate(values)])
        return values

    return produce


@pytest.fixture
def topic_of(servers: str, make_topic_on: Any) -> Callable[[int], str]:
    make = make_topic_on(servers)
    return lambda partitions: str(make(partitions=partitions))


# -- every client ---------------------------------------------------------------------------------


def _read_confluent(servers: str, group: str, topic: str, count: int) -> list[bytes]:
    with members_of(1, servers, group, [topic]) as (member,):
        until("read", [member], lambda: len(member.values) >= count)
        if count == 0:
            until("assigned", [member], lambda: bool(member.assigned))
            member.poll(0.5)
        return member.values


def _read_kafka_python(servers: str, group: str, topic: str, count: int) -> list[bytes]:
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        group_id=group,
        auto_offset_reset="earliest",
        session_timeout_ms=6000,
        heartbeat_interval_ms=500,
    )
    try:
        values: list[bytes] = []
        end = time.monotonic() + SECONDS_MAX
        while len(values) < count or not consumer.assignment():
            assert time.monotonic() < end
            for records in consumer.poll(200).values():
                values += [record.value for record in records]
        for records in consumer.poll(500).values():
            values += [record.value for record in records]
        return values
    finally:
        consumer.close()


def _read_aiokafka(servers: str, group: str, topic: str, count: int) -> list[bytes]:
    from aiokafka import AIOKafkaConsumer

    async def read() -> list[bytes]:
        values: list[bytes] = []
        async with AIOKafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset="earliest",
            session_timeout_ms=6000,
            heartbeat_interval_ms=500,
        ) as consumer:
            end = time.monotonic() + SECONDS_MAX
            while len(values) < count or not consumer.assignment():
                assert time.monotonic() < end
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    values += [record.value for record in records]
            for records in (await consumer.getmany(timeout_ms=500)).values():
                values += [record.value for record in records]
        return values

    return asyncio.run(read())


READERS = {
    "confluent-kafka": _read_confluent,
    "kafka-python": _read_kafka_python,
    "aiokafka": _read_aiokafka,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_group_reads_all_and_goes_on_where_it_stopped(
    reader: Any, servers: str, group: str, topic_of: Any, fill: Any
) -> None:
    """S-5.1, S-5.1b, S-5.3, S-5.3b, K1-06, D0-17: a group resumes; another one gets everything again."""
    topic = topic_of(3)
    values = fill(topic, 60, 3)
    assert sorted(reader(servers, group, topic, 60)) == sorted(values)
    assert reader(servers, group, topic, 0) == []
    fill(topic, 9, 3)
    assert len(reader(servers, group, topic, 9)) == 9
    assert len(reader(servers, group + "-other", topic, 69)) == 69


def test_a_java_consumer_reads_with_a_group(
    servers: str, group: str, topic_of: Any, fill: Any
) -> None:
    """S-2.10 with the console consumer of Apache Kafka 4.3.1."""
    if not PEER.exists():
        pytest.skip("needs the peer's jars beside the project")
    topic = topic_of(2)
    fill(topic, 20, 2)
    command = [
        str(PEER), "tool", "console-consumer", "--bootstrap-server", servers, "--topic", topic,
        "--group", group, "--from-beginning", "--max-messages", "20", "--timeout-ms", "30000",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert sorted(map(int, done.stdout.split())) == list(range(20)), done.stderr
    admin = AdminClient({"bootstrap.servers": servers})
    admin.list_topics(timeout=SECONDS_MAX)  # or librdkafka knows of no broker to ask
    shown = admin.list_consumer_groups().result()
    assert group in [each.group_id for each in shown.valid]


# -- sharing --------------------------------------------------------------------------------------


def test_many_consumers_share_a_topic(servers: str, group: str, topic_of: Any, fill: Any) -> None:
    """D0-18, D1-08: each partition has one reader, each record is read once; extra members idle."""
    topic = topic_of(10)
    fill(topic, 200, 10)
    with members_of(12, servers, group, [topic]) as members:
        until("shared", members, lambda: all_owned_once(members, {topic: 10}))
        until("read", members, lambda: sum(len(m.values) for m in members) >= 200)
        assert sum(not member.owned for member in members) == 2


def test_peers_take_over_at_once_when_a_member_leaves(
    servers: str, group: str, topic_of: Any
) -> None:
    """S-5.2: long before a session could end."""
    topic = topic_of(4)
    with members_of(3, servers, group, [topic], session_timeout_ms=45_000) as members:
        until("shared", members, lambda: all_owned_once(members, {topic: 4}))
        started = time.monotonic()
        leaver = members.pop()
        leaver.consumer.close()
        until("taken over", members, lambda: all_owned_once(members, {topic: 4}))
        assert time.monotonic() - started < 10


_VICTIM = """
import sys
from confluent_kafka import Consumer
servers, group, topic = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "session.timeout.ms": 2000,
                     "heartbeat.interval.ms": 200})
consumer.subscribe([topic], on_assign=lambda c, p: print(len(p), flush=True))
while True:
    consumer.poll(0.1)
"""


def test_the_partitions_of_a_killed_member_move_after_its_session(
    servers: str, group: str, topic_of: Any
) -> None:
    """S-5.2b, S-5.2c: kill -9; the idle member of three takes over the one of two partitions."""
    topic = topic_of(2)
    victim = subprocess.Popen(
        [sys.executable, "-c", _VICTIM, servers, group, topic], stdout=subprocess.PIPE, text=True
    )
    try:
        assert victim.stdout is not None
        assert victim.stdout.readline().strip() == "2"
        with members_of(2, servers, group, [topic], session_timeout_ms=2000) as members:
            until("shared", members, lambda: sum(len(m.owned) for m in members) >= 1)
            os.kill(victim.pid, signal.SIGKILL)
            until("taken over", members, lambda: all_owned_once(members, {topic: 2}))
    finally:
        victim.kill()
        victim.wait()
        if victim.stdout is not None:
            victim.stdout.close()


def test_a_member_that_does_not_poll_loses_its_partitions(
    servers: str, group: str, topic_of: Any
) -> None:
    """S-5.4b: processing longer than max.poll.interval.ms."""
    topic = topic_of(2)
    options = {"max_poll_interval_ms": 2000, "session_timeout_ms": 1500}
    with members_of(2, servers, group, [topic], **options) as (slow, quick):
        both = [slow, quick]
        until("shared", both, lambda: all_owned_once(both, {topic: 2}) and bool(quick.owned))
        until("taken over", [quick], lambda: len(quick.owned) == 2)


def test_partitions_are_revoked_before_they_are_assigned(
    servers: str, group: str, topic_of: Any, fill: Any
) -> None:
    """S-5.4: an own store of positions, saved when revoked, used when assigned."""
    topic = topic_of(2)
    fill(topic, 10, 2)
    with members_of(1, servers, group, [topic]) as members:
        until("read", members, lambda: len(members[0].values) == 10)
        members.append(Member(servers, group, [topic]))
        until("shared", members, lambda: all(len(m.owned) == 1 for m in members))
        assert members[0].events == ["assigned", "revoked", "assigned"]
        assert members[0].revoked == [[(topic, 0), (topic, 1)]]


@pytest.mark.parametrize(
    ("strategy", "sizes"),
    [("range", [2, 2, 4]), ("roundrobin", [2, 3, 3]), ("cooperative-sticky", [2, 3, 3])],
)
def test_assignors_of_the_clients_decide(
    strategy: str, sizes: list[int], servers: str, group: str, topic_of: Any
) -> None:
    """S-5.4c: two topics of four partitions, three members."""
    topics = {topic_of(4): 4, topic_of(4): 4}
    options = {"partition_assignment_strategy": strategy}
    with members_of(3, servers, group, list(topics), **options) as members:
        until(
            "shared",
            members,
            lambda: all_owned_once(members, topics) and all(m.owned for m in members),
        )
        assert sorted(len(member.owned) for member in members) == sizes


def test_cooperative_members_keep_what_does_not_move(
    servers: str, group: str, topic_of: Any
) -> None:
    """A third member joins: the others give up one partition each and never stop reading the rest."""
    topic = topic_of(6)
    options = {"partition_assignment_strategy": "cooperative-sticky"}
    with members_of(2, servers, group, [topic], **options) as members:
        until("shared", members, lambda: [len(m.owned) for m in members] == [3, 3])
        revoked_before = [len(m.revoked) for m in members]
        members.append(Member(servers, group, [topic], **options))
        until("shared", members, lambda: [len(m.owned) for m in members] == [2, 2, 2])
        given_up = [
            pair
            for member, before in zip(members, revoked_before, strict=False)
            for revoked in member.revoked[before:]
            for pair in revoked
        ]
        assert len(given_up) == 2
        assert sorted(given_up) == members[2].owned


def test_a_group_follows_its_topics(servers: str, group: str) -> None:
    """D0-18, D1-08: a topic that grows, and a new one that a pattern matches, are shared out."""
    admin = AdminClient({"bootstrap.servers": servers})
    prefix = f"follow-{uuid4().hex[:8]}"
    one, two = f"{prefix}-1", f"{prefix}-2"
    admin.create_topics([NewTopic(one, 2)])[one].result()
    with members_of(2, servers, group, [f"^{prefix}-.*"]) as members:
        until("shared", members, lambda: all_owned_once(members, {one: 2}))
        admin.create_partitions([NewPartitions(one, 4)])[one].result()
        until("grown", members, lambda: all_owned_once(members, {one: 4}))
        admin.create_topics([NewTopic(two, 2)])[two].result()
        until("matched", members, lambda: all_owned_once(members, {one: 4, two: 2}))


def test_clients_of_different_make_share_a_group(servers: str, group: str, topic_of: Any) -> None:
    """librdkafka and kafka-python agree on `range`; the assignment of the one is read by the other."""
    from kafka import KafkaConsumer

    topic = topic_of(4)
    with members_of(1, servers, group, [topic], partition_assignment_strategy="range") as (ours,):
        until("alone", [ours], lambda: len(ours.owned) == 4)
        other = KafkaConsumer(
            topic, bootstrap_servers=servers, group_id=group, session_timeout_ms=6000,
            heartbeat_interval_ms=200,
        )  # fmt: skip
        try:
            end = time.monotonic() + SECONDS_MAX
            while len(ours.owned) != 2 or len(other.assignment()) != 2:
                assert time.monotonic() < end
                other.poll(10)
                ours.poll()
            theirs = [(each.topic, each.partition) for each in other.assignment()]
            assert sorted(ours.owned + theirs) == [(topic, p) for p in range(4)]
        finally:
            other.close()


# -- static members, restarts ---------------------------------------------------------------------


def test_a_static_member_that_restarts_keeps_its_partitions(
    servers: str, group: str, topic_of: Any
) -> None:
    """Its peer does not even notice."""
    topic = topic_of(4)
    peer = Member(servers, group, [topic], group_instance_id="i1")
    restarting = Member(servers, group, [topic], group_instance_id="i2")
    try:
        until("shared", [peer, restarting], lambda: all_owned_once([peer, restarting], {topic: 4}))
        owned, noticed = restarting.owned, len(peer.events)
        restarting.consumer.close()
        restarting = Member(servers, group, [topic], group_instance_id="i2")
        until("back", [peer, restarting], lambda: bool(restarting.owned))
        assert restarting.owned == owned
        until("quiet", [peer, restarting], _elapsed(1.0))
        assert len(peer.events) == noticed
    finally:
        peer.consumer.close()
        restarting.consumer.close()


def test_the_double_of_a_static_member_is_fenced(servers: str, group: str, topic_of: Any) -> None:
    """Two processes with one group.instance.id: the older one stops with a fatal error."""
    topic = topic_of(1)
    with members_of(1, servers, group, [topic], group_instance_id="i") as (first,):
        until("first", [first], lambda: bool(first.owned))
        with members_of(1, servers, group, [topic], group_instance_id="i") as (second,):
            until("second", [second], lambda: bool(second.owned))
            until("fenced", [first, second], lambda: "fenced" in str(first.errors))
            assert second.owned == [(topic, 0)]


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "crashed"])
def test_members_go_on_when_the_broker_comes_back(
    clean: bool, embedded: Any, servers: str, group: str, topic_of: Any, fill: Any
) -> None:
    """The group is read back from the log: same generation, same members, no rebalance."""
    topic = topic_of(4)
    with members_of(2, servers, group, [topic], session_timeout_ms=10_000) as members:
        until(
            "shared",
            members,
            lambda: all_owned_once(members, {topic: 4}) and all(m.owned for m in members),
        )
        noticed = [len(m.events) for m in members]
        embedded.restart(clean=clean)
        fill(topic, 40, 4)
        until("read", members, lambda: sum(len(m.values) for m in members) >= 40)
        assert [len(m.events) for m in members] == noticed


def _elapsed(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end
