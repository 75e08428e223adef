"""Levels of the program's loggers, as Kafka's BROKER_LOGGER resource shows and changes them (KIP-412).

A level lives in memory only and is gone after a restart; it belongs to the process, so brokers that
share a process share their levels. Kafka's level names are used outside, Python's numbers inside.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from odradek.config.alter import AlterOp, OpType
from odradek.errors import ApiError, Err

ROOT: Final = "root"
LEVELS: Final[Mapping[str, int]] = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
}


def describe_loggers() -> Iterator[tuple[str, str]]:
    """Every logger with the level that takes effect for it, sorted by name."""
    yield ROOT, _level_name(logging.getLogger())
    for name in sorted(_names()):
        yield name, _level_name(logging.getLogger(name))


def alter_loggers(ops: Sequence[AlterOp], *, validate_only: bool = False) -> None:
    """Set levels, or (delete) go back to the level of the logger above; all changes or none."""
    for op in ops:
        _check(op)
    for op in () if validate_only else ops:
        logger = logging.getLogger(None if op.name == ROOT else op.name)
        logger.setLevel(logging.NOTSET if op.op is OpType.DELETE else LEVELS[op.value or ""])


def _check(op: AlterOp) -> None:
    if op.op in (OpType.APPEND, OpType.SUBTRACT):
        raise ApiError(Err.INVALID_REQUEST, f"A level is no list; {op.op.name} cannot change it.")
    if op.name != ROOT and op.name not in _names():
        raise ApiError(Err.INVALID_CONFIG, f"There is no logger {op.name}.")
    if op.op is OpType.DELETE and op.name == ROOT:
        raise ApiError(Err.INVALID_REQUEST, "The root logger needs a level; set it instead.")
    if op.op is OpType.SET and op.value not in LEVELS:
        raise ApiError(
            Err.INVALID_CONFIG,
            f"{op.name} cannot have the level {op.value}; the levels are {', '.join(LEVELS)}.",
        )


def _names() -> set[str]:
    return set(logging.root.manager.loggerDict)


def _level_name(logger: logging.Logger) -> str:
    """The most talkative of Kafka's levels that shows no more than the logger does."""
    level = logger.getEffectiveLevel()
    shown = [name for name, number in LEVELS.items() if level <= number]
    return shown[-1] if shown else "FATAL"
