"""Clients from before 0.11 are refused as Apache Kafka 4 refuses them; the log says who and what works."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from odradek.protocol import codec, registry
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.api_versions import ApiVersionsRequest

# Bodies as those versions have them: acks, timeout, no topics; and the oldest fetch.
PRODUCE = struct.pack(">hii", -1, 1000, 0)
FETCH = struct.pack(">iiii", -1, 100, 1, 0)
FETCH_V3 = struct.pack(">iiiii", -1, 100, 1, 1 << 20, 0)
OLD = {
    **{f"Produce v{version}": (0, version, PRODUCE) for version in range(3)},
    **{f"Fetch v{version}": (1, version, FETCH) for version in range(3)},
    "Fetch v3": (1, 3, FETCH_V3),
    "ListOffsets v0": (2, 0, struct.pack(">ii", -1, 0)),
    "CreateTopics v1": (19, 1, struct.pack(">ii?", 0, 1000, False)),
}


def old_frame(api_key: int, version: int, body: bytes, client_id: bytes = b"grandpa") -> bytes:
    head = struct.pack(">hhih", api_key, version, 7, len(client_id)) + client_id
    return struct.pack(">i", len(head + body)) + head + body


@pytest.mark.parametrize("name", OLD)
def test_old_versions_are_hung_up_on(shared_broker: Any, dial: Any, talk: Any, name: str) -> None:
    """The connection closes; one line names client id, address, API, version, and what works."""
    api_key, version, body = OLD[name]
    sock = dial(shared_broker.address)
    host, port = sock.getsockname()
    sock.sendall(old_frame(api_key, version, body))
    assert talk.is_closed_by_peer(sock)
    (line,) = (x for x in shared_broker.output().splitlines() if f"{host}:{port}" in x)
    api, _, _ = name.partition(" ")
    assert "WARNING" in line
    assert "client 'grandpa'" in line
    assert f"{api} (api key {api_key}) v{version}" in line
    assert f"served: {registry_range(api_key)}" in line
    assert "clients of release 0.11 or newer work" in line


def registry_range(api_key: int) -> str:
    from odradek.server.registry import load_handlers

    versions = load_handlers()[api_key].versions
    return f"{versions.start}-{versions[-1]}"


def test_others_are_not_disturbed(shared_broker: Any, dial: Any, bystander: Any) -> None:
    with bystander(shared_broker.address):
        for api_key, version, body in OLD.values():
            dial(shared_broker.address).sendall(old_frame(api_key, version, body))


@pytest.mark.parametrize("version", [5, 9, 100, 32767])
def test_unknown_api_versions_is_answered_in_its_oldest_form(
    shared_broker: Any, dial: Any, talk: Any, version: int
) -> None:
    """KIP-511: v0 with error 35 and the list, and the connection stays for the next try."""
    sock = dial(shared_broker.address)
    sock.sendall(old_frame(ApiKey.API_VERSIONS, version, b"\x00whatever this version has"))
    reply = talk.receive_frame(sock)
    assert reply[:4] == struct.pack(">i", 7)
    answer = codec.decode(registry.response_type(ApiKey.API_VERSIONS), reply[4:], 0)
    assert answer.error_code == 35
    served = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
    assert served[ApiKey.API_VERSIONS][1] < version
    assert talk.ask(sock, ApiVersionsRequest(), 0).error_code == 0


def test_produce_is_advertised_from_version_0(shared_broker: Any, dial: Any, talk: Any) -> None:
    """librdkafka looks at that before it compresses (KAFKA-18659); only v3 and later are served."""
    answer = talk.ask(dial(shared_broker.address), ApiVersionsRequest(), 0)
    served = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
    assert served[ApiKey.PRODUCE] == (0, 13)
    assert served[ApiKey.FETCH] == (4, 18)
