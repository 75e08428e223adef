r"""Java .properties files: what server.properties is written in.

    # comment        ! comment
    key=value        key: value        key value        key            (blanks around do not count)
    long = first part, \
           second part                 (a line ending in an odd number of backslashes goes on)
    \u0041 \t \n \r \f \\ \= \: \#     (escapes, in keys and values)

A key that occurs again replaces the earlier one. Blanks at a value's end belong to the value, as in
Java; `kinds` drops them where they mean nothing. Input that Java would refuse too (a broken \u
escape), and text that is not UTF-8, is a `PropertiesError` with its line number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from odradek.config.declare import ConfigError

_BLANKS: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(ConfigError):
    """A line that cannot be read."""

    def __init__(self, source: str, line_number: int, problem: str) -> None:
        super().__init__(f"{source}, line {line_number}: {problem}")
        self.line_number = line_number


def parse_properties(data: bytes | str, source: str = "properties") -> dict[str, str]:
    """Every key with its value; `source` names the file in errors."""
    if isinstance(data, bytes):
        data = _decode(data, source)
    found = {}
    for line_number, line in _logical_lines(data):
        end = _end_of_key(line)
        key = line[:end]
        value = line[end:].lstrip(_BLANKS)
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(_BLANKS)
        try:
            found[_unescape(key)] = _unescape(value)
        except ValueError as error:
            raise PropertiesError(source, line_number, str(error)) from None
    return found


def _decode(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line_number = data.count(b"\n", 0, error.start) + 1
        raise PropertiesError(source, line_number, "not UTF-8 text") from None


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined, comments and empty lines left out."""
    natural = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    started = 0
    gathered = ""
    for line_number, line in enumerate(natural, 1):
        stripped = line.lstrip(_BLANKS)
        if not started:
            if not stripped or stripped[0] in "#!":
                continue
            started = line_number
        if _goes_on(stripped):
            gathered += stripped[:-1]
            continue
        yield started, gathered + stripped
        started, gathered = 0, ""
    if started:
        yield started, gathered


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _end_of_key(line: str) -> int:
    escaped = False
    for position, character in enumerate(line):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in "=: \t\f":
            return position
    return len(line)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    parts = []
    position = 0
    while (backslash := text.find("\\", position)) >= 0:
        parts.append(text[position:backslash])
        escape = text[backslash + 1 : backslash + 2]
        position = backslash + 2
        if escape == "u":
            digits = text[position : position + 4]
            position += 4
            parts.append(_unicode(digits))
        else:
            parts.append(_ESCAPES.get(escape, escape))
    parts.append(text[position:])
    # Java writes characters beyond the first plane as two escapes; put such pairs together.
    try:
        return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError("half of a surrogate pair: expected both \\u escapes") from None


def _unicode(digits: str) -> str:
    if len(digits) < 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise ValueError(f"\\u{digits}: expected four hexadecimal digits after \\u")
    return chr(int(digits, 16))
