"""A child process that commits or fetches offsets as fast as the broker answers; prints JSON.

    python -m benchmarks.clients.commits commit PORT TOPIC PARTITIONS CONNECTIONS SECONDS
    python -m benchmarks.clients.commits fetch  PORT TOPIC PARTITIONS CONNECTIONS SECONDS

As many consumers as connections, each with a group of its own and one request in flight, all its
partitions in each request. The frames are made once, so that the broker is the limit; replies to one
frame have one length, so counting bytes counts them, and the first and last are decoded. Output:
`{"requests": …, "seconds": …}`.
"""

from __future__ import annotations

import gc
import json
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass
from typing import Final

from benchmarks import wire
from odradek.protocol import codec, headers, registry
from odradek.protocol.fields import Message
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

#: OffsetCommit and OffsetFetch: the last version with names, which consumers of all languages send.
_VERSION: Final = 9
_READY_SECONDS_MAX: Final = 30.0
_OFFSET: Final = 4711


def commit_request(group_id: str, topic: str, partitions: int) -> OffsetCommitRequest:
    """A consumer that has not joined commits in all partitions."""
    rows = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=_OFFSET, committed_metadata=""
        )
        for index in range(partitions)
    ]
    return OffsetCommitRequest(
        group_id=group_id, topics=[OffsetCommitRequestTopic(name=topic, partitions=rows)]
    )


def fetch_request(group_ids: list[str], topic: str, partitions: int) -> OffsetFetchRequest:
    """Where groups are in all partitions."""
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=list(range(partitions)))]
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=name, topics=topics) for name in group_ids]
    )


def committed_well(reply: Message) -> bool:
    """Whether all was committed."""
    assert isinstance(reply, OffsetCommitResponse)
    return not any(row.error_code for topic in reply.topics for row in topic.partitions)


def fetched_well(reply: Message) -> bool:
    """Whether every group is where it committed."""
    assert isinstance(reply, OffsetFetchResponse)
    return all(
        not group.error_code and all(row.committed_offset == _OFFSET for row in topic.partitions)
        for group in reply.groups
        for topic in group.topics
    )


def frame_of(request: Message) -> bytes:
    """A request as it goes over the wire."""
    assert request.API_KEY is not None
    head = headers.encode_request_header(request.API_KEY, _VERSION, 1, "bench")
    body = codec.encode(request, _VERSION)
    return struct.pack(">i", len(head) + len(body)) + head + body


def is_good(request: Message, reply: bytes) -> bool:
    """Whether a reply, with its length in front, says what it should."""
    assert request.API_KEY is not None
    _, start = headers.parse_response_header(memoryview(reply)[4:], request.API_KEY, _VERSION)
    decoded = codec.decode(registry.response_type(request.API_KEY), reply[4:], _VERSION, start)
    return (committed_well if isinstance(request, OffsetCommitRequest) else fetched_well)(decoded)


@dataclass(slots=True)
class Caller:
    """One consumer: a connection and the request it repeats."""

    connection: socket.socket
    request: Message
    frame: bytes
    reply_bytes: int = 0
    reply: bytes = b""
    count: int = 0


def open_caller(port: int, request: Message) -> Caller:
    """Connect, and ask until the coordinator is ready."""
    connection = socket.create_connection(("127.0.0.1", port), _READY_SECONDS_MAX)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    caller = Caller(connection, request, frame_of(request))
    deadline = time.monotonic() + _READY_SECONDS_MAX
    while True:
        connection.sendall(caller.frame)
        reply = _read(connection)
        if is_good(request, reply):
            caller.reply_bytes = len(reply)
            connection.setblocking(False)
            return caller
        if time.monotonic() > deadline:
            raise SystemExit("the coordinator does not get ready")
        time.sleep(0.05)


def _read(connection: socket.socket) -> bytes:
    reply = connection.recv(65536)
    while len(reply) < 4 or len(reply) < 4 + struct.unpack_from(">i", reply)[0]:
        more = connection.recv(65536)
        if not more:
            raise SystemExit("the broker closed the connection")
        reply += more
    return reply


def drive(callers: list[Caller], seconds: float) -> float:
    """Repeat all requests, one in flight each; gives the seconds it took."""
    selector = selectors.EpollSelector()
    for caller in callers:
        selector.register(caller.connection, selectors.EVENT_READ, caller)
        caller.connection.sendall(caller.frame)
    began = now = time.perf_counter()
    end = began + seconds
    while now < end:
        for key, _ in selector.select(1.0):
            caller = key.data
            caller.reply += caller.connection.recv(65536)
            if len(caller.reply) >= caller.reply_bytes:
                caller.count += 1
                last, caller.reply = caller.reply, b""
                caller.connection.send(caller.frame)
                if caller.count == 1 and not is_good(caller.request, last):
                    raise SystemExit("the broker refused")
        now = time.perf_counter()
    selector.close()
    for caller in callers:
        caller.connection.setblocking(True)
        if not caller.reply and not is_good(caller.request, _read(caller.connection)):
            raise SystemExit("the broker refused")
        caller.connection.close()
    return now - began


def main() -> None:
    """Run one of the two."""
    mode, port, topic, partitions, connections, seconds = sys.argv[1:]
    names = [f"{topic}-{number}" for number in range(int(connections))]
    wire.wait_until_coordinated(int(port), names[0], time.monotonic() + _READY_SECONDS_MAX)
    # What is fetched must have been committed.
    callers = [open_caller(int(port), commit_request(n, topic, int(partitions))) for n in names]
    if mode == "fetch":
        for caller in callers:
            caller.connection.close()
        callers = [
            open_caller(int(port), fetch_request([n], topic, int(partitions))) for n in names
        ]
    gc.disable()
    took = drive(callers, float(seconds))
    print(json.dumps({"requests": sum(caller.count for caller in callers), "seconds": took}))


if __name__ == "__main__":
    main()
