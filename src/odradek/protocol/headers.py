"""Headers: what stands between a frame's length and the message.

    request    int16 api_key, int16 api_version, int32 correlation_id,
               client_id as a classic nullable string (in v2 too),
               v2 (flexible messages): a tagged section
    response   int32 correlation_id; v1 (flexible messages): a tagged section

The header version follows from the API and the version of its message. One exception: responses of
ApiVersions always have header v0, since the client does not know yet what the broker understands.
Whoever asks for an API or a version that is not declared still gets an answer, so the header of
such a request is read as far as it can be.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Final, NamedTuple

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.primitives import DecodeError, skip_tags
from odradek.protocol.registry import api_versions, request_type

# api_key, api_version, correlation_id
_REQUEST: Final = struct.Struct(">hhi")
# the same and the length of client_id
_REQUEST_AND_LENGTH: Final = struct.Struct(">hhih")
_CORRELATION_ID: Final = struct.Struct(">i")
# correlation_id and an empty tagged section
_CORRELATION_ID_AND_TAGS: Final = struct.Struct(">ix")
_NEVER: Final = 1 << 15


class RequestHeader(NamedTuple):
    """A request's header; the message starts at ``body_offset`` of the frame."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


@cache
def flexible_from(api_key: int) -> int:
    """The first flexible version of an API; one that no request has if there is none."""
    try:
        first = request_type(api_key).FLEXIBLE_FROM
    except ValueError:
        return _NEVER
    return _NEVER if first is None else first


def parse_request_header(frame: memoryview) -> RequestHeader:
    """The header of the request in ``frame``, a frame without its length."""
    try:
        api_key, version, correlation_id, length = _REQUEST_AND_LENGTH.unpack_from(frame)
        position, client_id = _REQUEST_AND_LENGTH.size, None
        if length >= 0:
            start, position = position, position + length
            if position > len(frame):
                raise DecodeError(f"client_id: length {length} does not fit the frame")
            client_id = str(frame[start:position], "utf-8")
        elif length != -1:
            raise DecodeError(f"client_id: length {length}")
        if version >= flexible_from(api_key):
            tags = frame[position]
            position += 1
            if tags:
                position = skip_tags(frame, tags, position)
    except (struct.error, IndexError, UnicodeDecodeError, DecodeError) as error:
        return _unknown_request_header(frame, error)
    return RequestHeader(api_key, version, correlation_id, client_id, position)


def _unknown_request_header(frame: memoryview, error: Exception) -> RequestHeader:
    """The fields that every header has, if the request is one that we do not know."""
    if len(frame) >= _REQUEST.size:
        api_key, version, correlation_id = _REQUEST.unpack_from(frame)
        if not _is_declared(api_key, version):
            return RequestHeader(api_key, version, correlation_id, None, _REQUEST.size)
    raise DecodeError(f"request header: {error}") from error


def _is_declared(api_key: int, version: int) -> bool:
    try:
        return version in api_versions(api_key)
    except ValueError:
        return False


def encode_request_header(
    api_key: int, version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """The header that goes before a request."""
    tags = b"\x00" if version >= flexible_from(api_key) else b""
    if client_id is None:
        return _REQUEST_AND_LENGTH.pack(api_key, version, correlation_id, -1) + tags
    name = client_id.encode()
    return _REQUEST_AND_LENGTH.pack(api_key, version, correlation_id, len(name)) + name + tags


def response_header_version(api_key: int, version: int) -> int:
    """0 or 1; see the module's text."""
    return int(api_key != ApiKey.API_VERSIONS and version >= flexible_from(api_key))


def response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """The header that goes before a response."""
    if response_header_version(api_key, version):
        return _CORRELATION_ID_AND_TAGS.pack(correlation_id)
    return _CORRELATION_ID.pack(correlation_id)


def parse_response_header(frame: memoryview, api_key: int, version: int) -> tuple[int, int]:
    """The correlation id of the response in ``frame``, and where the message starts."""
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame)
        position = _CORRELATION_ID.size
        if response_header_version(api_key, version):
            tags = frame[position]
            position += 1
            if tags:
                position = skip_tags(frame, tags, position)
    except (struct.error, IndexError) as error:
        raise DecodeError("response header: the input is too short") from error
    return correlation_id, position
