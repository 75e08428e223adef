"""Topic names: Kafka's rules, and names that metrics would confuse."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_letters, digits
from typing import Final

from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage

NAME_LENGTH_MAX: Final = 249  # with "-<partition>" and a suffix a folder name stays within 255
NAME_CHARACTERS: Final = frozenset(ascii_letters + digits + "._-")
RESERVED_NAMES: Final = frozenset({"__cluster_metadata"})


def check_name(name: str) -> None:
    """Kafka's rules for topic names; ApiError(INVALID_TOPIC_EXCEPTION) says which one is broken."""
    if not name:
        raise _bad_name("Topic name is empty.")
    if name in (".", ".."):
        raise _bad_name("Topic name cannot be '.' or '..'.")
    if len(name) > NAME_LENGTH_MAX:
        raise _bad_name(
            f"Topic name has {len(name)} characters; at most {NAME_LENGTH_MAX} are allowed."
        )
    if not NAME_CHARACTERS.issuperset(name):
        raise _bad_name(
            f"Topic name {name!r} is illegal: use ASCII letters and digits, '.', '_' and '-' only."
        )


def has_collision_chars(name: str) -> bool:
    """Whether the name has `.` or `_`, which metric names cannot tell apart (tools warn)."""
    return "." in name or "_" in name


def _bad_name(message: str) -> ApiError:
    return ApiError(Err.INVALID_TOPIC_EXCEPTION, message)


def collision_key(name: str) -> str:
    """The name as a metric would show it."""
    return name.replace(".", "_")


def collision_keys(image: MetadataImage) -> dict[str, str]:
    """Every existing topic by its collision key."""
    return {collision_key(name): name for name in image.topics}


def check_collision(name: str, taken: Mapping[str, str]) -> None:
    """ApiError when an existing topic differs in `.` and `_` only."""
    other = taken.get(collision_key(name)) if has_collision_chars(name) else None
    if other is not None:
        raise _bad_name(
            f"Topic '{name}' collides with existing topic '{other}':"
            " metric names cannot tell '.' and '_' apart."
        )
