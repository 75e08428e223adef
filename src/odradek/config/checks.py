"""What a configuration value may be, as small values: a test, and the same in words.

The words go into error messages ("expected at least 14") and into the configuration page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Check(NamedTuple):
    """`allows(value)` decides; `text` completes "expected …"."""

    text: str
    allows: Callable[[Any], bool]


def at_least(low: float) -> Check:
    """`low` or more."""
    return Check(f"at least {low}", lambda value: value >= low)


def between(low: float, high: float) -> Check:
    """From `low` to `high`, both included."""
    return Check(f"between {low} and {high}", lambda value: low <= value <= high)


def at_least_or(low: float, special: int) -> Check:
    """`low` or more, or one value with a meaning of its own (-1: no limit)."""
    return Check(f"at least {low}, or {special}", lambda value: value >= low or value == special)


def between_or(low: float, high: float, special: int) -> Check:
    """From `low` to `high`, or one value with a meaning of its own."""
    return Check(
        f"between {low} and {high}, or {special}",
        lambda value: low <= value <= high or value == special,
    )


def one_of(*allowed: str) -> Check:
    """One of a few words."""
    return Check("one of " + ", ".join(allowed), frozenset(allowed).__contains__)


def one_of_any_case(*allowed: str) -> Check:
    """One of a few words, in capitals or not."""
    known = frozenset(word.lower() for word in allowed)
    return Check("one of " + ", ".join(allowed), lambda value: value.lower() in known)


def each_of(*allowed: str) -> Check:
    """A list (or set) of some of these words, possibly empty."""
    known = frozenset(allowed)
    return Check("a list of " + ", ".join(allowed), lambda value: known.issuperset(value))


def never(refused: object, why: str) -> Check:
    """Anything but `refused`: for what Kafka offers and this broker does not have."""
    return Check(f"not {str(refused).lower()}: {why}", lambda value: value != refused)


NOT_EMPTY = Check("something, not an empty text", bool)


def _is_throttled_replicas(value: tuple[str, ...]) -> bool:
    if value in ((), ("*",)):
        return True
    pairs = [part.split(":") for part in value]
    return all(len(pair) == 2 and all(number.isdigit() for number in pair) for pair in pairs)


THROTTLED_REPLICAS = Check("* or a list partition:broker,partition:broker", _is_throttled_replicas)


def _is_offset_reset(value: str) -> bool:
    if value in ("earliest", "latest"):
        return True
    span = value.removeprefix("by_duration:")
    # An ISO-8601 span such as P1DT2H; its exact parts are read where it is used.
    return span != value and span.startswith("P") and len(span) > 2 and span[-1] in "DHMS"


OFFSET_RESET = Check("earliest, latest, or by_duration:PnDTnHnMn.nS", _is_offset_reset)
