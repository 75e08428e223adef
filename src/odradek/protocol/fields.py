"""The vocabulary in which messages are declared.

    @message(key=12, versions=range(5), flexible_from=4)
    class HeartbeatRequest(Message):
        group_id: str = string()
        generation_id: int = int32()
        member_id: str = string()
        group_instance_id: str | None = nullable_string(since=3, default=None)

One class covers all versions. Each field says from which version (``since``) to which (``until``,
inclusive) it is on the wire, from which version it may be null (``nullable_since``), its default,
its tag in flexible versions, and whether a version without it may drop a value in silence
(``ignorable``). Instances are plain slotted objects, built with keywords; every field may be left
out and then holds its default. ``odradek.protocol.compile`` derives encoders and decoders.

A metaclass turns the declarations into ``__slots__`` at class creation and does nothing else then,
because some five hundred classes exist and a command line tool must start in a blink. Constructors
are compiled when a class is first instantiated.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar, cast, dataclass_transform

from odradek.protocol.primitives import Buffer
from odradek.types import ZERO_UUID

T = TypeVar("T")
# Writes a struct by handing its parts, in order, to the second argument.
Encoder = Callable[[Any, Callable[[Buffer], None]], None]
# Reads a struct at a position; gives it and the position after it.
Decoder = Callable[[memoryview, int], tuple[Any, int]]


class Kind(Enum):
    """Wire types. The value is the ``struct`` code of those that have a fixed size."""

    INT8 = "b"
    INT16 = "h"
    INT32 = "i"
    INT64 = "q"
    UINT16 = "H"
    UINT32 = "I"
    FLOAT64 = "d"
    BOOLEAN = "?"
    UUID = "16s"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"
    ARRAY = "array"
    STRUCT = "struct"


# Bytes on the wire of the kinds of fixed size.
FIXED_BYTES: Final = {
    Kind.INT8: 1,
    Kind.INT16: 2,
    Kind.INT32: 4,
    Kind.INT64: 8,
    Kind.UINT16: 2,
    Kind.UINT32: 4,
    Kind.FLOAT64: 8,
    Kind.BOOLEAN: 1,
    Kind.UUID: 16,
}


class _Fresh:
    """Marks a default that must be built anew each time: an empty list, a struct of defaults."""

    def __repr__(self) -> str:
        return "FRESH"


FRESH: Final = _Fresh()


class Field(NamedTuple):
    """One declared field. ``element`` is the struct's class, or what an array holds."""

    kind: Kind
    element: type[Struct] | Kind | None
    since: int
    until: int | None
    nullable_since: int | None
    default: Any
    tag: int | None
    ignorable: bool
    name: str = ""

    def on_wire(self, version: int) -> bool:
        """Whether this version carries the field."""
        return self.since <= version and (self.until is None or version <= self.until)

    def nullable(self, version: int) -> bool:
        """Whether the field may be null in this version."""
        return self.nullable_since is not None and version >= self.nullable_since

    def default_value(self) -> Any:
        """What the field holds when nothing was given."""
        if self.default is not FRESH:
            return self.default
        return [] if self.kind is Kind.ARRAY else cast("type[Struct]", self.element)()


class Scalar(Generic[T]):
    """Declares fields of one wire type; also names the element type in ``array_of(int32)``."""

    def __init__(self, kind: Kind, zero: T, nullable: bool = False) -> None:
        self.kind = kind
        self.zero = zero
        self.nullable_since = 0 if nullable else None

    def __call__(
        self,
        *,
        since: int = 0,
        until: int | None = None,
        default: T | _Fresh = FRESH,
        nullable_since: int | None = None,
        tag: int | None = None,
        ignorable: bool = False,
    ) -> T:
        """Declare a field; statically its value, at class creation its ``Field``."""
        if nullable_since is None:
            nullable_since = self.nullable_since
        value = self.zero if default is FRESH else default
        field = Field(self.kind, None, since, until, nullable_since, value, tag, ignorable)
        return cast("T", field)


int8 = Scalar(Kind.INT8, 0)
int16 = Scalar(Kind.INT16, 0)
int32 = Scalar(Kind.INT32, 0)
int64 = Scalar(Kind.INT64, 0)
uint16 = Scalar(Kind.UINT16, 0)
uint32 = Scalar(Kind.UINT32, 0)
float64 = Scalar(Kind.FLOAT64, 0.0)
boolean = Scalar(Kind.BOOLEAN, False)
uuid = Scalar(Kind.UUID, ZERO_UUID)
string = Scalar(Kind.STRING, "")
bytes_ = Scalar(Kind.BYTES, b"")
# Record batches: decoding gives a slice of the input, never a copy.
records_: Scalar[Buffer] = Scalar(Kind.RECORDS, b"")
nullable_string: Scalar[str | None] = Scalar(Kind.STRING, "", nullable=True)
nullable_bytes: Scalar[bytes | None] = Scalar(Kind.BYTES, b"", nullable=True)
nullable_records: Scalar[Buffer | None] = Scalar(Kind.RECORDS, None, nullable=True)


