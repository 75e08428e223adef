"""Response frames, and replies to requests that failed as a whole."""

from __future__ import annotations

import struct
from typing import Any

from odradek.errors import Err
from odradek.protocol.fields import Field, Kind, Message, Struct
from odradek.protocol.headers import response_header

_SIZE = struct.Struct(">i")


def frame_reply(api_key: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """A whole response frame: size, header, body."""
    header = response_header(api_key, version, correlation_id)
    return b"".join((_SIZE.pack(len(header) + len(body)), header, body))


def error_response(
    response_class: type[Message], request: Struct, version: int, err: Err, text: str
) -> Message:
    """The response in which everything that was asked for failed with `err`.

    Derived from the declarations. The error goes to the top of the response where this version has a
    place for it there; otherwise into every entry of a response that mirrors the lists of the request.
    """
    response: Message = response_class()
    _fill(response, request, version, err, text)
    return response


def _fill(response: Struct, request: Struct, version: int, err: Err, text: str) -> None:
    """Let `response` say what the request said, and the error."""
    fields = {f.name: f for f in type(response).FIELDS if f.on_wire(version)}
    for field in type(request).FIELDS:
        same = fields.get(field.name)
        if same is not None and same.kind is field.kind and field.kind is not Kind.ARRAY:
            setattr(response, field.name, getattr(request, field.name))
    if _error_code(type(response), version) is not None:
        _tell(response, version, err, text)
        return
    asked = [f for f in type(request).FIELDS if f.kind is Kind.ARRAY and f.on_wire(version)]
    told = [f for f in fields.values() if _holds_structs(f) and _tells_error(_element(f), version)]
    for question, answer in zip(asked, told, strict=False):
        entries = []
        for entry in getattr(request, question.name) or ():
            mirrored = _element(answer)()
            if isinstance(entry, Struct):
                _fill(mirrored, entry, version, err, text)
            else:
                _set(mirrored, _first_of_kind(mirrored, question.element, version), entry)
                _tell(mirrored, version, err, text)
            entries.append(mirrored)
        setattr(response, answer.name, entries)


def _tell(response: Struct, version: int, err: Err, text: str) -> None:
    name = _error_code(type(response), version)
    assert name is not None
    _set(response, name, err)
    if any(f.name == "error_message" and f.on_wire(version) for f in type(response).FIELDS):
        _set(response, "error_message", text)


def _error_code(struct_class: type[Struct], version: int) -> str | None:
    """The field that holds the error: `error_code`, in AddPartitionsToTxn `partition_error_code`."""
    names = (f.name for f in struct_class.FIELDS if f.on_wire(version))
    return next((name for name in names if name.endswith("error_code")), None)


def _first_of_kind(response: Struct, kind: object, version: int) -> str:
    """Where an answer repeats a bare name or number of the question: its first field of that kind."""
    return next(f.name for f in type(response).FIELDS if f.kind is kind and f.on_wire(version))


def _set(struct_: Struct, name: str, value: Any) -> None:
    setattr(struct_, name, value)


def _holds_structs(field: Field) -> bool:
    return field.kind is Kind.ARRAY and isinstance(field.element, type)


def _element(field: Field) -> type[Struct]:
    assert isinstance(field.element, type)
    return field.element


def _tells_error(struct_class: type[Struct], version: int) -> bool:
    return _error_code(struct_class, version) is not None or any(
        _holds_structs(f) and _tells_error(_element(f), version)
        for f in struct_class.FIELDS
        if f.on_wire(version)
    )
