"""The types a configuration value can have, how each is read from text and written back.

A declaration names its type in its annotation (`segment_ms: Long = key(…)`); the aliases below
exist because the wire tells INT from LONG while Python does not. Everything here is pure and shared
by all threads. Text is read as Kafka reads it: surrounding blanks do not count, lists are split at
commas.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias


class Type(IntEnum):
    """The type numbers of DescribeConfigs (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Password(str):
    """A secret: its value is there for whoever asks, never in a log line or a describe."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'[hidden]'"


Int: TypeAlias = int
Short: TypeAlias = int
Long: TypeAlias = int
Double: TypeAlias = float
List: TypeAlias = tuple[str, ...]
Names: TypeAlias = frozenset[str]
ClassName: TypeAlias = str

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1
DOUBLE_MAX: Final = 1.7976931348623157e308


def _read_bool(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("expected true or false")
    return lowered == "true"


def _whole_number_reader(bits: int) -> Callable[[str], int]:
    limit = 1 << (bits - 1)

    def read(text: str) -> int:
        digits = text.strip()
        # int() alone would also take "1_000" and digits of other scripts, which Kafka refuses.
        if not (digits.isascii() and digits.removeprefix("-").removeprefix("+").isdigit()):
            raise ValueError("expected a whole number")
        value = int(digits)
        if not -limit <= value < limit:
            raise ValueError(f"expected a whole number between {-limit} and {limit - 1}")
        return value

    return read


def _read_double(text: str) -> float:
    try:
        if "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        raise ValueError("expected a number") from None


def read_list(text: str) -> tuple[str, ...]:
    """The parts of a list in their order."""
    trimmed = text.strip()
    return tuple(part.strip() for part in trimmed.split(",")) if trimmed else ()


def _read_names(text: str) -> frozenset[str]:
    return frozenset(read_list(text))


def _write_double(value: float) -> str:
    """The shortest text that reads back, with Java's exponent ("1.0E10")."""
    text = repr(float(value))
    if "e" not in text:
        return text
    digits, exponent = text.split("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _write_bool(value: bool) -> str:
    return "true" if value else "false"


def _write_names(value: frozenset[str]) -> str:
    return ",".join(sorted(value))


class Kind(NamedTuple):
    """One type: its wire number, its reader (ValueError says what was expected), its writer."""

    type: Type
    read: Callable[[str], Any]
    write: Callable[[Any], str]


#: Kinds by the annotation that stands for them.
KINDS: Final[dict[str, Kind]] = {
    "bool": Kind(Type.BOOLEAN, _read_bool, _write_bool),
    "str": Kind(Type.STRING, str.strip, str),
    "Int": Kind(Type.INT, _whole_number_reader(32), str),
    "Short": Kind(Type.SHORT, _whole_number_reader(16), str),
    "Long": Kind(Type.LONG, _whole_number_reader(64), str),
    "Double": Kind(Type.DOUBLE, _read_double, _write_double),
    "List": Kind(Type.LIST, read_list, ",".join),
    "Names": Kind(Type.LIST, _read_names, _write_names),
    "ClassName": Kind(Type.CLASS, str.strip, str),
    "Password": Kind(Type.PASSWORD, Password, str),
}
