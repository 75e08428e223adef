"""Records are printed as asked: kcat's formats, JSON, or the console consumer's columns."""

from __future__ import annotations

import json

import pytest
import typer

from odradek.tools.consume import choose_reset, parse_offset
from odradek.tools.produce import KeyValue, parse_line
from odradek.tools.record_text import ConsumedRecord, columns, compile_format, json_line

RECORD = ConsumedRecord("t", 2, 7, "CreateTime", 99, b"k", b"v\xff", (("h", b"1"), ("n", None)))
EMPTY = ConsumedRecord("t", 0, 0, "NoTimestampType", -1, None, None, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"%t-%p@%o %k %s\n", b"t-2@7 k v\xff\n"),
        (r"%K:%S %T %h %%\x41\t\\", b"1:2 99 h=1,n=NULL %A\t\\"),
        ("plain", b"plain"),
        ("", b""),
    ],
)
def test_a_format_is_rendered(text: str, expected: bytes) -> None:
    assert compile_format(text)(RECORD) == expected


def test_null_has_length_minus_one() -> None:
    assert compile_format("%K %S[%k][%s]")(EMPTY) == b"-1 -1[][]"


@pytest.mark.parametrize("text", ["%", "%q", "a%"])
def test_an_unknown_token_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not one of %s"):
        compile_format(text)


def test_json_keeps_text_as_text_and_bytes_as_base64() -> None:
    assert json.loads(json_line(RECORD)) == {
        "topic": "t",
        "partition": 2,
        "offset": 7,
        "timestampType": "CreateTime",
        "timestamp": 99,
        "headers": [{"name": "h", "value": "1"}, {"name": "n", "value": None}],
        "key": "k",
        "valueBase64": "dv8=",
    }
    assert json.loads(json_line(EMPTY))["value"] is None


def test_columns_are_those_of_the_console_consumer() -> None:
    everything = columns(timestamp=True, headers=True, key=True)
    assert everything(RECORD) == b"CreateTime:99\th:1,n:null\tk\tv\xff\n"
    assert everything(EMPTY) == b"NoTimestampType:-1\tNO_HEADERS\tnull\tnull\n"
    assert columns(timestamp=False, headers=False, key=False)(RECORD) == b"v\xff\n"


@pytest.mark.parametrize(
    ("text", "from_beginning", "expected"),
    [
        (None, False, -1),
        (None, True, -2),
        ("beginning", False, -2),
        ("end", False, -1),
        ("5", False, 5),
        ("-3", False, -2003),
    ],
)
def test_a_start_is_read(text: str | None, from_beginning: bool, expected: int) -> None:
    assert parse_offset(text, from_beginning) == expected


def test_two_starts_or_none_at_all_are_refused() -> None:
    with pytest.raises(typer.BadParameter, match="either"):
        parse_offset("5", True)
    with pytest.raises(typer.BadParameter, match="neither a number"):
        parse_offset("somewhere", False)


def test_a_position_that_was_asked_for_and_is_gone_is_an_error() -> None:
    assert choose_reset("5", False) == "error"
    assert choose_reset(None, True) == "earliest"
    assert choose_reset(None, False) == "latest"


@pytest.mark.parametrize(
    ("line", "separator", "null_value", "expected"),
    [
        (b"v", None, False, KeyValue(None, b"v")),
        (b"k:v:w", b":", False, KeyValue(b"k", b"v:w")),
        (b"v", b":", False, KeyValue(None, b"v")),
        (b"k:", b":", True, KeyValue(b"k", None)),
        (b"k:", b":", False, KeyValue(b"k", b"")),
        (b"", None, True, KeyValue(None, None)),
        (b":v", b":", False, KeyValue(b"", b"v")),
    ],
)
def test_a_line_becomes_a_key_and_a_value(
    line: bytes, separator: bytes | None, null_value: bool, expected: KeyValue
) -> None:
    assert parse_line(line, separator, null_value) == expected
