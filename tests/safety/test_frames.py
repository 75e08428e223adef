"""Whatever bytes a client sends: no crash, no unexpected error, and others are served meanwhile.

Requests of every served API and version are built from the declarations with plausible and with absurd
values, then also cut, stretched and mutated. A broken frame may cost its sender the connection, nothing
else. Seeds follow from the test's name, so a failure repeats; `ODRADEK_FUZZ_FACTOR` multiplies the number
of tries.
"""

from __future__ import annotations

import os
import random
import socket
import struct
import zlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from odradek.protocol import codec, headers, registry
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.fields import Field, Kind, Struct
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.server.registry import Handler, load_handlers

FACTOR = int(os.environ.get("ODRADEK_FUZZ_FACTOR", "1"))
SERVED = list(load_handlers().values())
EACH_API = pytest.mark.parametrize("handler", SERVED, ids=lambda handler: handler.name)

TOPICS = ("frames-a", "frames-b")
BATCH = bytes(build_batch([Record(0, 1_700_000_000_000, b"k", b"v", ())]))
NAMES = (*TOPICS, "frames-new", "nobody", "", "_", ".", "a" * 300, "ünïcode", "__consumer_offsets")
INTS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 100, 2**15 - 1, 2**31 - 1, 2**63 - 1)
BOUNDS = {
    Kind.INT8: 2**7, Kind.INT16: 2**15, Kind.INT32: 2**31, Kind.INT64: 2**63,
    Kind.UINT16: 2**16, Kind.UINT32: 2**32,
}  # fmt: skip
# Fields that would make a test wait, or the machine swap, by the rules of the protocol.
KEPT = {
    "max_wait_ms": 10,
    "timeout_ms": 1000,
    "num_partitions": 2,
    "count": 3,
    "rebalance_timeout_ms": 50,
    "session_timeout_ms": 6000,
    "validate_only": True,
}


@pytest.fixture(scope="module")
def shared_broker(start_module_broker: Any) -> Any:
    """A broker whose groups do not wait for more members."""
    return start_module_broker({"group.initial.rebalance.delay.ms": "0"})


@pytest.fixture(scope="module", autouse=True)
def topic_ids(shared_broker: Any, talk: Any) -> list[UUID]:
    """Makes the topics; their ids."""
    with socket.create_connection(shared_broker.address, 30) as sock:
        for name in TOPICS:
            talk.create_topic(sock, name, 2)
        asked = [MetadataRequestTopic(name=name) for name in TOPICS]
        answer = talk.ask(sock, MetadataRequest(topics=asked), 12)
        return [topic.topic_id for topic in answer.topics]


@pytest.fixture(autouse=True)
def stays_well(shared_broker: Any, bystander: Any) -> Iterator[None]:
    """Around every test: a client that must be served, no traceback, no growth."""
    before_mb, logged = shared_broker.rss_mb(), len(shared_broker.output())
    with bystander(shared_broker.address) as client:
        yield
    assert shared_broker.is_alive()
    log = shared_broker.output()[logged:]
    assert "Traceback" not in log, log[-4000:]
    assert shared_broker.rss_mb() - before_mb < 100
    assert max(client.seconds) < 2.0, f"a bystander waited {max(client.seconds):.1f} s"


# -- valid requests ----------------------------------------------------------------------------


class Maker:
    """Random messages that the codec can write, plausible enough to get into the handlers."""

    def __init__(self, rng: random.Random, version: int, topic_ids: list[UUID]) -> None:
        self._rng = rng
        self._version = version
        self._ids = [*topic_ids, UUID(int=0), UUID(int=rng.getrandbits(128))]

    def struct(self, cls: type[Struct]) -> Any:
        fields = {f.name: self._field(f) for f in cls.FIELDS if f.on_wire(self._version)}
        return cls(**fields)

    def _field(self, field: Field) -> Any:
        rng = self._rng
        if field.name in KEPT and rng.random() < 0.9:
            return KEPT[field.name]
        if field.nullable(self._version) and rng.random() < 0.1:
            return None
        if field.kind is Kind.ARRAY:
            return [self._value(field.element, field.name) for _ in range(rng.choice((0, 1, 1, 3)))]
        return self._value(
            field.kind if field.kind is not Kind.STRUCT else field.element, field.name
        )

    def _value(self, kind: Any, name: str) -> Any:
        rng = self._rng
        if isinstance(kind, type):
            return self.struct(kind)
        if kind in BOUNDS:
            bound = BOUNDS[kind]
            low = 0 if kind in (Kind.UINT16, Kind.UINT32) else -bound
            number = rng.choice(INTS)
            if name == "index" or (rng.random() < 0.7 and "partition" in name):
                number = rng.choice((0, 1))
            return number if low <= number < bound else rng.choice((0, 1))
        if kind is Kind.STRING:
            return rng.choice(NAMES)
        return {
            Kind.BOOLEAN: rng.random() < 0.5,
            Kind.FLOAT64: rng.choice((0.0, -1.5, 1e308)),
            Kind.UUID: rng.choice(self._ids),
            Kind.BYTES: rng.randbytes(rng.choice((0, 1, 20))),
            Kind.RECORDS: rng.choice((BATCH, BATCH + BATCH, BATCH[:-1], b"")),
        }[kind]


