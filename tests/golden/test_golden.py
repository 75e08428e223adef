"""Bytes of real clients and of Apache Kafka: our codec reads them all and writes the same bytes again.

And the requests among them that our broker serves get answers with the same outcome from it: the same
errors in the same places, lists filled or empty alike. `record.py` tells how the files came to be.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from odradek.errors import Err
from odradek.protocol import codec, headers, registry
from odradek.protocol.api_keys import ApiKey
from odradek.records.batch import walk_headers
from odradek.records.record import read_records

HERE = Path(__file__).resolve().parent
FILES = sorted(path.relative_to(HERE).as_posix() for path in HERE.glob("*/*.json"))
# librdkafka writes Metadata requests for all topics with bytes after their end, which Kafka ignores.
TRAILING_BYTES = {("librdkafka", ApiKey.METADATA)}
BATCH_BYTES_MAX = 1 << 20
TOPIC_RESOURCE = 2


class Exchange(NamedTuple):
    """A recorded request and response."""

    api_key: ApiKey
    version: int
    request: memoryview
    response: memoryview | None
    topics: dict[UUID, str]


def exchanges(file: str) -> list[Exchange]:
    """What a file holds."""
    content = json.loads((HERE / file).read_text())
    topics = {UUID(topic_id): name for topic_id, name in content["topics"].items()}
    found = []
    for row in content["exchanges"]:
        request = memoryview(bytes.fromhex(row["request"]))
        response = row["response"] and memoryview(bytes.fromhex(row["response"]))
        key, version = struct.unpack_from(">hh", request)
        found.append(Exchange(ApiKey(key), version, request, response, topics))
    return found


def is_known(exchange: Exchange) -> bool:
    """Some clients try versions of ApiVersions that Kafka 4.3 does not have."""
    return exchange.version in registry.api_versions(exchange.api_key)


def request_of(exchange: Exchange) -> Any:
    header = headers.parse_request_header(exchange.request)
    kind = registry.request_type(exchange.api_key)
    return codec.decode_from(kind, exchange.request, header.body_offset, exchange.version)[0]


def response_of(exchange: Exchange, frame: memoryview) -> Any:
    version = exchange.version if is_known(exchange) else 0
    _, start = headers.parse_response_header(frame, exchange.api_key, version)
    return codec.decode(registry.response_type(exchange.api_key), frame, version, start)


# -- the codec -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES)
def test_requests_are_read_and_written_alike(file):
    """A real client's request decodes, and encodes to the very same bytes."""
    client = Path(file).stem.rpartition("-v")[0]
    for exchange in filter(is_known, exchanges(file)):
        key, version, frame = exchange.api_key, exchange.version, exchange.request
        assert key.name.lower() == Path(file).parent.name
        header = headers.parse_request_header(frame)
        body = header.body_offset
        message, end = codec.decode_from(registry.request_type(key), frame, body, version)
        assert end == len(frame) or (client, key) in TRAILING_BYTES
        again = headers.encode_request_header(key, version, header.correlation_id, header.client_id)
        assert again == bytes(frame[:body])
        assert codec.encode(message, version) == bytes(frame[body:end])


@pytest.mark.parametrize("file", FILES)
def test_responses_are_read_and_written_alike(file):
    """Apache Kafka's response decodes, and encodes to the very same bytes."""
    for exchange in exchanges(file):
        if exchange.response is None:
            continue
        key, frame = exchange.api_key, exchange.response
        version = exchange.version if is_known(exchange) else 0
        correlation_id, _ = headers.parse_response_header(frame, key, version)
        message = response_of(exchange, frame)
        again = headers.response_header(key, version, correlation_id)
        assert again + codec.encode(message, version) == bytes(frame)


def batches(message: Any) -> Iterator[bytes]:
    """All record batches within a message."""
    for path, value in leaves(message):
        if path[-1] == "records" and value:
            for start, header in walk_headers(value):
                yield bytes(value[start : start + header.size_bytes])


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.startswith(("produce/", "fetch/"))]
)
def test_records_of_every_client_are_read(file):
    """Batches of each client and codec open, and hold as many records as they say."""
    for exchange in exchanges(file):
        messages = [request_of(exchange)]
        if exchange.response is not None:
            messages.append(response_of(exchange, exchange.response))
        for message in messages:
            for batch in batches(message):
                (header,) = (header for _, header in walk_headers(batch))
                if not header.is_control:
                    assert len(list(read_records(batch, BATCH_BYTES_MAX))) == header.record_count


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value of a message with the names and list positions that lead to it."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    elif hasattr(type(value), "FIELDS"):
        for declared in type(value).FIELDS:
            yield from leaves(getattr(value, declared.name), (*path, declared.name))
    else:
        yield path, value


