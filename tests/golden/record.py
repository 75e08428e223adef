"""Record what real clients and Apache Kafka say to each other: the files beside this one.

    python tests/golden/record.py [client ...]

Starts Apache Kafka (../shared/peers), with a proxy in front of it whose address is the advertised one,
lets each client do a little of everything (`drivers.py`), and keeps one file per API, client and version:
a few exchanges with different outcomes, small ones only. A frame is written in hex without its length.
Only needed when a client or Kafka has a new release; the tests read the files and need neither.
"""

from __future__ import annotations

import json
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import drivers

from odradek.protocol import codec, headers, registry
from odradek.protocol.api_keys import ApiKey

HERE = Path(__file__).resolve().parent
PEER = HERE.parents[2] / "shared" / "peers" / "kafka-peer"
BROKER = "Apache Kafka 4.3.1"
EXCHANGES_MAX = 5  # per file
REQUEST_BYTES_MAX = 3_000
RESPONSE_BYTES_MAX = 6_000
TOPIC_ID_APIS = {ApiKey.METADATA, ApiKey.CREATE_TOPICS}


@dataclass
class Exchange:
    """A request and its response, without lengths; acks=0 has no response."""

    client: str
    request: bytes
    response: bytes | None


@dataclass
class Proxy:
    """Passes frames on and remembers them; one thread per direction and connection."""

    upstream: tuple[str, int]
    client: str = ""
    exchanges: list[Exchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            downstream, _ = self._listening.accept()
            upstream = socket.create_connection(self.upstream)
            waiting: deque[bytes] = deque()
            for work in (self._requests, self._responses):
                arguments = (self.client, downstream, upstream, waiting)
                threading.Thread(target=work, args=arguments, daemon=True).start()

    def _requests(self, client: str, down: socket.socket, up: socket.socket, waiting: Any) -> None:
        for frame in frames(down):
            if has_answer(frame):
                waiting.append(frame)
            else:
                self.exchanges.append(Exchange(client, frame, None))
            up.sendall(struct.pack(">i", len(frame)) + frame)
        up.close()

    def _responses(self, client: str, down: socket.socket, up: socket.socket, waiting: Any) -> None:
        for frame in frames(up):
            self.exchanges.append(Exchange(client, waiting.popleft(), frame))
            with suppress(OSError):  # a client need not wait for its last answers
                down.sendall(struct.pack(">i", len(frame)) + frame)
        down.close()


def frames(sock: socket.socket) -> Iterator[bytes]:
    """The frames that arrive on a socket, until it is closed."""
    with sock.makefile("rb") as stream:
        try:
            while head := stream.read(4):
                yield stream.read(int.from_bytes(head, "big"))
        except (OSError, ValueError):
            return


def has_answer(frame: bytes) -> bool:
    header = headers.parse_request_header(memoryview(frame))
    if header.api_key != ApiKey.PRODUCE:
        return True
    request = registry.request_type(ApiKey.PRODUCE)
    message, _ = codec.decode_from(request, frame, header.body_offset, header.api_version)
    return message.acks != 0


# -- choosing --------------------------------------------------------------------------------------


def decoded_response(frame: bytes, api_key: int, version: int) -> Any:
    if version not in registry.api_versions(api_key):
        version = 0  # ApiVersions of the future is answered so
    _, position = headers.parse_response_header(memoryview(frame), api_key, version)
    return codec.decode_from(registry.response_type(api_key), frame, position, version)[0]


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a message with the names that lead to it."""
    if isinstance(value, list):
        for item in value:
            yield from leaves(item, path)
    elif hasattr(type(value), "FIELDS"):
        for declared in type(value).FIELDS:
            yield from leaves(getattr(value, declared.name), f"{path}.{declared.name}")
    else:
        yield path, value


def traits(exchange: Exchange, api_key: int, version: int) -> frozenset[Any]:
    """What makes an exchange worth keeping beside another: how it asks, errors, records or none."""
    found: set[Any] = set()
    if version in registry.api_versions(api_key):
        header = headers.parse_request_header(memoryview(exchange.request))
        kind = registry.request_type(api_key)
        request, _ = codec.decode_from(kind, exchange.request, header.body_offset, version)
        for path, value in leaves(request):
            if value is None or (isinstance(value, UUID) and value.int):
                found.add((path, "null" if value is None else "by id"))
    if exchange.response is not None:
        for path, value in leaves(decoded_response(exchange.response, api_key, version)):
            if path.endswith("error_code"):
                found.add((path, value))
            elif path.endswith(".records"):
                found.add((path, bool(value)))
    return frozenset(found)


def topic_ids(exchanges: list[Exchange]) -> dict[UUID, str]:
    """The names of all topics that were created or described, by id."""
    found: dict[UUID, str] = {}
    for exchange in exchanges:
        header = headers.parse_request_header(memoryview(exchange.request))
        if header.api_key in TOPIC_ID_APIS and exchange.response is not None:
            answer = decoded_response(exchange.response, header.api_key, header.api_version)
            found |= {topic.topic_id: topic.name for topic in answer.topics if topic.name}
    return {topic_id: name for topic_id, name in found.items() if topic_id.int}


def write(exchanges: list[Exchange]) -> None:
    """Choose, and write the files; those of an earlier recording of the same clients go."""
    for client in {exchange.client for exchange in exchanges}:
        for old in HERE.glob(f"*/{client}-v*.json"):
            old.unlink()
    names = topic_ids(exchanges)
    kept: dict[tuple[str, int, int], list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        header = headers.parse_request_header(memoryview(exchange.request))
        key = (exchange.client, header.api_key, header.api_version)
        same = [traits(e, *key[1:]) for e in kept[key]]
        small = len(exchange.request) <= REQUEST_BYTES_MAX
        small = small and len(exchange.response or b"") <= RESPONSE_BYTES_MAX
        if small and len(same) < EXCHANGES_MAX and traits(exchange, *key[1:]) not in same:
            kept[key].append(exchange)
    for (client, api_key, version), some in sorted(kept.items()):
        if not some:
            print(f"nothing small enough: {client} {ApiKey(api_key).name} v{version}")
            continue
        folder = HERE / ApiKey(api_key).name.lower()
        folder.mkdir(exist_ok=True)
        content: dict[str, Any] = {
            "client": f"{client} {drivers.versions()[client]}",
            "broker": BROKER,
            "topics": {
                str(topic_id): name
                for topic_id, name in names.items()
                if any(topic_id.bytes in e.request for e in some)
            },
            "exchanges": [
                {"request": e.request.hex(), "response": e.response and e.response.hex()}
                for e in some
            ],
        }
        text = json.dumps(content, indent=1) + "\n"
        (folder / f"{client}-v{version}.json").write_text(text)


def main(wanted: list[str]) -> None:
    data = Path(tempfile.mkdtemp(prefix="golden-"))
    port = drivers.free_port_pair()
    proxy = Proxy(("127.0.0.1", port))
    extra = data / "extra.properties"
    extra.write_text(f"advertised.listeners=PLAINTEXT://127.0.0.1:{proxy.port}\n")
    environment = {**drivers.environment(), "KAFKA_PEER_PROPS": str(extra)}
    subprocess.run([PEER, "up", str(port), str(data)], env=environment, check=True)
    try:
        for client, drive in drivers.DRIVERS.items():
            if not wanted or client in wanted:
                proxy.client = client
                print(f"recording {client}")
                drive(f"127.0.0.1:{proxy.port}")
        write(proxy.exchanges)
    finally:
        subprocess.run([PEER, "down", str(data)], check=True)
        shutil.rmtree(data)


if __name__ == "__main__":
    main(sys.argv[1:])
