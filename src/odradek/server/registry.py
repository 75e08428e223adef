"""Which APIs are served, at which versions, and by which function.

A handler module declares itself with `@handles`; the table is built once per process when the modules
of `server.handlers` are imported and is never changed afterwards. A handler returns its response, or a
coroutine of it when it must wait. Produce and Fetch, the hot ones, work on raw bytes and are declared
with `@handles_raw`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from odradek.protocol.api_keys import ApiKey

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__handles__"


@dataclass(frozen=True, slots=True)
class Handler:
    """One row of the table."""

    api_key: ApiKey
    versions: range
    call: Callable[..., Any]
    raw: bool
    advertised_from: int

    @property
    def name(self) -> str:
        """The API's name as metrics and logs show it: `ListOffsets`."""
        return api_name(self.api_key)


def api_name(api_key: ApiKey) -> str:
    """`LIST_OFFSETS` as Kafka spells it: `ListOffsets`."""
    return "".join(part.capitalize() for part in api_key.name.split("_"))


def handles(api_key: ApiKey, *, versions: range) -> Callable[[F], F]:
    """Declare the handler of an API: `(Context, XRequest) -> XResponse`, sync or async."""
    return _mark(api_key, versions, raw=False, advertised_from=versions.start)


def handles_raw(
    api_key: ApiKey, *, versions: range, advertised_from: int | None = None
) -> Callable[[F], F]:
    """Declare a hot handler: `(Session, Context, frame)`, which queues its own reply or parks."""
    start = versions.start if advertised_from is None else advertised_from
    return _mark(api_key, versions, raw=True, advertised_from=start)


def _mark(api_key: ApiKey, versions: range, *, raw: bool, advertised_from: int) -> Callable[[F], F]:
    def declare(function: F) -> F:
        row = Handler(api_key, versions, function, raw, advertised_from)
        setattr(function, _MARK, row)
        return function

    return declare


@cache
def load_handlers() -> dict[int, Handler]:
    """Import every handler module and collect the table, by API key."""
    package = importlib.import_module("odradek.server.handlers")
    table: dict[int, Handler] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for value in vars(module).values():
            row = getattr(value, _MARK, None)
            if isinstance(row, Handler):
                assert row.api_key not in table or table[row.api_key] is row
                table[row.api_key] = row
    return dict(sorted(table.items()))