def body_of(handler: Handler, version: int, rng: random.Random, topic_ids: list[UUID]) -> bytes:
    """Header and message of a random request, without the frame's length."""
    message = Maker(rng, version, topic_ids).struct(registry.request_type(handler.api_key))
    head = headers.encode_request_header(handler.api_key, version, 77, "frames")
    return head + codec.encode(message, version)


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def exchange(address: tuple[str, int], data: bytes) -> bytes:
    """Send, say that this was all, and return everything that comes until the broker closes."""
    with socket.create_connection(address, 20) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has hung up already: what it said before can still be read
        received = bytearray()
        try:
            while part := sock.recv(1 << 16):
                received += part
        except ConnectionResetError:
            pass
        return bytes(received)


def check_reply(data: bytes, api_key: int, version: int) -> None:
    """Nothing, or whole frames, of which the first answers our request in its version."""
    if not data:
        return
    (size,) = struct.unpack_from(">i", data)
    reply = memoryview(data)[4 : 4 + size]
    assert len(reply) == size, "a reply was cut short"
    correlation_id, position = headers.parse_response_header(reply, api_key, version)
    assert correlation_id == 77
    codec.decode(registry.response_type(api_key), reply, version, position)


@EACH_API
def test_any_valid_request_gets_a_valid_reply(
    shared_broker: Any, topic_ids: list[UUID], handler: Handler
) -> None:
    """Every version of every served API answers what its codec can write, absurd values included."""
    rng = random.Random(zlib.crc32(handler.name.encode()))
    for version in handler.versions:
        for _ in range(25 * FACTOR):
            body = body_of(handler, version, rng, topic_ids)
            data = exchange(shared_broker.address, frame(body))
            check_reply(data, handler.api_key, version)
            if handler.api_key not in (ApiKey.PRODUCE, ApiKey.FETCH):  # acks 0; a long wait
                assert data, f"no reply to {handler.name} v{version}: {body!r}"


# -- broken ones -------------------------------------------------------------------------------

EXTREMES = (
    b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x00\x00", b"\x7f\xff",
    b"\xff\xff", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80\x00",
)  # fmt: skip


