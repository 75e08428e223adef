"""A reader may conclude: the topic requests work at every version, with words for every refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from odradek.errors import Err
from odradek.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    TopicRequest,
)


def new(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=partitions,
                replication_factor=factor,
                assignments=[],
                configs=[
                    CreatableTopicConfig(name=key.replace("_", "."), value=value)
                    for key, value in configs.items()
                ],
            )
        ],
        timeout_ms=1000,
    )


@pytest.mark.parametrize("version", range(2, 8))
def test_create_at_every_version(desk: Any, version: int) -> None:
    """S-2.1, S-9.2: created the first time, TOPIC_ALREADY_EXISTS the second time."""
    (created,) = desk.ask(new("t", 3, retention_ms="7"), version).topics
    assert (created.name, created.error_code) == ("t", Err.NONE)
    topic = desk.controller.image.topics["t"]
    assert len(topic.partitions) == 3
    if version >= 5:
        assert (created.num_partitions, created.replication_factor) == (3, 1)
        values = {config.name: config.value for config in created.configs}
        assert values["retention.ms"] == "7"
    if version >= 7:
        assert created.topic_id == topic.id
    (again,) = desk.ask(new("t", 3), version).topics
    assert again.error_code == Err.TOPIC_ALREADY_EXISTS
    assert again.error_message == "Topic 't' already exists."


def test_create_says_why_not(desk: Any) -> None:
    (refused,) = desk.ask(new("t", 1, 3)).topics
    assert refused.error_code == Err.INVALID_REPLICATION_FACTOR
    assert "3 larger than available brokers 1" in refused.error_message
    (refused,) = desk.ask(new("t", 1, 1, nope="1")).topics
    assert refused.error_code == Err.INVALID_CONFIG
    assert "nope" in refused.error_message
    assert not desk.controller.image.topics


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_at_every_version(desk: Any, version: int) -> None:
    """S-7.6: deleted; a second time it is unknown."""
    desk.ask(new("t"))
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="t")] if version >= 6 else [],
        topic_names=["t"] if version < 6 else [],
        timeout_ms=1000,
    )
    (deleted,) = desk.ask(request, version).responses
    assert (deleted.name, deleted.error_code) == ("t", Err.NONE)
    assert not desk.controller.image.topics
    (unknown,) = desk.ask(request, version).responses
    assert unknown.error_code == Err.UNKNOWN_TOPIC_OR_PARTITION


def test_delete_by_id(desk: Any) -> None:
    desk.ask(new("t"))
    topic_id = desk.controller.image.topics["t"].id
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=topic_id)])
    (deleted,) = desk.ask(request).responses
    assert (deleted.name, deleted.topic_id, deleted.error_code) == ("t", topic_id, Err.NONE)
    (unknown,) = desk.ask(request).responses
    assert (unknown.name, unknown.error_code) == (None, Err.UNKNOWN_TOPIC_ID)


def test_deletion_switched_off(open_desk: Callable[..., Any]) -> None:
    """S-7.6: delete.topic.enable=false refuses, in words that older clients know."""
    desk = open_desk(delete_topic_enable="false")
    desk.ask(new("t"))
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], topic_names=["t"])
    assert desk.ask(request, 6).responses[0].error_code == Err.TOPIC_DELETION_DISABLED
    old = DeleteTopicsRequest(topic_names=["t"])
    assert desk.ask(old, 3).responses[0].error_code == Err.TOPIC_DELETION_DISABLED
    assert desk.ask(old, 2).responses[0].error_code == Err.INVALID_REQUEST
    assert "t" in desk.controller.image.topics


@pytest.mark.parametrize("version", range(4))
def test_grow_at_every_version(desk: Any, version: int) -> None:
    """S-7.5: three partitions afterwards; fewer are refused."""
    desk.ask(new("t", 2))

    def grow(count: int) -> Any:
        topic = CreatePartitionsTopic(name="t", count=count, assignments=None)
        (result,) = desk.ask(CreatePartitionsRequest(topics=[topic]), version).results
        return result

    assert grow(3).error_code == Err.NONE
    assert len(desk.controller.image.topics["t"].partitions) == 3
    assert grow(2).error_code == Err.INVALID_PARTITIONS
    assert "not be an increase" in grow(2).error_message


class TestPages:
    def ask(self, desk: Any, *names: str, limit: int = 2000, cursor: Any = None) -> Any:
        return desk.ask(
            DescribeTopicPartitionsRequest(
                topics=[TopicRequest(name=name) for name in names],
                response_partition_limit=limit,
                cursor=cursor,
            )
        )

    def test_all_topics_in_order_page_by_page(self, desk: Any) -> None:
        for name, partitions in (("b", 3), ("a", 2), ("c", 1)):
            desk.ask(new(name, partitions))
        seen: list[tuple[str, int]] = []
        cursor = None
        pages = 0
        while True:
            response = self.ask(desk, limit=2, cursor=cursor)
            pages += 1
            seen += [(t.name, p.partition_index) for t in response.topics for p in t.partitions]
            if response.next_cursor is None:
                break
            cursor = DescribeTopicPartitionsRequestCursor(
                topic_name=response.next_cursor.topic_name,
                partition_index=response.next_cursor.partition_index,
            )
        assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]
        assert pages == 3

    def test_an_unknown_topic_is_named_as_such(self, desk: Any) -> None:
        desk.ask(new("a"))
        response = self.ask(desk, "nope", "a")
        assert [(t.name, t.error_code) for t in response.topics] == [
            ("a", Err.NONE),
            ("nope", Err.UNKNOWN_TOPIC_OR_PARTITION),
        ]
        (partition,) = response.topics[0].partitions
        assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])
