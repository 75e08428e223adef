"""What all tests share: a broker to talk to, topics of one's own, the wire.

`broker` is an `EmbeddedBroker` that all tests of a worker share; each test makes topics with names of
its own. With `ODRADEK_TEST_BOOTSTRAP=host:port` in the environment it is whatever listens there, so
that the same tests prove themselves against Apache Kafka. Tests that need to restart, to break or to
configure a broker take `embedded` (or start their own) and are skipped against an external one.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from odradek.protocol.fields import Message
    from odradek.testing import EmbeddedBroker

EXTERNAL = os.environ.get("ODRADEK_TEST_BOOTSTRAP")
ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT.parent / "shared" / "peers"


def pytest_configure(config: pytest.Config) -> None:
    """kafka-python reads its own schemas in a way that Python 3.11 calls deprecated."""
    config.addinivalue_line(
        "filterwarnings", "ignore:(open|read)_text is deprecated:DeprecationWarning"
    )


@dataclass(frozen=True)
class BrokerUnderTest:
    """Where a broker listens; `is_external` when it is not ours to break."""

    bootstrap_servers: str
    is_external: bool = False

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bootstrap_servers.rpartition(":")
        return host, int(port)


@pytest.fixture(scope="session")
def broker() -> Iterator[BrokerUnderTest]:
    """A broker that all tests of this worker share."""
    if EXTERNAL:
        yield BrokerUnderTest(EXTERNAL, is_external=True)
        return
    from odradek.testing import EmbeddedBroker

    with EmbeddedBroker() as embedded:
        yield BrokerUnderTest(embedded.bootstrap_servers)


@pytest.fixture
def embedded(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """A broker of this test's own; its keys come from `@pytest.mark.odradek({...})`."""
    if EXTERNAL:
        pytest.skip("needs a broker that the test may restart, break or configure")
    from odradek.testing import EmbeddedBroker

    marker = request.node.get_closest_marker("odradek")
    with EmbeddedBroker(marker.args[0] if marker else None) as own:
        yield own


class MakeTopic(Protocol):
    """`make_topic(partitions=3, config={...})` creates a topic and returns its name."""

    def __call__(
        self, partitions: int = 1, config: dict[str, str] | None = None, name: str | None = None
    ) -> str: ...


@pytest.fixture(scope="session")
def make_topic(broker: BrokerUnderTest) -> MakeTopic:
    """Creates topics on `broker`, each under a new name."""
    return topic_maker(broker.bootstrap_servers)


@pytest.fixture
def make_topic_on() -> Callable[[str], MakeTopic]:
    """`make_topic_on(bootstrap_servers)`: the same for any broker."""
    return topic_maker


def topic_maker(servers: str) -> MakeTopic:
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})

    def make(
        partitions: int = 1, config: dict[str, str] | None = None, name: str | None = None
    ) -> str:
        name = name or f"t-{uuid4().hex[:12]}"
        new = NewTopic(name, partitions, 1, config=config or {})
        admin.create_topics([new])[name].result(30)
        if EXTERNAL:
            wait_for_leaders(servers, name, partitions)
        return name

    return make


def wait_for_leaders(servers: str, name: str, partitions: int) -> None:
    """Apache Kafka answers CreateTopics before its partitions can be used; ours answers after."""
    wire = Wire(BrokerUnderTest(servers).address)
    deadline = time.monotonic() + 30
    positions = {(name, partition): 0 for partition in range(partitions)}
    while True:
        answer = wire.ask(fetch_request(positions), 4)
        if all(p.error_code == 0 for t in answer.responses for p in t.partitions):
            break
        assert time.monotonic() < deadline, f"{name} never got its leaders"
    wire.close()


@pytest.fixture
def settle(broker: BrokerUnderTest) -> Callable[[], None]:
    """Apache Kafka answers changes of metadata before its brokers know them; ours answers after."""
    return (lambda: time.sleep(0.5)) if broker.is_external else (lambda: None)


