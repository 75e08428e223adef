"""Whatever a handler does, its client gets an answer or a closed connection, never silence."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.errors import ApiError, Err
from odradek.protocol import codec, headers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from odradek.server.dispatch import Dispatcher
from odradek.server.registry import Handler

V = 1
REQUEST = ListOffsetsRequest(
    replica_id=-1,
    topics=[
        ListOffsetsTopic(
            name="t", partitions=[ListOffsetsPartition(partition_index=3, timestamp=-1)]
        )
    ],
)
GOOD = ListOffsetsResponse(topics=[])
# Version 1 has no place for a leader epoch.
UNWRITABLE = ListOffsetsResponse(
    topics=[
        ListOffsetsTopicResponse(
            name="t", partitions=[ListOffsetsPartitionResponse(partition_index=0, leader_epoch=5)]
        )
    ]
)


class FakeSession:
    """Records what the dispatcher does to a connection."""

    listener, address = "L", "1.2.3.4:5"

    def __init__(self) -> None:
        self.replies: list[bytes] = []
        self.closed = False
        self.reason = ""
        self.parked = False

    def reply_bytes(self, data: bytes) -> None:
        self.replies.append(data)

    def park(self) -> None:
        assert not self.parked
        self.parked = True

    def resume(self, chunks: tuple[bytes, ...]) -> None:
        if not self.closed:
            assert self.parked
            self.parked = False
            self.replies.extend(chunks)

    def close(self, reason: str, *, warn: bool = False) -> None:
        self.closed, self.reason = True, reason


class Rig:
    """A dispatcher whose ListOffsets is whatever the test says."""

    def __init__(self, handle: Callable[..., Any], *, raw: bool = False) -> None:
        self.unexpected = SimpleNamespace(
            unexpected_errors=0, request_done=lambda key, started: None
        )
        services = SimpleNamespace(probe=self.unexpected)
        table = {
            ApiKey.LIST_OFFSETS: Handler(ApiKey.LIST_OFFSETS, range(1, 12), handle, raw, 1),
            ApiKey.API_VERSIONS: Handler(
                ApiKey.API_VERSIONS, range(5), lambda *_: ApiVersionsResponse(), False, 0
            ),
        }
        loop = asyncio.get_running_loop()
        self.dispatcher = Dispatcher(services, table, loop)  # type: ignore[arg-type]
        self.session = FakeSession()

    def send(self, frame: bytes) -> FakeSession:
        self.dispatcher.handle(self.session, memoryview(frame))  # type: ignore[arg-type]
        return self.session

    def errors(self) -> set[int]:
        (reply,) = self.session.replies
        assert struct.unpack_from(">i", reply)[0] == len(reply) - 4
        answer = codec.decode(ListOffsetsResponse, memoryview(reply)[8:], V)
        return {p.error_code for t in answer.topics for p in t.partitions}


def frame(request: Any = REQUEST, version: int = V) -> bytes:
    head = headers.encode_request_header(type(request).API_KEY, version, 9, "me")
    return head + codec.encode(request, version)


def raising(error: Exception) -> Callable[..., Any]:
    def handle(*_: Any) -> Any:
        raise error

    return handle


def later(result: Any) -> Callable[..., Any]:
    async def handle(*_: Any) -> Any:
        await asyncio.sleep(0)
        if isinstance(result, BaseException):
            raise result
        return result

    return handle


@pytest.fixture
def run() -> Any:
    """`run(handle)`: sends one ListOffsets to the handler and lets its task end."""

    def start(handle: Callable[..., Any], data: bytes | None = None, **options: Any) -> Rig:
        async def main() -> Rig:
            rig = Rig(handle, **options)
            rig.send(frame() if data is None else data)
            await asyncio.gather(*rig.dispatcher._tasks)
            return rig

        return asyncio.run(main())

    return start


def test_an_answer_is_framed(run: Any) -> None:
    for handle in (lambda *_: GOOD, later(GOOD)):
        (reply,) = run(handle).session.replies
        assert reply == b"\0\0\0\x08" + b"\0\0\0\x09" + codec.encode(GOOD, V)


@pytest.mark.parametrize("make", [raising, later])
def test_an_operating_error_is_told(run: Any, make: Any) -> None:
    rig = run(make(ApiError(Err.NOT_CONTROLLER)))
    assert rig.errors() == {Err.NOT_CONTROLLER}
    assert rig.unexpected.unexpected_errors == 0


@pytest.mark.parametrize("make", [raising, later])
def test_a_bug_is_told_counted_and_logged(
    run: Any, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rig = run(make(RuntimeError("a bug")))
    assert rig.errors() == {Err.UNKNOWN_SERVER_ERROR}
    assert rig.unexpected.unexpected_errors == 1
    assert "RuntimeError: a bug" in caplog.text


@pytest.mark.parametrize("make", [lambda r: lambda *_: r, later], ids=["now", "later"])
def test_an_answer_that_cannot_be_written_closes(
    run: Any, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The client must not wait for what will never come."""
    rig = run(make(UNWRITABLE))
    assert rig.session.closed
    assert rig.session.replies == []
    assert rig.unexpected.unexpected_errors == 1
    assert "leader_epoch is not part of version 1" in caplog.text


def test_a_raw_handler_that_fails_closes(run: Any) -> None:
    rig = run(raising(RuntimeError("a bug")), raw=True)
    assert rig.session.closed
    assert rig.unexpected.unexpected_errors == 1


def test_a_malformed_request_is_told_who_sent_it(run: Any) -> None:
    rig = run(lambda *_: GOOD, frame()[:-3])
    assert "malformed ListOffsets v1 request of client 'me'" in rig.session.reason
    assert rig.unexpected.unexpected_errors == 0


def test_a_malformed_header_closes(run: Any) -> None:
    assert "malformed request header" in run(lambda *_: GOOD, b"\0\2\0").session.reason


def test_a_client_that_left_gets_nothing() -> None:
    async def main() -> None:
        rig = Rig(later(GOOD))
        rig.send(frame())
        rig.session.closed = True
        await asyncio.gather(*rig.dispatcher._tasks)
        assert rig.session.replies == []

    asyncio.run(main())


def test_close_gives_up_what_waits() -> None:
    async def forever(*_: Any) -> Any:
        await asyncio.Event().wait()

    async def main() -> None:
        rig = Rig(forever)
        rig.send(frame())
        await asyncio.sleep(0)
        await asyncio.wait_for(rig.dispatcher.close(), 5)
        assert rig.session.replies == []

    asyncio.run(main())


@pytest.mark.parametrize("version", [0, 12, -1])
def test_versions_that_are_not_served_close(run: Any, version: int) -> None:
    head = struct.pack(">hhih", ApiKey.LIST_OFFSETS, version, 9, 2) + b"me"
    rig = run(lambda *_: GOOD, head + bytes(20))
    assert f"ListOffsets (api key 2) v{version}, served: 1-11" in rig.session.reason


def test_api_versions_is_always_answered(run: Any) -> None:
    head = struct.pack(">hhih", ApiKey.API_VERSIONS, 77, 9, -1)
    (reply,) = run(lambda *_: GOOD, head).session.replies
    answer = codec.decode(ApiVersionsResponse, memoryview(reply)[8:], 0)
    assert answer.error_code == Err.UNSUPPORTED_VERSION
    assert run(lambda *_: GOOD, frame(ApiVersionsRequest(), 0)).session.replies
