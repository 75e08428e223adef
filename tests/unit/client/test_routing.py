"""Requests reach the right broker, and are sent again exactly when that can help."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from odradek.client import ClientSettings, NewTopic, OffsetSpec
from odradek.client.aio import Client
from odradek.client.failures import (
    AdvertisedUnreachableError,
    BrokerUnreachableError,
    UnknownOutcomeError,
)
from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from odradek.protocol.messages.describe_cluster import DescribeClusterResponse
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.types import TimestampAndOffset, TopicPartition


def created(name: str, err: Err = Err.NONE, message: str | None = None) -> CreateTopicsResponse:
    result = CreatableTopicResult(name=name, error_code=err, error_message=message)
    return CreateTopicsResponse(topics=[result])


def offsets(request: Any, found: dict[int, int | Err]) -> ListOffsetsResponse:
    """A reply to a request about topic t: an offset or an error for each partition asked for."""
    rows = []
    for partition in request.topics[0].partitions:
        answer = found[partition.partition_index]
        failed = isinstance(answer, Err)
        rows.append(
            ListOffsetsPartitionResponse(
                partition_index=partition.partition_index,
                error_code=answer if failed else 0,
                offset=-1 if failed else answer,
            )
        )
    return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=rows)])


def test_changes_go_to_the_controller_and_follow_it_when_it_moves(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker(1) as one, fakes.Broker(2) as two:
            one.peers = two.peers = [one, two]
            one.on(ApiKey.CREATE_TOPICS, lambda request: created("t", Err.NOT_CONTROLLER))
            two.on(ApiKey.CREATE_TOPICS, lambda request: created("t"))

            def moved(request: Any) -> Any:
                answer = one._metadata(request)
                one.controller_id = 2
                return answer

            one.on(ApiKey.METADATA, moved)
            async with Client(one.address) as client:
                outcome = await client.create_topics([NewTopic(name="t")])
            assert not isinstance(outcome["t"], ApiError)
            assert one.count(ApiKey.CREATE_TOPICS) == two.count(ApiKey.CREATE_TOPICS) == 1

    asyncio.run(scenario())


def test_an_error_that_stays_is_given_back_with_the_brokers_words(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            words = "Topic deletion is disabled."
            broker.on(ApiKey.CREATE_TOPICS, created("t", Err.TOPIC_DELETION_DISABLED, words))
            async with Client(broker.address) as client:
                outcome = (await client.create_topics([NewTopic(name="t")]))["t"]
            assert isinstance(outcome, ApiError)
            assert (outcome.err, outcome.message) == (Err.TOPIC_DELETION_DISABLED, words)
            assert broker.count(ApiKey.CREATE_TOPICS) == 1

    asyncio.run(scenario())


def test_a_change_that_was_cut_off_is_not_made_twice(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.on(ApiKey.CREATE_TOPICS, fakes.DROP)
            async with Client(broker.address) as client:
                with pytest.raises(UnknownOutcomeError, match="may or may not have taken effect"):
                    await client.create_topics([NewTopic(name="t")])
            assert broker.count(ApiKey.CREATE_TOPICS) == 1

    asyncio.run(scenario())


def test_a_question_that_was_cut_off_is_asked_again_on_a_new_connection(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            answer = DescribeClusterResponse(cluster_id="c", controller_id=1)
            broker.on(ApiKey.DESCRIBE_CLUSTER, fakes.DROP, answer)
            async with Client(broker.address) as client:
                assert (await client.describe_cluster()).cluster_id == "c"
            assert broker.connections == 2

    asyncio.run(scenario())


def test_each_leader_is_asked_about_its_own_and_only_failures_again(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker(1) as one, fakes.Broker(2) as two:
            one.peers = two.peers = [one, two]
            one.leaders = two.leaders = {"t": [1, 1, 2]}
            one.on(
                ApiKey.LIST_OFFSETS,
                lambda request: offsets(request, {0: 10, 1: Err.NOT_LEADER_OR_FOLLOWER}),
                lambda request: offsets(request, {1: 11}),
            )
            two.on(ApiKey.LIST_OFFSETS, lambda request: offsets(request, {2: 12}))
            wanted = {TopicPartition("t", index): OffsetSpec.LATEST for index in range(3)}
            async with Client(one.address) as client:
                found = await client.list_offsets(wanted)
            assert found == {
                TopicPartition("t", index): TimestampAndOffset(-1, 10 + index, -1)
                for index in range(3)
            }
            asked = [
                [partition.partition_index for partition in request.topics[0].partitions]
                for key, _, request in one.asked
                if key == ApiKey.LIST_OFFSETS
            ]
            assert asked == [[0, 1], [1]]
            assert two.count(ApiKey.LIST_OFFSETS) == 1

    asyncio.run(scenario())


def test_a_topic_that_is_not_there_is_an_answer_not_a_reason_to_wait(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.leaders = {"t": [1]}
            broker.on(ApiKey.LIST_OFFSETS, lambda request: offsets(request, {0: 5}))
            wanted = {
                TopicPartition("t", 0): -1,
                TopicPartition("t", 7): -1,
                TopicPartition("nope", 0): -1,
            }
            async with Client(broker.address) as client:
                found = await client.list_offsets(wanted)
            good, absent, unknown = found.values()
            assert good == TimestampAndOffset(-1, 5, -1)
            assert isinstance(absent, ApiError)
            assert absent.message == "topic 't' has no partition 7, it has 1"
            assert isinstance(unknown, ApiError)
            assert unknown.message == "topic 'nope' does not exist"

    asyncio.run(scenario())


def test_a_topic_that_grew_is_looked_up_again(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.leaders = {"t": [1]}
            broker.on(ApiKey.LIST_OFFSETS, lambda request: offsets(request, {0: 5, 1: 6}))
            async with Client(broker.address) as client:
                await client.list_offsets({TopicPartition("t", 0): -1})
                broker.leaders = {"t": [1, 1]}
                found = await client.list_offsets({TopicPartition("t", 1): -1})
            assert found == {TopicPartition("t", 1): TimestampAndOffset(-1, 6, -1)}

    asyncio.run(scenario())


def test_a_name_for_an_offset_that_an_old_broker_would_misread_is_not_sent(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.leaders = {"t": [1]}
            broker.on(ApiKey.LIST_OFFSETS, lambda request: offsets(request, {0: 5}))
            broker.versions[ApiKey.LIST_OFFSETS] = range(1, 7)
            async with Client(broker.address) as client:
                found = await client.list_offsets(
                    {TopicPartition("t", 0): OffsetSpec.MAX_TIMESTAMP}
                )
            (outcome,) = found.values()
            assert isinstance(outcome, ApiError)
            assert outcome.err is Err.UNSUPPORTED_VERSION
            assert broker.count(ApiKey.LIST_OFFSETS) == 0

    asyncio.run(scenario())


def test_any_bootstrap_address_that_answers_will_do(fakes: Any, free_port: int) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            client = Client(f"127.0.0.1:{free_port},{broker.address}")
            assert (await client.metadata([])).cluster_id == "fake"
            await client.close()

    asyncio.run(scenario())


def test_when_none_answers_the_error_comes_at_once(free_port: int) -> None:
    async def scenario() -> None:
        async with Client(f"127.0.0.1:{free_port}") as client:
            await client.metadata()

    with pytest.raises(BrokerUnreachableError) as unreachable:
        asyncio.run(asyncio.wait_for(scenario(), 5))
    assert unreachable.value.message == (
        f"no broker answers at 127.0.0.1:{free_port} (connection refused): is it running? "
        "start one with `odradek broker`"
    )


def test_a_client_may_wait_for_a_broker_that_is_just_starting(fakes: Any, free_port: int) -> None:
    async def scenario() -> None:
        settings = ClientSettings(bootstrap_wait_ms=10_000)
        async with Client(f"127.0.0.1:{free_port}", settings) as client:
            call = asyncio.create_task(client.metadata([]))
            await asyncio.sleep(0.05)
            broker = fakes.Broker()
            server = await asyncio.start_server(broker._serve, "127.0.0.1", free_port)
            broker.port = free_port
            assert (await call).cluster_id == "fake"
            server.close()

    asyncio.run(scenario())


def test_an_advertised_address_that_does_not_answer_is_named(
    fakes: Any, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.client.backoff.ATTEMPTS_MAX", 2)

    async def scenario() -> None:
        async with fakes.Broker(1) as one:
            two = fakes.Broker(2)
            two.port = free_port
            one.peers, one.leaders = [one, two], {"t": [2]}
            async with Client(one.address) as client:
                found = await client.list_offsets({TopicPartition("t", 0): -1})
            (outcome,) = found.values()
            assert isinstance(outcome, AdvertisedUnreachableError)
            assert f"broker 2 says it is at 127.0.0.1:{free_port}" in outcome.message
            assert "advertised.listeners" in outcome.message

    asyncio.run(scenario())


def test_a_call_ends_at_its_deadline_whatever_happens(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.on(
                ApiKey.DESCRIBE_CLUSTER,
                DescribeClusterResponse(error_code=Err.COORDINATOR_LOAD_IN_PROGRESS),
            )
            settings = ClientSettings(api_timeout_ms=250)
            async with Client(broker.address, settings) as client:
                with pytest.raises(ApiError, match=r"DescribeCluster did not succeed within 0\.25"):
                    await client.describe_cluster()

    asyncio.run(scenario())


def test_the_cache_of_leaders_is_bounded(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.leaders = {f"t{number}": [1] for number in range(5)}
            async with Client(broker.address, ClientSettings(cached_topics_max=2)) as client:
                assert len((await client.metadata()).topics) == 5
                assert list(client._router._topics) == ["t3", "t4"]

    asyncio.run(scenario())


def test_jitter_comes_from_the_given_source() -> None:
    """Two clients with the same seed wait alike, so that simulations replay."""
    from odradek.client.backoff import Backoff

    assert Backoff(Random(1)).next_ms() == Backoff(Random(1)).next_ms()
