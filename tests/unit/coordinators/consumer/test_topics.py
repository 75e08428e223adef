"""Topics come, go and grow, by name and by pattern; groups follow with their next heartbeat."""

from __future__ import annotations

from odradek.coordinators.groups.subscriptions import metadata_hash
from odradek.errors import Err
from odradek.metadata.image import BrokerRegistration, MetadataImage, PartitionImage, TopicImage
from odradek.testing.virtual_consumers import (
    ASSIGNMENT_INTERVAL_MS,
    REBALANCE_MS,
    VirtualConsumer,
    VirtualConsumerGroups,
)

BY_REGEX = {"rebalance_timeout_ms": REBALANCE_MS, "owned": {}}


def by_regex(groups: VirtualConsumerGroups, member_id: str, regex: str) -> VirtualConsumer:
    return groups.member(member_id, None, subscribed_topic_regex=regex)


def test_a_topic_that_does_not_exist_yet_is_waited_for(groups: VirtualConsumerGroups) -> None:
    a = groups.member("a", ("later",))
    assert a.partitions == {}
    assert groups.group().is_subscribed_to("later")
    groups.create_topic("later", 2)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    assert a.partitions == {"later": {0, 1}}


def test_a_topic_that_grows_is_shared_out_again(groups: VirtualConsumerGroups) -> None:
    members = [groups.member(f"m{n}") for n in range(3)]
    groups.settle(*members)
    before = {m.member_id: m.partitions["t"] for m in members}
    groups.grow_topic("t", 9)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    members[0].beat()
    groups.settle(*members)
    assert {len(m.partitions["t"]) for m in members} == {3}
    assert all(before[m.member_id] <= m.partitions["t"] for m in members)
    assert groups.group().history[-1].reason == "topics were created, deleted or grown"


def test_nine_hundred_more_partitions_are_stable_after_one_heartbeat_of_each() -> None:
    groups = VirtualConsumerGroups({"t": 100})
    members = [groups.member(f"m{n}") for n in range(10)]
    groups.settle(*members)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    groups.grow_topic("t", 1000)
    for member in members:
        member.beat()
    assert groups.group().state_name == "Stable"
    assert {len(m.partitions["t"]) for m in members} == {100}


def test_a_deleted_topic_is_taken_away(groups: VirtualConsumerGroups) -> None:
    groups.create_topic("u", 2)
    a = groups.member("a", ("t", "u"))
    groups.delete_topic("u")
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    assert a.partitions == {"t": set(range(6))}
    groups.settle(a)
    assert len(groups.group().owners) == 6


def test_a_topic_that_was_replaced_is_another_one(groups: VirtualConsumerGroups) -> None:
    a = groups.member("a")
    new_id = groups.create_topic("t", 2)
    groups.settle(a)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    groups.settle(a)
    assert a.owned == {new_id: {0, 1}}


def test_other_topics_do_not_matter(groups: VirtualConsumerGroups) -> None:
    a = groups.member("a")
    groups.create_topic("u", 5)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    written = len(groups.runtime.log)
    a.beat()
    assert len(groups.runtime.log) == written


def test_the_hash_tells_what_changed() -> None:
    partition = PartitionImage((1, 2), (1, 2), 1)
    groups = VirtualConsumerGroups({"t": 1})
    topic_id = groups.image.topics["t"].id

    def image(*partitions: PartitionImage, racks: tuple[str | None, str | None]) -> MetadataImage:
        return MetadataImage(
            topics={"t": TopicImage("t", topic_id, partitions)},
            brokers={n: BrokerRegistration(n, {}, rack) for n, rack in enumerate(racks, start=1)},
        )

    plain = image(partition, racks=(None, None))
    hashes = [
        metadata_hash(("t", "gone"), plain),
        metadata_hash(("t",), image(partition, partition, racks=(None, None))),
        metadata_hash(("t",), image(partition, racks=("r1", None))),
        metadata_hash(("t",), image(partition, racks=("r1", "r2"))),
    ]
    assert len(set(hashes)) == 4
    assert metadata_hash(("t",), plain) == hashes[0]
    assert metadata_hash(("t",), image(partition, racks=("r2", "r1"))) == hashes[3]
    assert metadata_hash(("gone",), plain) == 0
    moved = PartitionImage((1, 2), (2,), 2, leader_epoch=7, partition_epoch=9)
    assert metadata_hash(("t",), image(moved, racks=(None, None))) == hashes[0]


