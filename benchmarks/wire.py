"""The few requests the harness itself sends, over a plain blocking socket.

Used where a real client would hide what is measured (its own start, its retries). Versions are ones that
both brokers serve.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self, TypeVar

from odradek.protocol import codec, headers
from odradek.protocol.fields import Message
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse

M = TypeVar("M", bound=Message)

_LATEST: Final = -1
_METADATA_VERSION: Final = 12
_LIST_OFFSETS_VERSION: Final = 7
_FETCH_VERSION: Final = 12
_FIND_COORDINATOR_VERSION: Final = 4
#: Often enough for starts of a quarter of a second, seldom enough to cost a starting broker nothing.
_POLL_SECONDS: Final = 0.005
_BATCH_LENGTH: Final = struct.Struct(">i")
_LAST_OFFSET_DELTA: Final = struct.Struct(">i")


class Connection:
    """One connection, one request at a time."""

    def __init__(self, port: int, seconds_max: float = 10.0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), seconds_max)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def call(self, request: Message, answer: type[M], version: int) -> M:
        """Send a request and wait for its answer."""
        body = codec.encode(request, version)
        assert request.API_KEY is not None
        header = headers.encode_request_header(request.API_KEY, version, 1, "bench")
        self._socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        frame = self._read(struct.unpack(">i", self._read(4))[0])
        _, start = headers.parse_response_header(frame, request.API_KEY, version)
        return codec.decode(answer, frame, version, start)

    def metadata(self, *, all_topics: bool) -> MetadataResponse:
        """Brokers, and on demand every topic."""
        request = MetadataRequest(
            topics=None if all_topics else [], allow_auto_topic_creation=False
        )
        return self.call(request, MetadataResponse, _METADATA_VERSION)

    def end_offsets(self, partitions: dict[str, int]) -> int:
        """The sum of the end offsets of topics with so many partitions; ValueError on any error."""
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=name,
                    partitions=[
                        ListOffsetsPartition(partition_index=index, timestamp=_LATEST)
                        for index in range(count)
                    ],
                )
                for name, count in partitions.items()
            ],
        )
        answer = self.call(request, ListOffsetsResponse, _LIST_OFFSETS_VERSION)
        found = [partition for topic in answer.topics for partition in topic.partitions]
        if any(partition.error_code for partition in found):
            raise ValueError("a partition is not ready")
        return sum(partition.offset for partition in found)

    def has_coordinator(self, group_id: str) -> bool:
        """Whether a group has a coordinator; asking makes the brokers create the offsets topic."""
        request = FindCoordinatorRequest(coordinator_keys=[group_id])
        answer = self.call(request, FindCoordinatorResponse, _FIND_COORDINATOR_VERSION)
        return not any(found.error_code for found in answer.coordinators)

    def read_to_end(self, topic: str, offset: int, end: int, fetch_bytes: int) -> int:
        """Fetch partition 0 from an offset to its end; gives the bytes of whole batches."""
        total = 0
        while offset < end:
            records = self._fetch(topic, offset, fetch_bytes)
            taken, offset = _whole_batches(records, offset)
            assert taken > 0, "a fetch below the end came back empty"
            total += taken
        return total

    def _fetch(self, topic: str, offset: int, fetch_bytes: int) -> memoryview:
        partition = FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=fetch_bytes
        )
        request = FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=fetch_bytes,
            topics=[FetchTopic(topic=topic, partitions=[partition])],
        )
        answer = self.call(request, FetchResponse, _FETCH_VERSION)
        found = answer.responses[0].partitions[0]
        assert found.error_code == 0, found.error_code
        return memoryview(found.records or b"")

    def _read(self, count: int) -> memoryview:
        buffer = memoryview(bytearray(count))
        filled = 0
        while filled < count:
            got = self._socket.recv_into(buffer[filled:])
            if not got:
                raise ConnectionError("the broker closed the connection")
            filled += got
        return buffer


def wait_until_serving(port: int, alive: Callable[[], bool], deadline: float) -> bool:
    """Wait for a Metadata answer that names a broker; `deadline` is a `time.monotonic` value."""
    while alive() and time.monotonic() < deadline:
        try:
            with Connection(port, seconds_max=5.0) as connection:
                if connection.metadata(all_topics=False).brokers:
                    return True
        except (OSError, ValueError):
            pass
        time.sleep(_POLL_SECONDS)
    return False


def wait_until_led(port: int, partitions: dict[str, int], deadline: float) -> int | None:
    """Wait until every partition has a leader and tells its end; gives the sum of the ends."""
    while time.monotonic() < deadline:
        try:
            with Connection(port) as connection:
                found = connection.metadata(all_topics=True)
                led = sum(
                    partition.leader_id >= 0
                    for topic in found.topics
                    if topic.name in partitions
                    for partition in topic.partitions
                )
                if led == sum(partitions.values()):
                    return connection.end_offsets(partitions)
        except (OSError, ValueError):
            pass
        time.sleep(_POLL_SECONDS)
    return None


def wait_until_coordinated(port: int, group_id: str, deadline: float) -> bool:
    """Wait until somebody coordinates a group."""
    with Connection(port) as connection:
        while time.monotonic() < deadline:
            if connection.has_coordinator(group_id):
                return True
            time.sleep(_POLL_SECONDS)
    return False


def _whole_batches(records: memoryview, offset: int) -> tuple[int, int]:
    """Bytes of the whole batches of an answer, and the offset after them (head layout: KIP-98)."""
    position = 0
    while position + 61 <= len(records):
        end = position + 12 + _BATCH_LENGTH.unpack_from(records, position + 8)[0]
        if end > len(records):
            break
        base = int.from_bytes(records[position : position + 8], "big")
        offset = base + _LAST_OFFSET_DELTA.unpack_from(records, position + 23)[0] + 1
        position = end
    return position, offset
