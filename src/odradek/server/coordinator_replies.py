"""From what a coordinator says, or will say once it is replicated, to a response."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any, TypeVar

from odradek.errors import ApiError, Err

T = TypeVar("T")
R = TypeVar("R")


def respond(
    ask: Callable[[], T | Coroutine[Any, Any, T]],
    make: Callable[[T], R],
    refuse: Callable[[Err], R],
) -> R | Coroutine[Any, Any, R]:
    """`make` the response from the answer, or `refuse` with the coordinator's error."""
    try:
        answer = ask()
    except ApiError as error:
        return refuse(error.err)
    if isinstance(answer, CoroutineType):
        return _wait(answer, make, refuse)
    return make(answer)  # type: ignore[arg-type]


async def _wait(
    coming: Coroutine[Any, Any, T], make: Callable[[T], R], refuse: Callable[[Err], R]
) -> R:
    try:
        answer = await coming
    except ApiError as error:
        return refuse(error.err)
    return make(answer)
