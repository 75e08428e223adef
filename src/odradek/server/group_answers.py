"""Answers that a group's shard gives through a callback: at once, or when a rebalance lets it.

JoinGroup and SyncGroup wait for other members. The shard keeps a callback and calls it exactly once, by an
event or by one of its own timers, so no deadline is needed here. A client that hangs up in the meantime
loses its answer and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.shard import Outcome
from odradek.errors import ApiError, Err
from odradek.server.context import Context

R = TypeVar("R")


class Answer(Generic[R]):
    """A place for one answer, and for somebody who waits for it."""

    __slots__ = ("_future", "value")

    def __init__(self) -> None:
        self.value: R | None = None
        self._future: asyncio.Future[None] | None = None

    def give(self, value: R) -> None:
        """The callback."""
        assert self.value is None, "answered twice"
        self.value = value
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self) -> R:
        """The answer, when it comes."""
        if self.value is None:
            self._future = asyncio.get_running_loop().create_future()
            await self._future
        assert self.value is not None
        return self.value


def ask_group(
    context: Context,
    group_id: str,
    handler: Callable[[GroupShard, Callable[[R], None]], Outcome[None]],
    failed: Callable[[Err], R],
) -> R | Coroutine[Any, Any, R]:
    """Run a handler that answers through the callback it is given; `failed` words a shard's refusal."""
    answer: Answer[R] = Answer()
    try:
        writing = context.services.groups.write(group_id, lambda shard: handler(shard, answer.give))
    except ApiError as error:
        return failed(error.err) if answer.value is None else answer.value
    if writing is None and answer.value is not None:
        return answer.value
    return _wait(writing, answer, failed)


async def _wait(
    writing: Coroutine[Any, Any, None] | None, answer: Answer[R], failed: Callable[[Err], R]
) -> R:
    if writing is not None:
        try:
            await writing
        except ApiError as error:
            return failed(error.err) if answer.value is None else answer.value
    return await answer.wait()


def client_host(context: Context) -> str:
    """Where a member comes from, as Java writes addresses and every tool expects them: `/10.0.0.1`."""
    return "/" + context.client_address.rpartition(":")[0].strip("[]")