# -- our broker ------------------------------------------------------------------------------------

# APIs whose outcome follows from the topics that exist; others depend on what went before.
LIVE_APIS = {
    ApiKey.PRODUCE,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
}
NO_TOPIC = {Err.UNKNOWN_TOPIC_OR_PARTITION, Err.INVALID_TOPIC_EXCEPTION, Err.UNKNOWN_TOPIC_ID}
DETERMINED = {
    *NO_TOPIC,
    Err.NONE,
    Err.UNSUPPORTED_VERSION,
    Err.TOPIC_ALREADY_EXISTS,
    Err.INVALID_PARTITIONS,
    Err.INVALID_REPLICATION_FACTOR,
    Err.INVALID_CONFIG,
}


def outcome(message: Any) -> set[tuple[str, Err]]:
    """The errors of a message, with the names of the structs that hold them."""
    found = set()
    for path, value in leaves(message):
        if path[-1] == "error_code":
            found.add((".".join(name for name in path if isinstance(name, str)), Err(value)))
    return found


def topic_rows(message: Any, topics: dict[UUID, str]) -> Iterator[tuple[str, Any]]:
    """(topic name, struct) of each struct of a message that is about one topic."""
    if isinstance(message, list):
        for item in message:
            yield from topic_rows(item, topics)
    elif hasattr(type(message), "FIELDS"):
        values = {field.name: getattr(message, field.name) for field in type(message).FIELDS}
        name = values.get("name") or values.get("topic") or topics.get(values.get("topic_id"))
        if values.get("resource_type") == TOPIC_RESOURCE:
            name = values["resource_name"]
        if name and {"name", "topic_id", "resource_name"} & values.keys():
            yield name, message
        for value in values.values():
            yield from topic_rows(value, topics)


def existing_topics(exchange: Exchange, response: Any) -> set[str]:
    """The topics that must have been there for the response to be what it was."""
    found = set()
    for name, row in topic_rows(response, exchange.topics):
        codes = {err for _, err in outcome(row)}
        if exchange.api_key == ApiKey.CREATE_TOPICS:
            existed = Err.TOPIC_ALREADY_EXISTS in codes
        else:
            existed = bool(codes) and not codes & NO_TOPIC
        if existed:
            found.add(name)
    return found


def is_determined(exchange: Exchange) -> bool:
    """Whether the recorded outcome is what any broker with these topics should give."""
    if exchange.api_key not in LIVE_APIS or exchange.response is None:
        return False
    errors = {err for _, err in outcome(response_of(exchange, exchange.response))}
    if not errors <= DETERMINED:
        return False
    if not is_known(exchange):
        return True
    request = request_of(exchange)
    if getattr(request, "transactional_id", None) is not None:
        return False
    # Kafka creates a topic after its answer, we before ours.
    creates = getattr(request, "allow_auto_topic_creation", False) or exchange.version < 4
    return not (exchange.api_key == ApiKey.METADATA and creates and errors & NO_TOPIC)


LIVE = [
    pytest.param(exchange, id=f"{file}-{index}")
    for file in FILES
    for index, exchange in enumerate(exchanges(file))
    if is_determined(exchange)
]


@pytest.fixture
def replay(connect) -> Iterator[Any]:
    """`replay(exchange)`: what a new broker with the same topics answers."""
    from odradek.protocol.messages import create_topics as ct
    from odradek.testing import EmbeddedBroker

    with EmbeddedBroker() as broker:
        wire = connect(broker.bootstrap_servers)

        def ask(exchange: Exchange) -> memoryview:
            frame, expected = bytes(exchange.request), response_of(exchange, exchange.response)
            # To grow, a topic must be small; to be refused more partitions, it must have many.
            grows = outcome(expected) == {("results.error_code", Err.NONE)}
            for name in existing_topics(exchange, expected):
                new = ct.CreatableTopic(
                    name=name, num_partitions=1 if grows else 8, replication_factor=1
                )
                request = ct.CreateTopicsRequest(topics=[new], timeout_ms=30_000)
                (created,) = wire.ask(request, 7).topics
                assert created.error_code == 0, created
                for topic_id, known in exchange.topics.items():
                    if known == name:
                        frame = frame.replace(topic_id.bytes, created.topic_id.bytes)
            wire.send(frame)
            return memoryview(wire.receive())

        yield ask


@pytest.mark.parametrize("exchange", LIVE)
def test_our_broker_answers_with_the_same_outcome(exchange, replay):
    """The recorded request gets the errors from us that it got from Apache Kafka."""
    answer = response_of(exchange, replay(exchange))
    assert outcome(answer) == outcome(response_of(exchange, exchange.response))
