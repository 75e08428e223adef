"""A scripted broker on loopback: answers what a test tells it, records what it was asked."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from odradek.protocol import codec, headers, registry
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

DROP = object()  # close the connection instead of answering
SILENCE = object()  # do not answer at all
Answer = Callable[[Any], Any]


class FakeBroker:
    """Serves the APIs for which `on` was called, and ApiVersions and Metadata by itself."""

    def __init__(self, node_id: int = 1, peers: Sequence[FakeBroker] = ()) -> None:
        self.node_id = node_id
        self.peers: list[FakeBroker] = [self, *peers]
        self.controller_id = node_id
        self.leaders: dict[str, list[int]] = {}
        self.asked: list[tuple[ApiKey, int, Any]] = []
        self.connections = 0
        self.in_flight = 0
        self.answers: dict[ApiKey, Answer] = {
            ApiKey.API_VERSIONS: self._api_versions,
            ApiKey.METADATA: self._metadata,
        }
        self.versions: dict[ApiKey, range] = {}
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> FakeBroker:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()
        await asyncio.sleep(0)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def on(self, api: ApiKey, *answers: Any) -> None:
        """Answer with these in turn, the last one for ever; callables are given the request."""
        left = list(answers)

        def answer(request: Any) -> Any:
            found = left.pop(0) if len(left) > 1 else left[0]
            return found(request) if callable(found) else found

        self.answers[api] = answer

    def count(self, api: ApiKey) -> int:
        return sum(key == api for key, _, _ in self.asked)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                frame = await reader.readexactly(size)
                if not await self._answer(frame, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, frame: bytes, writer: asyncio.StreamWriter) -> bool:
        header = headers.parse_request_header(memoryview(frame))
        key, version = ApiKey(header.api_key), header.api_version
        request = codec.decode(registry.request_type(key), frame, version, header.body_offset)
        self.asked.append((key, version, request))
        reply = self.answers[key](request)
        if asyncio.iscoroutine(reply):
            reply = await reply
        if reply is DROP:
            return False
        if reply is SILENCE:
            return True
        if isinstance(reply, tuple):  # (message, version to write it in)
            reply, version = reply
        head = headers.response_header(key, version, header.correlation_id)
        body = reply if isinstance(reply, bytes) else codec.encode(reply, version)
        writer.write(struct.pack(">i", len(head) + len(body)) + head + body)
        await writer.drain()
        return True

    def _api_versions(self, request: Any) -> ApiVersionsResponse:
        offered = {key: registry.api_versions(key) for key in self.answers} | self.versions
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=known[0], max_version=known[-1])
                for key, known in offered.items()
                if known
            ]
        )

    def _metadata(self, request: Any) -> MetadataResponse:
        names = list(self.leaders) if request.topics is None else [t.name for t in request.topics]
        return MetadataResponse(
            cluster_id="fake",
            controller_id=self.controller_id,
            brokers=[
                MetadataResponseBroker(node_id=peer.node_id, host="127.0.0.1", port=peer.port)
                for peer in self.peers
            ],
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.leaders:
            return MetadataResponseTopic(error_code=3, name=name)
        return MetadataResponseTopic(
            name=name,
            partitions=[
                MetadataResponsePartition(
                    partition_index=index, leader_id=leader, replica_nodes=[leader]
                )
                for index, leader in enumerate(self.leaders[name])
            ],
        )


class Fakes:
    """What tests use of this module, without importing it."""

    Broker = FakeBroker
    DROP = DROP
    SILENCE = SILENCE


@pytest.fixture
def fakes() -> type[Fakes]:
    return Fakes


@pytest.fixture
def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