def mutate(body: bytes, rng: random.Random) -> bytes:
    """One to three changes of the kinds that find weak decoders."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(6)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data += rng.randbytes(rng.choice((1, 4, 100)))
        elif kind == 2 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            extreme = rng.choice(EXTREMES)
            data[at : at + len(extreme)] = extreme
        elif kind == 4:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
        else:
            del data[at : at + rng.randint(1, 8)]
    return bytes(data)


@EACH_API
def test_mutated_requests_harm_nobody(
    shared_broker: Any, topic_ids: list[UUID], handler: Handler
) -> None:
    """Cut, stretched and garbled requests get a reply of their API, or the connection closed."""
    rng = random.Random(zlib.crc32(handler.name.encode()) + 1)
    for version in handler.versions:
        for _ in range(15 * FACTOR):
            body = mutate(body_of(handler, version, rng, topic_ids), rng)
            data = exchange(shared_broker.address, frame(body) if body else b"")
            # The API and version may be what was mutated: then only the frame can be checked.
            if body[:8] == struct.pack(">hhi", handler.api_key, version, 77):
                check_reply(data, handler.api_key, version)


@pytest.mark.parametrize("seed", range(5))
def test_random_bytes_harm_nobody(shared_broker: Any, seed: int) -> None:
    """Noise, framed and unframed, is answered by hanging up."""
    rng = random.Random(seed)
    for _ in range(40 * FACTOR):
        noise = rng.randbytes(rng.choice((1, 3, 4, 8, 14, 100, 5000)))
        exchange(shared_broker.address, noise)
        exchange(shared_broker.address, frame(noise))


STRANGERS = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    "2 GB": struct.pack(">i", 2**31 - 1) + b"x" * 100,
    "just above the limit": struct.pack(">i", 104_857_601),
    "zero": struct.pack(">i", 0) * 3,
    "minus one": struct.pack(">i", -1) + b"x",
    "minus 2 GB": struct.pack(">i", -(2**31)),
    "nothing": b"",
    "half a length": b"\x00\x00",
    "a length and no frame": struct.pack(">i", 100),
    "a header without an end": frame(struct.pack(">hhih", 3, 12, 1, 30_000)),
    "an api key from the future": frame(struct.pack(">hhih", 30_000, 0, 1, -1)),
    "a negative api key": frame(struct.pack(">hhih", -1, -1, 1, -1)),
    "a negative version": frame(struct.pack(">hhih", 3, -5, 1, -1)),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_what_is_no_request_is_hung_up_on(shared_broker: Any, name: str) -> None:
    """Other protocols and impossible lengths: the connection closes without a word."""
    assert exchange(shared_broker.address, STRANGERS[name]) == b""


def with_count(handler: Handler, version: int, count: bytes) -> bytes:
    """A request whose message begins with an array of so many elements, of which none follows."""
    head = headers.encode_request_header(handler.api_key, version, 77, "frames")
    return head + count + bytes(20)


@EACH_API
def test_huge_counts_cost_nothing(shared_broker: Any, handler: Handler) -> None:
    """An array that says it has two billion elements is refused before anything is built for it."""
    shared_broker.reset_peak_rss()
    before_mb = shared_broker.peak_rss_mb()
    for version in handler.versions:
        for count in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x7f\xff\xff\xff" * 20):
            exchange(shared_broker.address, frame(with_count(handler, version, count)))
    assert shared_broker.peak_rss_mb() - before_mb < 50


def test_tagged_fields_of_every_kind_of_lie(shared_broker: Any, talk: Any) -> None:
    """A flood of tags, tags that do not rise, and tags that claim too much: refused or skipped."""
    head = struct.pack(">hhih", 18, 3, 77, -1)
    body = b"\x02a" * 2
    many = b"".join(uvarint(tag) + b"\x00" for tag in range(200_000))
    skipped = exchange(
        shared_broker.address, frame(head + uvarint(200_000) + many + body + b"\x00")
    )
    check_reply(skipped, 18, 3)
    assert skipped
    for tags in (
        b"\xff\xff\xff\xff\x0f",  # so many tags
        b"\x02\x01\x00\x01\x00",  # the same tag twice
        b"\x02\x05\x00\x01\x00",  # falling
        b"\x01\x00\xff\xff\xff\xff\x07",  # so long a content
        b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00",  # no such number
    ):
        assert exchange(shared_broker.address, frame(head + tags + body + b"\x00")) == b""


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def test_a_hundred_announced_giants_cost_nothing(shared_broker: Any, dial: Any) -> None:
    """Frames of 100 MB that are announced and never sent take no memory."""
    before_mb = shared_broker.rss_mb()
    for _ in range(100):
        dial(shared_broker.address).sendall(struct.pack(">i", 104_857_600) + b"x" * 100)
    exchange(shared_broker.address, b"")
    assert shared_broker.rss_mb() - before_mb < 20


def test_unknown_versions_of_api_versions_are_answered(shared_broker: Any) -> None:
    """KIP-511: any version of ApiVersions gets an answer, an unknown one as v0 with error 35."""
    for version in (5, 99, 32767):
        head = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 77, 4) + b"some"
        for rest in (b"", b"\x00", bytes(50)):
            data = exchange(shared_broker.address, frame(head + rest))
            answer = codec.decode(registry.response_type(ApiKey.API_VERSIONS), data[8:], 0)
            assert data[4:8] == struct.pack(">i", 77)
            assert answer.error_code == 35
            assert {key.api_key for key in answer.api_keys} == {h.api_key for h in SERVED}
