"""What a dump consists of: rows of named fields, shown as Kafka's text or as JSON.

A row is a kind and an ordered dict. As text, in the form of Kafka's DumpLogSegments, the fields
follow each other as `name: value`; as JSON, a row is one object with its file and kind in front.
So both forms have the same names, and a field is written once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple


class Kind(Enum):
    """What a row is about."""

    FILE = "file"  # a file begins
    START = "start"  # the offset in a log's name
    BATCH = "batch"
    RECORD = "record"
    ENTRY = "entry"  # of an index, a snapshot, a checkpoint
    NOTE = "note"  # all is well
    PROBLEM = "problem"


class Optional(NamedTuple):
    """A number that may be missing; Kafka prints it as Java does."""

    value: int | None

    def __str__(self) -> str:
        return "OptionalLong.empty" if self.value is None else f"OptionalLong[{self.value}]"


class Row(NamedTuple):
    """One line of a dump."""

    kind: Kind
    fields: Mapping[str, Any]
    text: str = ""  # of notes and problems, which have no fields


def note(text: str) -> Row:
    """A line that is no entry."""
    return Row(Kind.NOTE, {}, text)


def problem(text: str) -> Row:
    """A line that says what is wrong."""
    return Row(Kind.PROBLEM, {}, text)


def as_text(path: str, row: Row) -> str:
    """The row as Kafka prints it."""
    match row.kind:
        case Kind.FILE:
            return f"Dumping {path}"
        case Kind.START:
            return f"Log starting offset: {row.fields['startOffset']}"
        case Kind.NOTE | Kind.PROBLEM:
            return row.text
        case Kind.RECORD:
            return "| " + _fields(row.fields) if row.fields else ""
        case Kind.BATCH | Kind.ENTRY:
            return _fields(row.fields)


def as_json(path: str, row: Row) -> str:
    """The row as one JSON object."""
    document: dict[str, Any] = {"file": path, "type": row.kind.value}
    if row.text:
        document["message"] = row.text
    for name, value in row.fields.items():
        _add(document, name, value)
    return json.dumps(document, ensure_ascii=False)


def _fields(fields: Mapping[str, Any]) -> str:
    return " ".join(
        f"{name}: {_word(value)}" for name, value in fields.items() if value is not None
    )


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Sequence) and not isinstance(value, str | Optional):
        return f"[{','.join(value)}]"
    return str(value)


def _add(document: dict[str, Any], name: str, value: Any) -> None:
    """Bytes that are no text go under another name, as base64."""
    if isinstance(value, Optional):
        document[name] = value.value
    elif isinstance(value, bytes):
        try:
            document[name] = value.decode()
        except UnicodeDecodeError:
            document[f"{name}Base64"] = base64.b64encode(value).decode()
    else:
        document[name] = value