def array_of(
    element: Callable[..., T],
    *,
    since: int = 0,
    until: int | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> list[T]:
    """Declare a list of structs (``array_of(Topic)``) or of scalars (``array_of(int32)``)."""
    held = _held(element)
    field = Field(Kind.ARRAY, held, since, until, None, FRESH, tag, ignorable)
    return cast("list[T]", field)


def nullable_array_of(
    element: Callable[..., T],
    *,
    since: int = 0,
    until: int | None = None,
    default: _Fresh | None = FRESH,
    nullable_since: int = 0,
    tag: int | None = None,
    ignorable: bool = False,
) -> list[T] | None:
    """Declare a list that may be null; without ``default=None`` it starts empty."""
    held = _held(element)
    field = Field(Kind.ARRAY, held, since, until, nullable_since, default, tag, ignorable)
    return cast("list[T] | None", field)


def nested(
    element: Callable[..., T],
    *,
    since: int = 0,
    until: int | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> T:
    """Declare one struct inside another."""
    held = _held(element)
    field = Field(Kind.STRUCT, held, since, until, None, FRESH, tag, ignorable)
    return cast("T", field)


def nullable_nested(
    element: Callable[..., T],
    *,
    since: int = 0,
    until: int | None = None,
    default: _Fresh | None = FRESH,
    nullable_since: int = 0,
    tag: int | None = None,
    ignorable: bool = False,
) -> T | None:
    """Declare one struct inside another, which may be null."""
    held = _held(element)
    field = Field(Kind.STRUCT, held, since, until, nullable_since, default, tag, ignorable)
    return cast("T | None", field)


def _held(element: Any) -> type[Struct] | Kind:
    return element.kind if isinstance(element, Scalar) else cast("type[Struct]", element)


@dataclass_transform(kw_only_default=True)
class StructType(type):
    """Collects a class body's fields, in order, and gives each a slot."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> StructType:
        """Create the class; inherited fields do not exist, every declaration is flat."""
        fields = tuple([f._replace(name=key) for key, f in body.items() if type(f) is Field])
        for field in fields:
            del body[field.name]
        names = tuple([field.name for field in fields])
        body["__slots__"] = names
        body["FIELDS"] = fields
        body["ENCODERS"] = {}
        body["DECODERS"] = {}
        body["VALUES"] = attrgetter(*names) if names else bool
        return super().__new__(mcs, name, bases, body)


class Struct(metaclass=StructType):
    """A group of fields that appears inside messages."""

    FIELDS: ClassVar[tuple[Field, ...]]
    # Compiled functions by (version, flexible); filled by odradek.protocol.compile.
    ENCODERS: ClassVar[dict[tuple[int, bool], Encoder]]
    DECODERS: ClassVar[dict[tuple[int, bool], Decoder]]
    # All fields at once, to compare by.
    VALUES: ClassVar[Callable[[Struct], object]]

    def __init__(self, **values: Any) -> None:
        # Runs once per class: from then on the compiled constructor is found first.
        from odradek.protocol.compile import compile_constructor

        compile_constructor(type(self))(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        values = type(self).VALUES
        return bool(values(self) == values(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in self.FIELDS)
        return f"{type(self).__name__}({shown})"


class Message(Struct):
    """A struct with versions of its own: a request, a response, or a record of an internal topic.

    ``API_KEY`` of a record's key or value is the record type; it is None for plain data.
    """

    API_KEY: ClassVar[int | None] = None
    VERSIONS: ClassVar[range] = range(0)
    FLEXIBLE_FROM: ClassVar[int | None] = None

    @classmethod
    def is_flexible(cls, version: int) -> bool:
        """Whether this version has compact lengths and tagged fields."""
        return cls.FLEXIBLE_FROM is not None and version >= cls.FLEXIBLE_FROM


M = TypeVar("M", bound=Message)


def message(
    *, versions: range, flexible_from: int | None = None, key: int | None = None
) -> Callable[[type[M]], type[M]]:
    """State the facts of a message: its API key, valid versions, first flexible version."""

    def declare(cls: type[M]) -> type[M]:
        cls.API_KEY = key
        cls.VERSIONS = versions
        cls.FLEXIBLE_FROM = flexible_from
        return cls

    return declare