# -- patterns ------------------------------------------------------------------------------------


def test_a_pattern_is_resolved_by_the_broker() -> None:
    groups = VirtualConsumerGroups({"orders-eu": 2, "orders-us": 2, "payments": 2})
    a = by_regex(groups, "a", "orders-.*")
    assert a.partitions == {"orders-eu": {0, 1}, "orders-us": {0, 1}}
    group = groups.group()
    assert group.resolved["orders-.*"].topics == {"orders-eu", "orders-us"}
    assert group.is_subscribed_to("orders-eu")
    assert not group.is_subscribed_to("payments")
    (member,) = groups.consumer.describe("g").members
    assert member.subscribed_topic_regex == "orders-.*"


def test_a_bad_pattern_is_refused(groups: VirtualConsumerGroups) -> None:
    refusal = groups.refused("a", 0, **BY_REGEX, subscribed_topic_regex="(")
    assert refusal is Err.INVALID_REGULAR_EXPRESSION
    a = groups.member("a")
    assert (
        groups.refused("a", a.epoch, subscribed_topic_regex="a**") is Err.INVALID_REGULAR_EXPRESSION
    )


def test_new_topics_that_match_are_found(groups: VirtualConsumerGroups) -> None:
    a = by_regex(groups, "a", "t.*")
    groups.create_topic("t2", 1)
    groups.create_topic("u", 1)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    assert a.partitions == {"t": set(range(6)), "t2": {0}}
    groups.delete_topic("t")
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    assert a.partitions == {"t2": {0}}
    assert groups.group().history[-1].reason == "the topics that match t.* changed"


def test_topics_that_come_in_a_hurry_are_looked_up_together(groups: VirtualConsumerGroups) -> None:
    a = by_regex(groups, "a", "t.*")
    groups.create_topic("t2", 1)
    a.beat()  # too soon
    assert groups.group().resolved["t.*"].topics == {"t"}
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    assert groups.group().resolved["t.*"].topics == {"t", "t2"}


def test_names_and_patterns_together() -> None:
    groups = VirtualConsumerGroups({"t": 2, "u": 2, "v": 2})
    a = groups.member("a", ("v",), subscribed_topic_regex="t")
    b = groups.member("b", ("u",))
    groups.settle(a, b)
    assert (a.partitions, b.partitions) == ({"t": {0, 1}, "v": {0, 1}}, {"u": {0, 1}})


def test_a_pattern_goes_with_its_last_subscriber(groups: VirtualConsumerGroups) -> None:
    by_regex(groups, "a", "t.*")
    by_regex(groups, "b", "t.*")
    groups.send("a", -1)
    assert groups.group().resolved.keys() == {"t.*"}
    groups.send("b", 2, subscribed_topic_regex="u.*")
    assert groups.group().resolved.keys() == {"u.*"}
    assert dict(groups.group().topic_counts) == {}
    groups.send("b", 2, subscribed_topic_regex="", subscribed_topic_names=["t"])
    assert groups.group().resolved == {}
    groups.send("b", -1)
    assert dict(groups.group().topic_counts) == {}


def test_patterns_survive_a_restart_of_the_broker(groups: VirtualConsumerGroups) -> None:
    a = by_regex(groups, "a", "t.*")
    groups.crash()
    groups.create_topic("t2", 1)
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()
    assert a.partitions == {"t": set(range(6)), "t2": {0}}


def test_patterns_are_looked_up_again_after_a_while() -> None:
    groups = VirtualConsumerGroups({"t": 1})
    a = by_regex(groups, "a", "t.*")
    written = len(groups.runtime.log)
    for _ in range(65):
        groups.advance(10_000)
        a.beat()
    assert len(groups.runtime.log) == written
