r"""Java .properties files are read as Java reads them."""

from __future__ import annotations

import pytest

from odradek.config.properties import PropertiesError, parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1", {"a": "1"}),
        ("a:1\nb : 2", {"a": "1", "b": "2"}),
        ("a 1", {"a": "1"}),
        ("a\t=\t1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("  a=1  ", {"a": "1  "}),
        ("# c\n! c\n  # c\n\na=1", {"a": "1"}),
        ("a=1 # no comment", {"a": "1 # no comment"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1,\\\n   2,\\\n   3", {"a": "1,2,3"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=x\\\n# not a comment", {"a": "x# not a comment"}),
        (r"a\=b\:c\ d=1", {"a=b:c d": "1"}),
        (r"a=\t\n\r\f\\\q", {"a": "\t\n\r\f\\q"}),
        (r"a=\u0041\u00e9", {"a": "Aé"}),
        (r"a=\ud83d\ude00", {"a": "\U0001f600"}),
        ("a==1", {"a": "=1"}),
        ("=1", {"": "1"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
        ("", {}),
    ],
)
def test_lines(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected
    assert parse_properties(text.encode()) == expected


def test_errors_name_the_file_and_the_line() -> None:
    with pytest.raises(PropertiesError, match=r"server\.properties, line 3: .*four hexadecimal"):
        parse_properties("a=1\n\nb=x\\\n\\u00g0", "server.properties")
    with pytest.raises(PropertiesError, match="line 2: not UTF-8"):
        parse_properties(b"a=1\nb=\xff")
    with pytest.raises(PropertiesError, match="surrogate"):
        parse_properties(r"a=\ud83d")
