"""Every declared message survives the wire in every version, and ``kio`` writes the same bytes.

Strategies are derived from the declarations. One drawn message serves all versions of its class:
per version, the fields that are not on that version's wire are put back to their defaults.
"""

from __future__ import annotations

import io
import pkgutil
from collections.abc import Iterator
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.index import UnknownEntity, load_entity_module
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from odradek.protocol import messages
from odradek.protocol.codec import DecodeError, decode, decode_from, encode
from odradek.protocol.fields import Field, Kind, Message, Struct


def message_types() -> list[type[Message]]:
    """Every message that any module under ``protocol.messages`` declares."""
    found: dict[str, type[Message]] = {}
    for module_info in pkgutil.walk_packages(messages.__path__, messages.__name__ + "."):
        module = import_module(module_info.name)
        for name, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, Message) and value.VERSIONS:
                found[f"{module_info.name}.{name}"] = value
    return [found[name] for name in sorted(found)]


ALL = message_types()
EACH_MESSAGE = pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)

INT_BOUNDS = {
    Kind.INT8: (-(2**7), 2**7 - 1),
    Kind.INT16: (-(2**15), 2**15 - 1),
    Kind.INT32: (-(2**31), 2**31 - 1),
    Kind.INT64: (-(2**63), 2**63 - 1),
    Kind.UINT16: (0, 2**16 - 1),
    Kind.UINT32: (0, 2**32 - 1),
}
BYTES = st.one_of(st.binary(max_size=6), st.integers(120, 140).map(bytes))
TEXT = st.one_of(st.text(max_size=6), st.integers(120, 140).map(lambda n: "é" * (n // 2)))


def values_of(kind: Kind, small_ints: bool) -> st.SearchStrategy[Any]:
    """Values of a scalar. Small ints are those that are also error codes, times and durations."""
    if kind in INT_BOUNDS:
        low, high = (0, 80) if small_ints else INT_BOUNDS[kind]
        return st.integers(low, high)
    return {
        Kind.FLOAT64: st.floats(allow_nan=False),
        Kind.BOOLEAN: st.booleans(),
        Kind.UUID: st.binary(min_size=16, max_size=16).map(lambda raw: UUID(bytes=raw)),
        Kind.STRING: TEXT,
        Kind.BYTES: BYTES,
        Kind.RECORDS: BYTES,
    }[kind]


def field_values(field: Field, small_ints: bool) -> st.SearchStrategy[Any]:
    """Values of a declared field, null and the default included."""
    element = field.element
    if field.kind is Kind.ARRAY:
        assert element is not None
        items = (
            values_of(element, small_ints)
            if isinstance(element, Kind)
            else structs(element, small_ints)
        )
        value = st.lists(items, max_size=2)
    elif field.kind is Kind.STRUCT:
        assert isinstance(element, type)
        value = structs(element, small_ints)
    else:
        value = values_of(field.kind, small_ints)
    if field.nullable_since is not None:
        value = st.one_of(st.none(), value)
    if field.tag is not None:
        value = st.one_of(st.builds(field.default_value), value)
    return value


def structs(cls: type[Struct], small_ints: bool = False) -> st.SearchStrategy[Any]:
    """Instances of ``cls`` with all fields of all versions drawn."""
    return st.builds(cls, **{f.name: field_values(f, small_ints) for f in cls.FIELDS})


def as_of(value: Any, version: int) -> Any:
    """A copy that a version can carry: other fields at their default, no null it does not allow."""
    if isinstance(value, list):
        return [as_of(item, version) for item in value]
    if not isinstance(value, Struct):
        return value
    return type(value)(
        **{f.name: _carried(f, getattr(value, f.name), version) for f in value.FIELDS}
    )


def _carried(field: Field, value: Any, version: int) -> Any:
    if not field.on_wire(version):
        return field.default_value()
    if value is None and not field.nullable(version):
        return {Kind.STRING: "", Kind.ARRAY: [], Kind.STRUCT: None}.get(field.kind, b"")
    return as_of(value, version)


def quick(examples: int) -> Any:
    """Few examples each: there are two hundred messages."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=checks
    )


@EACH_MESSAGE
def test_what_is_written_is_read_back(cls: type[Message]) -> None:
    @quick(25)
    @given(structs(cls))
    def check(message: Message) -> None:
        for version in cls.VERSIONS:
            sent = as_of(message, version)
            data = encode(sent, version)
            assert decode(cls, data, version) == sent
            assert decode_from(cls, b"before" + data + b"after", 6, version) == (
                sent,
                6 + len(data),
            )

    check()


@EACH_MESSAGE
def test_damaged_bytes_are_a_decode_error_or_another_message(cls: type[Message]) -> None:
    @quick(12)
    @given(structs(cls), st.integers(0), st.integers(0), st.binary(min_size=1, max_size=5))
    def check(message: Message, pick: int, place: int, damage: bytes) -> None:
        version = cls.VERSIONS[pick % len(cls.VERSIONS)]
        data = encode(as_of(message, version), version)
        at = place % (len(data) + 1)
        for broken in (
            data[:at] + damage + data[at + len(damage) :],
            data[:at] + damage + data[at:],
        ):
            try:
                decode(cls, broken, version)
            except DecodeError:
                continue
        for end in range(min(len(data), 64)):
            with pytest.raises(DecodeError):
                decode(cls, data[:end], version)

    check()


def kio_types(cls: type[Message]) -> Iterator[tuple[int, type[Any]]]:
    """The classes of ``kio`` for the same message, by version."""
    name = cls.__name__
    kind = EntityType.data
    for suffix, entity_type in (("Request", EntityType.request), ("Response", EntityType.response)):
        if name.endswith(suffix):
            name, kind = name.removesuffix(suffix), entity_type
    module_name = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
    for version in cls.VERSIONS:
        try:
            yield version, getattr(load_entity_module(module_name, version, kind), cls.__name__)
        except UnknownEntity:
            continue


def assert_same_values(ours: Any, theirs: Any) -> None:
    """Compare what both libraries name and type alike (``kio`` has enums, times and durations)."""
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same_values(one, other)
    elif is_dataclass(theirs):
        for field in dataclass_fields(theirs):
            if hasattr(ours, field.name):
                assert_same_values(getattr(ours, field.name), getattr(theirs, field.name))
    elif isinstance(theirs, str | bytes | bool | float):
        assert ours == theirs
    elif isinstance(theirs, int):
        assert int(ours) == int(theirs)


KNOWN_TO_KIO = [cls for cls in ALL if "internal" not in cls.__module__ and any(kio_types(cls))]


def test_kio_knows_nearly_all_messages() -> None:
    """So the comparison below is not empty: only messages newer than ``kio`` may be missing."""
    wire = [cls for cls in ALL if "internal" not in cls.__module__]
    assert len(KNOWN_TO_KIO) >= 0.95 * len(wire)


@pytest.mark.parametrize("cls", KNOWN_TO_KIO, ids=lambda cls: cls.__name__)
def test_kio_reads_ours_and_writes_the_same_bytes(cls: type[Message]) -> None:
    codecs = [(v, entity_reader(t), entity_writer(t)) for v, t in kio_types(cls)]

    @quick(12)
    @given(structs(cls, small_ints=True))
    def check(message: Message) -> None:
        for version, read, write in codecs:
            sent = as_of(message, version)
            data = encode(sent, version)
            theirs, end = read(data, 0)
            assert end == len(data)
            assert_same_values(sent, theirs)
            buffer = io.BytesIO()
            write(buffer, theirs)
            assert buffer.getvalue() == data

    check()
