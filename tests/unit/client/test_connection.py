"""One connection: versions are negotiated, replies belong to requests, and failures have words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from odradek.client.addresses import Address
from odradek.client.connection import Connection
from odradek.client.failures import (
    BrokerUnreachableError,
    ConnectionLostError,
    NotKafkaError,
    UnsupportedError,
)
from odradek.client.settings import ClientSettings
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse


async def connect(port: int, **settings: Any) -> Connection:
    return await Connection.open(Address("127.0.0.1", port), ClientSettings(**settings))


def test_the_highest_common_version_is_used(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.versions[ApiKey.METADATA] = range(2, 9)
            connection = await connect(broker.port)
            await connection.send(MetadataRequest(topics=[]), MetadataResponse)
            assert broker.asked[-1][1] == 8
            await connection.close()

    asyncio.run(scenario())


def test_a_broker_that_knows_only_old_api_versions_is_asked_again_with_version_0(
    fakes: Any,
) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            good = ApiVersionsResponse(
                api_keys=[ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=5)]
            )
            # Error 35 comes in the layout of version 0, whatever was asked (KIP-511).
            broker.on(ApiKey.API_VERSIONS, (ApiVersionsResponse(error_code=35), 0), good)
            connection = await connect(broker.port)
            assert [version for _, version, _ in broker.asked] == [4, 0]
            assert connection.versions == {ApiKey.METADATA: range(6)}
            await connection.close()

    asyncio.run(scenario())


def test_an_api_that_the_broker_lacks_is_refused_before_anything_is_sent(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            connection = await connect(broker.port)
            with pytest.raises(UnsupportedError, match=r"DescribeCluster.*does not offer"):
                await connection.send(DescribeClusterRequest(), DescribeClusterResponse)
            broker.versions[ApiKey.METADATA] = range(1)
            await connection.close()
            connection = await connect(broker.port)
            with pytest.raises(UnsupportedError, match="versions 0 to 0"):
                await connection.send(MetadataRequest(), MetadataResponse, min_version=1)
            await connection.close()

    asyncio.run(scenario())


def test_requests_are_pipelined_up_to_the_bound_and_answered_in_order(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            gate = asyncio.Event()

            async def hold() -> MetadataResponse:
                await gate.wait()
                return MetadataResponse(cluster_id=f"reply {broker.count(ApiKey.METADATA)}")

            broker.on(ApiKey.METADATA, lambda request: hold())
            connection = await connect(broker.port, in_flight_max=2)
            calls = [
                asyncio.create_task(connection.send(MetadataRequest(topics=[]), MetadataResponse))
                for _ in range(4)
            ]
            await asyncio.sleep(0.05)
            assert len(connection._in_flight) == 2
            gate.set()
            replies = await asyncio.gather(*calls)
            assert [reply.cluster_id for reply in replies] == [f"reply {n}" for n in (1, 2, 3, 4)]
            await connection.close()

    asyncio.run(scenario())


def test_a_cancelled_call_leaves_the_connection_usable(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            gate = asyncio.Event()

            async def late() -> MetadataResponse:
                await gate.wait()
                return MetadataResponse(cluster_id="late")

            broker.on(ApiKey.METADATA, lambda request: late(), MetadataResponse(cluster_id="next"))
            connection = await connect(broker.port)
            call = asyncio.create_task(
                connection.send(MetadataRequest(topics=[]), MetadataResponse)
            )
            await asyncio.sleep(0.05)
            call.cancel()
            gate.set()
            reply = await connection.send(MetadataRequest(topics=[]), MetadataResponse)
            assert reply.cluster_id == "next"
            await connection.close()

    asyncio.run(scenario())


def test_a_reply_that_does_not_come_in_time_ends_the_connection(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.on(ApiKey.METADATA, fakes.SILENCE)
            connection = await connect(broker.port, request_timeout_ms=50)
            with pytest.raises(
                ConnectionLostError, match=r"no reply to MetadataRequest in 0\.05 s"
            ):
                await connection.send(MetadataRequest(topics=[]), MetadataResponse)
            with pytest.raises(ConnectionLostError) as second:
                await connection.send(MetadataRequest(topics=[]), MetadataResponse)
            assert not second.value.sent
            await connection.close()

    asyncio.run(scenario())


def test_a_broker_that_hangs_up_fails_all_that_wait(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.on(ApiKey.METADATA, fakes.DROP)
            connection = await connect(broker.port)
            with pytest.raises(ConnectionLostError, match="the broker closed it") as lost:
                await connection.send(MetadataRequest(topics=[]), MetadataResponse)
            assert lost.value.sent
            await connection.close()

    asyncio.run(scenario())


def test_garbage_in_a_reply_is_reported_as_such(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.on(ApiKey.METADATA, b"\x00\x01\x02")
            connection = await connect(broker.port)
            with pytest.raises(NotKafkaError, match="MetadataResponse version 13"):
                await connection.send(MetadataRequest(topics=[]), MetadataResponse)
            assert connection.failure is not None
            await connection.close()

    asyncio.run(scenario())


async def raw_server(reply: bytes) -> asyncio.Server:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(reply)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\x00\x00\x06\x00\x00\x00\x63\x00\x00",  # answers request 99
        b"\x00\x00\x00\x02ab",
    ],
)
def test_a_server_of_another_kind_is_recognised(reply: bytes) -> None:
    async def scenario() -> None:
        server = await raw_server(reply)
        with pytest.raises(NotKafkaError, match="does not speak Kafka's protocol"):
            await connect(server.sockets[0].getsockname()[1])
        server.close()

    asyncio.run(scenario())


def test_where_nobody_listens_the_error_says_what_to_do(free_port: int) -> None:
    with pytest.raises(BrokerUnreachableError, match="is it running\\? start one with"):
        asyncio.run(connect(free_port))


def test_a_port_that_says_nothing_counts_as_unreachable(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.on(ApiKey.API_VERSIONS, fakes.SILENCE)
            with pytest.raises(BrokerUnreachableError, match="no reply to ApiVersionsRequest"):
                await connect(broker.port, connect_timeout_ms=50)

    asyncio.run(scenario())


def test_abandoned_requests_keep_their_place_in_the_bound(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:
            broker.on(ApiKey.METADATA, fakes.SILENCE)
            connection = await connect(broker.port, in_flight_max=2)
            for _ in range(5):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.02):
                        await connection.send(MetadataRequest(topics=[]), MetadataResponse)
            assert len(connection._in_flight) == 2
            await connection.close()

    asyncio.run(scenario())