@pytest.fixture
def topic(make_topic: MakeTopic) -> str:
    """A new topic with one partition on `broker`."""
    return make_topic()


class Wire:
    """One connection that speaks the protocol through odradek's own codec, request by request."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=30)
        self._correlation_ids = count(1)

    def close(self) -> None:
        self._socket.close()

    def ask(self, request: Message, version: int) -> Any:
        """Send a request and return its decoded response."""
        from odradek.protocol import codec, headers, registry

        key = type(request).API_KEY
        correlation_id = next(self._correlation_ids)
        head = headers.encode_request_header(key, version, correlation_id, "wire")
        self.send(head + codec.encode(request, version))
        answer = memoryview(self.receive())
        got, position = headers.parse_response_header(answer, key, version)
        assert got == correlation_id
        return codec.decode(registry.response_type(key), answer, version, position)

    def produce(self, topic: str, batch: bytes, *, partition: int = 0, version: int = 9) -> Any:
        """Append a batch with acks=all; returns the partition's part of the response."""
        answer = self.ask(produce_request(topic, batch, partition=partition), version)
        return answer.responses[0].partition_responses[0]

    def fetch(self, topic: str, offset: int = 0, **options: Any) -> Any:
        """Read a partition from `offset`; returns its part of the response."""
        answer = self.ask(fetch_request({(topic, 0): offset}, **options), 4)
        return answer.responses[0].partitions[0]

    def send(self, frame: bytes) -> None:
        """Send one frame, without its length."""
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self) -> bytes:
        """The next frame, without its length; b"" when the other side has closed."""
        head = self._exactly(4)
        return self._exactly(int.from_bytes(head, "big")) if head else b""

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                return b""
            data += part
        return bytes(data)


def produce_request(topic: str, batch: bytes, *, partition: int = 0, acks: int = -1) -> Any:
    """A Produce of one batch."""
    from odradek.protocol.messages import produce

    data = produce.PartitionProduceData(index=partition, records=batch)
    topic_data = produce.TopicProduceData(name=topic, partition_data=[data])
    return produce.ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[topic_data])


def fetch_request(
    positions: Mapping[tuple[str, int], int],
    *,
    max_bytes: int = 1 << 24,
    partition_max_bytes: int = 1 << 24,
    **fields: Any,
) -> Any:
    """A Fetch of partitions from offsets, which does not wait."""
    from odradek.protocol.messages import fetch

    partitions: dict[str, list[fetch.FetchPartition]] = {}
    for (topic, partition), offset in positions.items():
        partitions.setdefault(topic, []).append(
            fetch.FetchPartition(
                partition=partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes
            )
        )
    topics = [fetch.FetchTopic(topic=name, partitions=some) for name, some in partitions.items()]
    return fetch.FetchRequest(
        **{"max_wait_ms": 0, "min_bytes": 0, "max_bytes": max_bytes, "topics": topics, **fields}
    )


@pytest.fixture
def connect(broker: BrokerUnderTest) -> Iterator[Callable[..., Wire]]:
    """`connect()`: a new connection to `broker`; `connect("host:port")`: to another one."""
    with ExitStack() as stack:

        def new(bootstrap_servers: str = broker.bootstrap_servers) -> Wire:
            wire = Wire(BrokerUnderTest(bootstrap_servers).address)
            stack.callback(wire.close)
            return wire

        yield new


@pytest.fixture
def wire(connect: Callable[..., Wire]) -> Wire:
    """A connection to `broker`."""
    return connect()


@pytest.fixture(scope="session")
def kafka_jars() -> Path:
    """The jars of Apache Kafka's clients and tools; skips where they or java are absent."""
    import shutil

    libs = PEERS / "kafka-libs"
    if not libs.is_dir():
        pytest.skip("needs the jars of Apache Kafka in ../shared/peers")
    if shutil.which("java") is None:
        pytest.skip("needs java")
    return libs
