r"""How `odradek consume` prints a record: kcat's format strings, JSON, or the console consumer's
columns.

A format string is compiled once to a list of pieces; a record is then rendered by joining bytes.
Pure.

    %s value   %k key   %t topic   %p partition   %o offset   %T timestamp   %h headers
    %S value's length   %K key's length (-1: null)   %% a percent sign   \n \r \t \\ \xNN
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias


class ConsumedRecord(NamedTuple):
    """A record as it was read."""

    topic: str
    partition: int
    offset: int
    timestamp_type: str
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


Render: TypeAlias = Callable[[ConsumedRecord], bytes]
_NULL: Final = b"null"


def _length(data: bytes | None) -> bytes:
    return b"%d" % (-1 if data is None else len(data))


def _headers(record: ConsumedRecord) -> bytes:
    pairs = (name.encode() + b"=" + (value or b"NULL") for name, value in record.headers)
    return b",".join(pairs)


_TOKENS: Final[dict[str, Render]] = {
    "s": lambda record: record.value or b"",
    "S": lambda record: _length(record.value),
    "k": lambda record: record.key or b"",
    "K": lambda record: _length(record.key),
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp,
    "h": _headers,
    "%": lambda record: b"%",
}
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "0": "\0"}
_PIECE: Final = re.compile(
    r"%(?P<token>.?)|\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<escape>.?)|[^%\\]+", re.S
)


def compile_format(text: str) -> Render:
    """A renderer for a format string; ValueError says what is wrong with it."""
    pieces: list[bytes | Render] = []
    for match in _PIECE.finditer(text):
        token, hexadecimal, escape = match.group("token", "hex", "escape")
        if token is not None:
            if token not in _TOKENS:
                known = " ".join(f"%{known}" for known in _TOKENS)
                raise ValueError(f"%{token} is not one of {known}")
            pieces.append(_TOKENS[token])
        elif hexadecimal is not None:
            pieces.append(bytes.fromhex(hexadecimal))
        elif escape is not None:
            pieces.append(_ESCAPES.get(escape, "\\" + escape).encode())
        else:
            pieces.append(match.group().encode())

    def render(record: ConsumedRecord) -> bytes:
        return b"".join(piece if isinstance(piece, bytes) else piece(record) for piece in pieces)

    return render


def columns(*, timestamp: bool, headers: bool, key: bool) -> Render:
    """The value on a line after the chosen columns, as kafka-console-consumer prints them."""

    def render(record: ConsumedRecord) -> bytes:
        parts: list[bytes] = []
        if timestamp:
            parts.append(f"{record.timestamp_type}:{record.timestamp}".encode())
        if headers:
            pairs = (
                name.encode() + b":" + (_NULL if value is None else value)
                for name, value in record.headers
            )
            parts.append(b",".join(pairs) or b"NO_HEADERS")
        if key:
            parts.append(_NULL if record.key is None else record.key)
        parts.append(_NULL if record.value is None else record.value)
        return b"\t".join(parts) + b"\n"

    return render


def json_line(record: ConsumedRecord) -> bytes:
    """One JSON object and a line end; bytes that are not UTF-8 go base64 into `…Base64` fields."""
    document: dict[str, object] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestampType": record.timestamp_type,
        "timestamp": record.timestamp,
        "headers": [
            {"name": name, **_text_field("value", value)} for name, value in record.headers
        ],
        **_text_field("key", record.key),
        **_text_field("value", record.value),
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _text_field(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode("ascii")}
