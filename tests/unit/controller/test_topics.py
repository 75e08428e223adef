"""A reader may conclude: topics are created, deleted and grown by Kafka's rules, item by item."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from uuid import UUID

import pytest

from odradek.config.broker import BrokerConfig
from odradek.controller.outcome import Outcome
from odradek.controller.partitions import MorePartitions, create_partitions
from odradek.controller.topics import (
    CreatedTopic,
    NewTopic,
    TopicRef,
    create_topics,
    delete_topics,
)
from odradek.errors import Err
from odradek.metadata import BrokerRegistration, MetadataImage, PartitionImage, apply
from odradek.metadata.records import BrokerRegistered, TopicCreated, TopicRemoved


def config(**texts: str) -> BrokerConfig:
    return BrokerConfig.from_strings({k.replace("_", "."): v for k, v in texts.items()})[0]


def cluster(brokers: int = 1, *topics: NewTopic) -> MetadataImage:
    image, _ = apply(
        MetadataImage(),
        [BrokerRegistered(BrokerRegistration(n, {})) for n in range(1, brokers + 1)],
    )
    if topics:
        outcome = create(image, *topics)
        assert all(result.verdict.err is Err.NONE for result in outcome.reply), outcome.reply
        image, _ = apply(image, outcome.records)
    return image


def create(
    image: MetadataImage, *topics: NewTopic, validate_only: bool = False, **texts: str
) -> Outcome[list[CreatedTopic]]:
    numbers = count(len(image.topics) + 1)
    return create_topics(
        image,
        config(**texts),
        topics,
        lambda: UUID(int=next(numbers)),
        validate_only=validate_only,
    )


def refused(outcome: Outcome[list[CreatedTopic]]) -> tuple[Err, str]:
    (result,) = outcome.reply
    assert not outcome.records
    assert result.verdict.message
    return result.verdict.err, result.verdict.message


class TestCreate:
    def test_three_partitions_on_three_brokers(self) -> None:
        """S-2.1: a topic with 3 partitions and replication factor 3 is created as asked."""
        (record,), (result,) = create(cluster(3), NewTopic("helloworld", 3, 3))
        assert isinstance(record, TopicCreated)
        assert (result.name, result.num_partitions, result.replication_factor) == (
            "helloworld",
            3,
            3,
        )
        assert result.id == record.id
        assert sorted(p.leader for p in record.partitions) == [1, 2, 3]
        assert all(set(p.isr) == {1, 2, 3} for p in record.partitions)

    def test_a_second_creation_says_that_the_topic_exists(self) -> None:
        """S-9.2: the second call fails with topic-exists."""
        image = cluster(2, NewTopic("selfserviceTopic", 2, 2))
        err, message = refused(create(image, NewTopic("selfserviceTopic", 2, 2)))
        assert err is Err.TOPIC_ALREADY_EXISTS
        assert message == "Topic 'selfserviceTopic' already exists."

    def test_more_replicas_than_brokers_creates_nothing(self) -> None:
        """S-7.4d: replication factor 4 on 3 brokers is an error and no topic."""
        err, message = refused(create(cluster(3), NewTopic("t", 1, 4)))
        assert err is Err.INVALID_REPLICATION_FACTOR
        assert "4 larger than available brokers 3" in message

    def test_minus_one_takes_the_broker_defaults(self) -> None:
        outcome = create(
            cluster(2), NewTopic("t"), num_partitions="4", default_replication_factor="2"
        )
        assert outcome.reply[0].num_partitions == 4
        assert outcome.reply[0].replication_factor == 2

    @pytest.mark.parametrize(
        "name", ["", ".", "..", "x" * 250, "a b", "a/b", "ä", "a:b", "__x\n", "٣"]
    )
    def test_bad_names(self, name: str) -> None:
        assert refused(create(cluster(), NewTopic(name)))[0] is Err.INVALID_TOPIC_EXCEPTION

    @pytest.mark.parametrize("name", ["a", "...", "x" * 249, "A.b_c-9", "__consumer_offsets"])
    def test_good_names(self, name: str) -> None:
        assert create(cluster(), NewTopic(name)).reply[0].verdict.err is Err.NONE

    def test_names_that_metrics_would_confuse(self) -> None:
        """S-7.4: `.` and `_` collide in metric names; the second of two such topics is refused."""
        image = cluster(1, NewTopic("my_test.topic"))
        err, message = refused(create(image, NewTopic("my.test_topic")))
        assert err is Err.INVALID_TOPIC_EXCEPTION
        assert "collides" in message
        assert "my_test.topic" in message
        results = create(cluster(), NewTopic("a.b"), NewTopic("a_b")).reply
        assert [r.verdict.err for r in results] == [Err.NONE, Err.INVALID_TOPIC_EXCEPTION]

    @pytest.mark.parametrize(
        ("partitions", "factor", "err"),
        [
            (0, 1, Err.INVALID_PARTITIONS),
            (-2, 1, Err.INVALID_PARTITIONS),
            (1, 0, Err.INVALID_REPLICATION_FACTOR),
            (1, -2, Err.INVALID_REPLICATION_FACTOR),
            (10_001, 1, Err.POLICY_VIOLATION),
        ],
    )
    def test_counts_that_cannot_be(self, partitions: int, factor: int, err: Err) -> None:
        assert refused(create(cluster(), NewTopic("t", partitions, factor)))[0] is err

    def test_a_manual_assignment_is_taken_as_it_is(self) -> None:
        """S-7.4c: replicas go where the assignment says."""
        (record,), (result,) = create(
            cluster(2), NewTopic("t", assignments=((1, (1, 2)), (0, (2, 1))))
        )
        assert isinstance(record, TopicCreated)
        assert [p.replicas for p in record.partitions] == [(2, 1), (1, 2)]
        assert [p.leader for p in record.partitions] == [2, 1]
        assert (result.num_partitions, result.replication_factor) == (2, 2)

    @pytest.mark.parametrize(
        "assignments",
        [
            ((1, (1,)),),
            ((0, (1,)), (0, (2,))),
            ((0, (1,)), (2, (1,))),
            ((0, ()),),
            ((0, (1, 1)),),
            ((0, (9,)),),
            ((0, (1, 2)), (1, (1,))),
        ],
    )
    def test_bad_assignments(self, assignments: Sequence[tuple[int, Sequence[int]]]) -> None:
        outcome = create(cluster(2), NewTopic("t", assignments=assignments))
        assert refused(outcome)[0] is Err.INVALID_REPLICA_ASSIGNMENT

    def test_counts_and_assignments_exclude_each_other(self) -> None:
        outcome = create(cluster(), NewTopic("t", 1, assignments=((0, (1,)),)))
        assert refused(outcome)[0] is Err.INVALID_REQUEST
        outcome = create(cluster(), NewTopic("t", -1, 1, assignments=((0, (1,)),)))
        assert refused(outcome)[0] is Err.INVALID_REQUEST

    def test_settings_given_at_creation(self) -> None:
        """D0-05: `--config x=y` is kept with the topic, a bad key or value is refused."""
        image = cluster(1, NewTopic("t", configs={"retention.ms": "1000"}))
        assert image.topics["t"].overrides == {"retention.ms": "1000"}
        for bad in ({"nope": "1"}, {"retention.ms": "soon"}, {"retention.ms": None}):
            outcome = create(cluster(), NewTopic("t", configs=bad))
            assert refused(outcome)[0] is Err.INVALID_CONFIG

    def test_a_name_twice_in_a_request_is_refused_and_the_others_go_on(self) -> None:
        outcome = create(cluster(), NewTopic("a"), NewTopic("b"), NewTopic("a"))
        assert {r.name: r.verdict.err for r in outcome.reply} == {
            "a": Err.INVALID_REQUEST,
            "b": Err.NONE,
        }
        assert len(outcome.records) == 1

    def test_validate_only_decides_and_changes_nothing(self) -> None:
        outcome = create(cluster(), NewTopic("t", 3), NewTopic("u", 0), validate_only=True)
        assert not outcome.records
        assert [r.verdict.err for r in outcome.reply] == [Err.NONE, Err.INVALID_PARTITIONS]
        assert outcome.reply[0].num_partitions == 3


class TestDelete:
    def test_by_name_and_by_id(self) -> None:
        """S-7.6: with delete.topic.enable=true a topic goes."""
        image = cluster(1, NewTopic("a"), NewTopic("b"))
        refs = [TopicRef("a"), TopicRef(id=image.topics["b"].id)]
        records, reply = delete_topics(image, config(), refs)
        assert records == (TopicRemoved("a"), TopicRemoved("b"))
        assert [(r.name, r.verdict.err) for r in reply] == [("a", Err.NONE), ("b", Err.NONE)]

    def test_deletion_can_be_switched_off(self) -> None:
        """S-7.6: with delete.topic.enable=false the topic stays and the answer says why."""
        image = cluster(1, NewTopic("a"))
        records, (result,) = delete_topics(
            image, config(delete_topic_enable="false"), [TopicRef("a")]
        )
        assert not records
        assert result.verdict.err is Err.TOPIC_DELETION_DISABLED
        assert "delete.topic.enable=true" in (result.verdict.message or "")

    def test_what_is_not_there(self) -> None:
        records, reply = delete_topics(
            cluster(), config(), [TopicRef("a"), TopicRef(id=UUID(int=5)), TopicRef()]
        )
        assert not records
        assert [r.verdict.err for r in reply] == [
            Err.UNKNOWN_TOPIC_OR_PARTITION,
            Err.UNKNOWN_TOPIC_ID,
            Err.INVALID_REQUEST,
        ]

    def test_the_same_topic_twice_or_named_both_ways(self) -> None:
        image = cluster(1, NewTopic("a"), NewTopic("b"))
        a = image.topics["a"]
        for refs in ([TopicRef("a")] * 2, [TopicRef("a"), TopicRef(id=a.id)]):
            records, reply = delete_topics(image, config(), refs)
            assert not records
            assert {r.verdict.err for r in reply} == {Err.INVALID_REQUEST}
        _, (result,) = delete_topics(image, config(), [TopicRef("a", a.id)])
        assert result.verdict.err is Err.INVALID_REQUEST


class TestGrow:
    def test_a_topic_grows_and_its_old_partitions_stay(self) -> None:
        """S-7.5: altered from 2 to 3 partitions; the first two are as they were."""
        image = cluster(3, NewTopic("my_test_topic", 2, 2))
        before = image.topics["my_test_topic"].partitions
        records, reply = create_partitions(image, [MorePartitions("my_test_topic", 3)])
        assert reply[0][1].err is Err.NONE
        image, delta = apply(image, records)
        after = image.topics["my_test_topic"].partitions
        assert after[:2] == before
        assert len(after) == 3
        assert len(after[2].replicas) == 2
        assert delta.changed_partitions == {"my_test_topic": {2}}

    @pytest.mark.parametrize(
        ("wanted", "words"), [(2, "already has 2"), (1, "not be an increase"), (0, "increase")]
    )
    def test_partitions_cannot_be_taken_away(self, wanted: int, words: str) -> None:
        """S-7.5c: reducing is refused."""
        image = cluster(1, NewTopic("t", 2))
        records, ((_, verdict),) = create_partitions(image, [MorePartitions("t", wanted)])
        assert not records
        assert verdict.err is Err.INVALID_PARTITIONS
        assert words in (verdict.message or "")

    def test_manual_assignments_of_new_partitions(self) -> None:
        image = cluster(2, NewTopic("t", 1, 2))
        records, _ = create_partitions(image, [MorePartitions("t", 2, [(2, 1)])])
        image, _ = apply(image, records)
        assert image.topics["t"].partitions[1] == PartitionImage((2, 1), (2, 1), 2)
        for assignments in ([(2,)], [(1, 2), (2, 1)], [(1, 9)], [(1, 1)], []):
            _, ((_, verdict),) = create_partitions(image, [MorePartitions("t", 3, assignments)])
            assert verdict.err is Err.INVALID_REPLICA_ASSIGNMENT

    def test_unknown_repeated_and_only_validated(self) -> None:
        image = cluster(1, NewTopic("t"), NewTopic("u"))
        wanted = [MorePartitions("x", 2), *[MorePartitions("u", 2)] * 2, MorePartitions("t", 2)]
        records, reply = create_partitions(image, wanted, validate_only=True)
        assert not records
        assert {name: verdict.err for name, verdict in reply} == {
            "x": Err.UNKNOWN_TOPIC_OR_PARTITION,
            "u": Err.INVALID_REQUEST,
            "t": Err.NONE,
        }
