"""Headers take the version that Kafka takes, and unknown requests can still be answered."""

from __future__ import annotations

import pytest

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.headers import (
    RequestHeader,
    encode_request_header,
    parse_request_header,
    parse_response_header,
    response_header,
    response_header_version,
)
from odradek.protocol.primitives import DecodeError
from odradek.protocol.registry import api_versions


def parse(text: str) -> RequestHeader:
    return parse_request_header(memoryview(bytes.fromhex(text)))


def test_request_header_v1_ends_after_the_client_id() -> None:
    header = parse("00 00 00 08 00 00 00 2a 00 02 6d 65 ff ff")
    assert header == RequestHeader(ApiKey.PRODUCE, 8, 42, "me", 12)


def test_request_header_v2_has_a_tagged_section() -> None:
    assert parse("00 00 00 09 00 00 00 2a ff ff 00 01").body_offset == 11
    assert parse("00 00 00 09 00 00 00 2a ff ff 01 05 01 ff 01").body_offset == 14


def test_every_request_header_is_read_back() -> None:
    for key in ApiKey:
        for version in api_versions(key):
            for client_id in (None, "", "rdkafka", "kafkä"):
                data = encode_request_header(key, version, 7, client_id)
                header = parse_request_header(memoryview(data + b"body"))
                assert header == (key, version, 7, client_id, len(data))


def test_an_unknown_version_of_api_versions_is_parsed() -> None:
    header = parse("00 12 00 63 00 00 00 01 00 01 61 00 02 78")
    assert header == RequestHeader(ApiKey.API_VERSIONS, 99, 1, "a", 12)


@pytest.mark.parametrize(
    "frame",
    ["03 e7 00 00 00 00 00 05", "03 e7 00 00 00 00 00 05 00 09 61", "00 12 00 63 00 00 00 05 80"],
    ids=["nothing follows", "client id too long", "unknown version"],
)
def test_an_unknown_request_gives_at_least_its_fixed_fields(frame: str) -> None:
    header = parse(frame)
    assert header.correlation_id == 5
    assert header.client_id is None


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "00 00 00",
        "00 00 00 08 00 00 00 05",
        "00 00 00 08 00 00 00 05 00 05 61",
        "00 00 00 08 00 00 00 05 ff fe",
        "00 00 00 08 00 00 00 05 00 01 ff",
        "00 00 00 09 00 00 00 05 ff ff",
        "00 00 00 09 00 00 00 05 ff ff 7f",
    ],
)
def test_a_malformed_header_is_a_decode_error(frame: str) -> None:
    with pytest.raises(DecodeError):
        parse(frame)


def test_response_headers_are_flexible_with_their_message_but_for_api_versions() -> None:
    assert response_header(ApiKey.METADATA, 8, 5).hex() == "00000005"
    assert response_header(ApiKey.METADATA, 9, 5).hex() == "0000000500"
    assert response_header(ApiKey.API_VERSIONS, 3, 5).hex() == "00000005"
    assert response_header_version(ApiKey.OFFSET_DELETE, 0) == 0
    assert response_header_version(999, 0) == 0


def test_response_headers_are_read_back() -> None:
    for key in (ApiKey.METADATA, ApiKey.API_VERSIONS, ApiKey.OFFSET_DELETE):
        for version in api_versions(key):
            data = response_header(key, version, 1234)
            assert parse_response_header(memoryview(data), key, version) == (1234, len(data))
    with pytest.raises(DecodeError):
        parse_response_header(memoryview(b"\x00\x00\x00\x01"), ApiKey.METADATA, 9)
