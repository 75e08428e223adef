"""IncrementalAlterConfigs on text: set, delete, append to a list, take out of a list (KIP-339)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from odradek.config.declare import ConfigError, Key, unknown_key
from odradek.config.kinds import Type
from odradek.errors import ApiError, Err


class OpType(IntEnum):
    """What to do with a key, by its number on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterOp(NamedTuple):
    """One change; `value` counts for nothing when deleting."""

    name: str
    op: OpType
    value: str | None = None


def apply_ops(
    current: Mapping[str, str],
    ops: Iterable[AlterOp],
    declarations: Mapping[str, Key],
    inherited: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The overrides after the changes; the given ones stay as they are.

    Appending to a list that has no override starts from what it inherits (`inherited`, by key, else
    the key's default). The result is not validated: `resolve` knows whether its values may be.
    """
    changed = dict(current)
    seen = set()
    for name, op, value in ops:
        if name in seen:
            raise ApiError(Err.INVALID_REQUEST, f"{name} occurs twice: change each key once")
        seen.add(name)
        if op is OpType.DELETE:
            changed.pop(name, None)
        elif value is None:
            raise ApiError(Err.INVALID_REQUEST, f"{name} has no value: give one, or delete the key")
        elif op is OpType.SET:
            changed[name] = value
        else:
            base = changed.get(name)
            if base is None:
                base = (inherited or {}).get(name)
            changed[name] = _edit_list(_list_key(name, declarations), op, base, value)
    return changed


def _list_key(name: str, declarations: Mapping[str, Key]) -> Key:
    declared = declarations.get(name)
    if declared is None:
        raise ConfigError(unknown_key(name, declarations))
    if declared.type is not Type.LIST:
        raise ConfigError(f"{name} is not a list: set it, nothing can be added or taken out")
    return declared


def _edit_list(declared: Key, op: OpType, base: str | None, value: str) -> str:
    if base is None:
        base = declared.format(declared.default) or ""
    items = _split(base)
    named = _split(value)
    if op is OpType.APPEND:
        items += [item for item in dict.fromkeys(named) if item not in items]
    else:
        items = [item for item in items if item not in named]
    return ",".join(items)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []
