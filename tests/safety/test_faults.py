"""Armed faults of the embedded broker: every served API can fail, wait or be dropped, decodably."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from odradek.errors import Err
from odradek.protocol import registry
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.fields import Kind, Struct
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.server.registry import Handler, load_handlers
from odradek.testing import EmbeddedBroker

EACH_API = pytest.mark.parametrize(
    "handler", list(load_handlers().values()), ids=lambda handler: handler.name
)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def address(broker: EmbeddedBroker) -> Iterator[tuple[str, int]]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    yield host, int(port)
    broker.clear_faults()


def filled(cls: type[Struct], version: int) -> Any:
    """A request in which every list has one entry and every name is given."""
    values: dict[str, Any] = {}
    for field in cls.FIELDS:
        if not field.on_wire(version):
            continue
        element = field.element
        if field.kind is Kind.ARRAY:
            values[field.name] = [
                filled(element, version) if isinstance(element, type) else scalar(element)
            ]
        elif field.kind is Kind.STRUCT:
            assert isinstance(element, type)
            values[field.name] = filled(element, version)
        else:
            values[field.name] = scalar(field.kind)
    return cls(**values)


def scalar(kind: Any) -> Any:
    return {
        Kind.STRING: "name",
        Kind.BOOLEAN: False,
        Kind.UUID: UUID(int=7),
        Kind.BYTES: b"x",
        Kind.RECORDS: b"x",
        Kind.FLOAT64: 1.0,
    }.get(kind, 1)


def error_codes(value: Any) -> Iterator[int]:
    """Every error code anywhere in a response."""
    if isinstance(value, list):
        for item in value:
            yield from error_codes(item)
    elif isinstance(value, Struct):
        for field in type(value).FIELDS:
            if field.name.endswith("error_code"):
                yield getattr(value, field.name)
            else:
                yield from error_codes(getattr(value, field.name))


@EACH_API
def test_every_api_and_version_can_fail(
    broker: EmbeddedBroker, address: Any, dial: Any, talk: Any, handler: Handler
) -> None:
    """`fail_next` gives a reply of that version in which what was asked for carries the error."""
    sock = dial(address)
    for version in handler.versions:
        request = filled(registry.request_type(handler.api_key), version)
        broker.fail_next(handler.api_key, Err.CLUSTER_AUTHORIZATION_FAILED)
        answer = talk.ask(sock, request, version)
        codes = set(error_codes(answer))
        assert Err.CLUSTER_AUTHORIZATION_FAILED in codes, f"v{version}: {answer}"


def test_a_fault_strikes_as_often_as_armed(
    broker: EmbeddedBroker, address: Any, dial: Any, talk: Any
) -> None:
    """Twice an error, then all is well; other APIs are not touched."""
    sock = dial(address)
    broker.fail_next(ApiKey.API_VERSIONS, Err.UNKNOWN_SERVER_ERROR, count=2)
    assert talk.ask(sock, MetadataRequest(topics=[]), 1).brokers
    codes = [talk.ask(sock, ApiVersionsRequest(), 0).error_code for _ in range(3)]
    assert codes == [Err.UNKNOWN_SERVER_ERROR, Err.UNKNOWN_SERVER_ERROR, Err.NONE]


def test_a_delayed_request_holds_back_those_behind_it(
    broker: EmbeddedBroker, address: Any, dial: Any, talk: Any
) -> None:
    """`delay_next` waits on the broker's clock; order on the connection stays."""
    sock = dial(address)
    broker.delay_next(ApiKey.METADATA, milliseconds=3_600_000)
    sock.sendall(
        talk.frame(MetadataRequest(topics=[]), 1, 1) + talk.frame(ApiVersionsRequest(), 0, 2)
    )
    assert talk.ask(dial(address), ApiVersionsRequest(), 0).error_code == 0
    sock.settimeout(0.2)
    with pytest.raises(TimeoutError):
        sock.recv(1)
    sock.settimeout(20)
    broker.clock.advance(3_600_000)
    assert talk.receive(sock, ApiKey.METADATA, 1, 1).brokers
    assert talk.receive(sock, ApiKey.API_VERSIONS, 0, 2).error_code == 0


def test_a_delayed_client_may_leave(
    broker: EmbeddedBroker, address: Any, dial: Any, talk: Any
) -> None:
    """The request of a connection that is gone is not handled when its time comes."""
    sock = dial(address)
    broker.delay_next(ApiKey.METADATA, milliseconds=60_000)
    sock.sendall(talk.frame(MetadataRequest(topics=[]), 1))
    time.sleep(0.05)
    sock.close()
    broker.clock.advance(60_000)
    assert talk.ask(dial(address), ApiVersionsRequest(), 0).error_code == 0


def test_a_dropped_request_closes_its_connection(
    broker: EmbeddedBroker, address: Any, dial: Any, talk: Any
) -> None:
    """`drop_next` of one API, then of any."""
    broker.drop_next(ApiKey.METADATA)
    sock = dial(address)
    assert talk.ask(sock, ApiVersionsRequest(), 0).error_code == 0
    sock.sendall(talk.frame(MetadataRequest(topics=[]), 1))
    assert talk.is_closed_by_peer(sock)
    broker.drop_next()
    sock = dial(address)
    sock.sendall(talk.frame(ApiVersionsRequest(), 0))
    assert talk.is_closed_by_peer(sock)
    assert talk.ask(dial(address), ApiVersionsRequest(), 0).error_code == 0


def test_a_failed_produce_without_acks_closes(
    broker: EmbeddedBroker, address: Any, dial: Any, talk: Any
) -> None:
    """acks=0 waits for no answer, so none is sent; closing is all that can be noticed."""
    broker.fail_next(ApiKey.PRODUCE, Err.NOT_LEADER_OR_FOLLOWER)
    data = PartitionProduceData(index=0, records=b"x")
    topic = TopicProduceData(name="t", partition_data=[data])
    sock = dial(address)
    sock.sendall(talk.frame(ProduceRequest(acks=0, timeout_ms=1, topic_data=[topic]), 9))
    assert talk.receive_frame(sock) == b""


def test_a_malformed_request_meets_a_fault(
    broker: EmbeddedBroker, address: Any, dial: Any, talk: Any
) -> None:
    """It is hung up on, like any malformed one, and the broker goes on."""
    broker.fail_next(ApiKey.METADATA, Err.UNKNOWN_SERVER_ERROR)
    sock = dial(address)
    sock.sendall(bytes.fromhex("0000000e 0003 0001 00000001 ffff 7fffffff".replace(" ", "")))
    assert talk.is_closed_by_peer(sock)
    assert talk.ask(dial(address), MetadataRequest(topics=[]), 1).brokers


def test_faults_survive_a_restart(talk: Any, dial: Any) -> None:
    """What was armed belongs to the embedded broker, not to one of its lives."""
    with EmbeddedBroker() as broker:
        broker.fail_next(ApiKey.API_VERSIONS, Err.UNKNOWN_SERVER_ERROR)
        broker.restart()
        host, _, port = broker.bootstrap_servers.rpartition(":")
        sock = dial((host, int(port)))
        assert talk.ask(sock, ApiVersionsRequest(), 0).error_code == Err.UNKNOWN_SERVER_ERROR
