"""`odradek topics` reads its options as kafka-topics does, and words topics with the same labels."""

from __future__ import annotations

from uuid import UUID

import pytest
import typer

from odradek.client import ConfigEntry, ConfigSource, Partition, Topic
from odradek.errors import Err
from odradek.tools.console import split_pairs
from odradek.tools.topic_text import Show, describe_lines, topic_document
from odradek.tools.topics import one_name, parse_assignment, select_names

ID = UUID(bytes=bytes(range(16)))


def partition(index: int, *, leader: int = 1, isr: tuple[int, ...] = (1, 2)) -> Partition:
    return Partition(index, leader, 0, (1, 2), isr, (), Err.NONE)


def topic(*partitions: Partition) -> Topic:
    return Topic("t", ID, False, partitions, Err.NONE)


def entry(name: str, value: str, source: ConfigSource) -> ConfigEntry:
    return ConfigEntry(name, value, source, False, False, ())


CONFIGS = {
    "segment.ms": entry("segment.ms", "60000", ConfigSource.DYNAMIC_TOPIC_CONFIG),
    "min.insync.replicas": entry("min.insync.replicas", "2", ConfigSource.STATIC_BROKER_CONFIG),
    "retention.ms": entry("retention.ms", "1", ConfigSource.DEFAULT_CONFIG),
}


def test_describe_has_the_labels_of_kafka_topics() -> None:
    """D0-08."""
    lines = list(describe_lines(topic(partition(0), partition(1)), CONFIGS, Show(), {1, 2}))
    assert lines == [
        "Topic: t\tTopicId: AAECAwQFBgcICQoLDA0ODw\tPartitionCount: 2\tReplicationFactor: 2\t"
        "Configs: segment.ms=60000,min.insync.replicas=2",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2",
        "\tTopic: t\tPartition: 1\tLeader: 1\tReplicas: 1,2\tIsr: 1,2",
    ]


@pytest.mark.parametrize(
    ("show", "shown"),
    [
        (Show(under_replicated=True), [1, 2]),
        (Show(unavailable=True), [2]),
        (Show(under_min_isr=True), [1, 2]),
        (Show(at_min_isr=True), [0]),
        (Show(unavailable=True, at_min_isr=True), [0, 2]),
    ],
)
def test_partitions_in_trouble_can_be_picked_out(show: Show, shown: list[int]) -> None:
    described = topic(partition(0), partition(1, isr=(1,)), partition(2, leader=-1, isr=()))
    lines = list(describe_lines(described, CONFIGS, show, {1, 2}))
    assert [int(line.split("Partition: ")[1].split("\t")[0]) for line in lines] == shown
    document = topic_document(described, CONFIGS, show, {1, 2})
    listed = document["partitions"]
    assert isinstance(listed, list)
    assert [row["partition"] for row in listed] == shown


def test_topics_with_overrides_are_those_with_settings_of_their_own() -> None:
    show = Show(overrides_only=True)
    assert len(list(describe_lines(topic(partition(0)), CONFIGS, show, {1}))) == 1
    inherited = {"min.insync.replicas": CONFIGS["min.insync.replicas"]}
    assert not list(describe_lines(topic(partition(0)), inherited, show, {1}))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (None, ["a.b", "axb", "orders-1", "orders-2"]),
        ("a.b", ["a.b"]),  # a topic of this very name wins over the expression
        ("a?b", []),
        ("a.?b", ["a.b", "axb"]),
        ("orders-.*", ["orders-1", "orders-2"]),
        ("orders-1, axb", ["axb", "orders-1"]),
        ("orders", []),
    ],
)
def test_topic_means_a_name_a_list_or_an_expression(
    pattern: str | None, expected: list[str]
) -> None:
    assert select_names(["orders-2", "orders-1", "axb", "a.b"], pattern) == expected


def test_a_broken_expression_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="neither a topic nor a regular expression"):
        select_names(["a"], "(")


def test_an_assignment_is_a_list_of_replica_lists() -> None:
    assert parse_assignment("1:2,2:3") == ((1, 2), (2, 3))
    assert parse_assignment(None) == ()
    with pytest.raises(typer.BadParameter, match="1:2,2:3"):
        parse_assignment("1:x")


def test_the_topic_is_named_once() -> None:
    assert one_name("a", None) == one_name(None, "a") == "a"
    with pytest.raises(typer.BadParameter, match="twice"):
        one_name("a", "b")
    with pytest.raises(typer.BadParameter, match="which topic"):
        one_name(None, None)


def test_pairs_keep_equal_signs_in_values() -> None:
    assert split_pairs(["a=b=c", "d="], "--config") == {"a": "b=c", "d": ""}
    with pytest.raises(typer.BadParameter, match="KEY=VALUE"):
        split_pairs(["novalue"], "--config")
