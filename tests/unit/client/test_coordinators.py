"""Requests for a group or a transactional id reach its coordinator, also when that moves."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest

from odradek.client import CommittedOffset, GroupType, ListedGroup
from odradek.client.aio import Client
from odradek.client.group_values import classic_assignment
from odradek.errors import ApiError, Err
from odradek.protocol import codec
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages import consumer_group_describe, describe_groups
from odradek.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from odradek.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from odradek.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from odradek.protocol.messages.list_groups import ListedGroup as ListedRow
from odradek.protocol.messages.list_groups import ListGroupsResponse
from odradek.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from odradek.types import TopicPartition


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.client.backoff.FIRST_MS", 1.0)


def found(nodes: dict[str, int | Err]) -> Any:
    """Answers FindCoordinator: a node, or an error, for each key."""

    def answer(request: Any) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, error_code=nodes[key], error_message="")
                if isinstance(nodes[key], Err)
                else Coordinator(key=key, node_id=int(nodes[key]), error_message=None)
                for key in request.coordinator_keys
            ]
        )

    return answer


def deleted(*errors: Err) -> Any:
    return lambda request: DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=name, error_code=error)
            for name, error in zip(request.groups_names, errors, strict=True)
        ]
    )


def test_each_coordinator_is_asked_about_its_own_and_looked_up_once(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker(1) as one, fakes.Broker(2) as two:
            one.peers = two.peers = [one, two]
            for broker in (one, two):
                broker.on(ApiKey.FIND_COORDINATOR, found({"a": 1, "b": 2, "c": 2}))
            one.on(ApiKey.DELETE_GROUPS, deleted(Err.NONE))
            two.on(ApiKey.DELETE_GROUPS, deleted(Err.NONE, Err.NON_EMPTY_GROUP))
            async with Client(one.address) as client:
                outcomes = await client.delete_groups(["a", "b", "c"])
                two.on(ApiKey.DELETE_GROUPS, deleted(Err.NONE))
                await client.delete_groups(["c"])
            assert outcomes["a"] is outcomes["b"] is None
            assert isinstance(outcomes["c"], ApiError)
            assert outcomes["c"].err is Err.NON_EMPTY_GROUP
            assert one.count(ApiKey.FIND_COORDINATOR) + two.count(ApiKey.FIND_COORDINATOR) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "passing", [Err.COORDINATOR_NOT_AVAILABLE, Err.COORDINATOR_LOAD_IN_PROGRESS]
)
def test_a_coordinator_that_is_not_there_yet_is_waited_for(fakes: Any, passing: Err) -> None:
    async def scenario() -> None:
        async with fakes.Broker(1) as broker:
            broker.on(ApiKey.FIND_COORDINATOR, found({"g": passing}), found({"g": 1}))
            broker.on(ApiKey.DELETE_GROUPS, deleted(passing), deleted(Err.NONE))
            async with Client(broker.address) as client:
                assert await client.delete_groups(["g"]) == {"g": None}

    asyncio.run(scenario())


def test_a_group_that_moved_is_found_at_its_new_coordinator(fakes: Any) -> None:
    """NOT_COORDINATOR, for one group of a reply or for a partition of it: look up again."""

    async def scenario() -> None:
        async with fakes.Broker(1) as one, fakes.Broker(2) as two:
            one.peers = two.peers = [one, two]
            for broker in (one, two):
                broker.on(ApiKey.FIND_COORDINATOR, found({"g": 2}))
            one.on(ApiKey.FIND_COORDINATOR, found({"g": 1}), found({"g": 2}))
            place = TopicPartition("t", 0)
            one.on(ApiKey.OFFSET_COMMIT, committed(Err.NOT_COORDINATOR))
            two.on(ApiKey.OFFSET_COMMIT, committed(Err.NONE))
            async with Client(one.address) as client:
                assert await client.alter_group_offsets("g", {place: 7}) == {place: None}
            ((_, version, request),) = [
                each for each in two.asked if each[0] == ApiKey.OFFSET_COMMIT
            ]
            assert version == 9, "names, not ids: offsets outlive their topics"
            assert request.topics[0].partitions[0].committed_offset == 7

    asyncio.run(scenario())


def committed(error: Err) -> OffsetCommitResponse:
    partition = OffsetCommitResponsePartition(partition_index=0, error_code=error)
    return OffsetCommitResponse(
        topics=[OffsetCommitResponseTopic(name="t", partitions=[partition])]
    )


def test_offsets_of_many_groups_take_one_request_and_leave_out_what_was_never_committed(
    fakes: Any,
) -> None:
    def fetched(request: Any) -> OffsetFetchResponse:
        rows = [
            OffsetFetchResponsePartitions(partition_index=0, committed_offset=5, metadata="m"),
            OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1, metadata=""),
        ]
        topics = [OffsetFetchResponseTopics(name="t", partitions=rows)]
        return OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)
                for group in request.groups
            ]
        )

    async def scenario() -> None:
        async with fakes.Broker(1) as broker:
            broker.on(ApiKey.FIND_COORDINATOR, found({"a": 1, "b": 1}))
            broker.on(ApiKey.OFFSET_FETCH, fetched)
            async with Client(broker.address) as client:
                offsets = await client.group_offsets(["a", "b"])
            assert offsets["a"] == {TopicPartition("t", 0): CommittedOffset(5, -1, "m")}
            assert offsets["a"] == offsets["b"]
            assert broker.count(ApiKey.OFFSET_FETCH) == 1

    asyncio.run(scenario())


def test_groups_of_all_brokers_are_listed(fakes: Any) -> None:
    def listed(name: str) -> ListGroupsResponse:
        row = ListedRow(
            group_id=name, protocol_type="consumer", group_state="Empty", group_type="classic"
        )
        return ListGroupsResponse(groups=[row])

    async def scenario() -> None:
        async with fakes.Broker(1) as one, fakes.Broker(2) as two:
            one.peers = two.peers = [one, two]
            one.on(ApiKey.LIST_GROUPS, listed("z"))
            two.on(ApiKey.LIST_GROUPS, listed("a"))
            async with Client(one.address) as client:
                groups = await client.list_groups(states=["Empty"], types=["classic"])
            assert groups == [
                ListedGroup("a", "classic", "consumer", "Empty", 2),
                ListedGroup("z", "classic", "consumer", "Empty", 1),
            ]

    asyncio.run(scenario())


def test_a_group_is_described_whatever_its_protocol(fakes: Any) -> None:
    def as_consumer(request: Any) -> consumer_group_describe.ConsumerGroupDescribeResponse:
        return consumer_group_describe.ConsumerGroupDescribeResponse(
            groups=[
                consumer_group_describe.DescribedGroup(
                    group_id=name,
                    error_code=0 if name == "new" else Err.GROUP_ID_NOT_FOUND,
                    group_state="Stable",
                    group_epoch=3,
                )
                for name in request.group_ids
            ]
        )

    def as_classic(request: Any) -> describe_groups.DescribeGroupsResponse:
        assert "new" not in request.groups
        return describe_groups.DescribeGroupsResponse(
            groups=[
                describe_groups.DescribedGroup(
                    group_id=name,
                    error_code=0 if name == "old" else Err.GROUP_ID_NOT_FOUND,
                    group_state="Empty" if name == "old" else "Dead",
                )
                for name in request.groups
            ]
        )

    async def scenario() -> None:
        async with fakes.Broker(1) as broker:
            broker.on(ApiKey.FIND_COORDINATOR, found({"new": 1, "old": 1, "none": 1}))
            broker.on(ApiKey.DESCRIBE_GROUPS, as_classic)
            broker.on(ApiKey.CONSUMER_GROUP_DESCRIBE, as_consumer)
            async with Client(broker.address) as client:
                groups = await client.describe_groups(["new", "old", "none"])
            new, old, none = groups.values()
            assert not isinstance(new, ApiError)
            assert not isinstance(old, ApiError)
            assert (new.type, new.group_epoch) == (GroupType.CONSUMER, 3)
            assert (old.type, old.state) == (GroupType.CLASSIC, "Empty")
            assert isinstance(none, ApiError)
            assert none.message == "Consumer group 'none' does not exist."

    asyncio.run(scenario())


def test_a_broker_without_the_consumer_protocol_is_asked_the_classic_way(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker(1) as broker:
            broker.on(ApiKey.FIND_COORDINATOR, found({"g": 1}))
            row = describe_groups.DescribedGroup(group_id="g", group_state="Stable")
            broker.on(ApiKey.DESCRIBE_GROUPS, describe_groups.DescribeGroupsResponse(groups=[row]))
            async with Client(broker.address) as client:
                (group,) = (await client.describe_groups(["g"])).values()
            assert not isinstance(group, ApiError)
            assert group.state == "Stable"

    asyncio.run(scenario())


def test_an_assignment_is_read_where_it_is_a_consumers() -> None:
    body = ConsumerProtocolAssignment(
        assigned_partitions=[ConsumerProtocolAssignmentTopicPartition(topic="t", partitions=[1, 0])]
    )
    data = struct.pack(">h", 1) + codec.encode(body, 1)
    read = (TopicPartition("t", 0), TopicPartition("t", 1))
    assert classic_assignment("consumer", data) == read
    future = struct.pack(">h", 9) + codec.encode(body, 3) + b"more"
    assert classic_assignment("consumer", future) == read
    for strange in (b"", b"\0", b"\0\1\xff\xff\xff", struct.pack(">h", -1) + data[2:]):
        assert classic_assignment("consumer", strange) == ()
    assert classic_assignment("connect", data) == ()
