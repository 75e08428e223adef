"""What every family of calls stands on: one request out, one typed reply back.

`TopicCalls`, `ConfigCalls`, `OffsetCalls` and `NodeCalls` each hold the calls about one noun;
`aio.Client` is all of them. Answers about several things are dicts in which an `ApiError` stands
where that one thing failed: one bad name does not hide what came of the others. `require` turns
one such answer into a value or raises it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from odradek.client.router import Router
from odradek.client.targets import ANY_BROKER, Target
from odradek.errors import ApiError
from odradek.protocol import registry
from odradek.protocol.fields import Message
from odradek.types import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class Calls:
    """Access to the cluster for the families of calls."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def request(
        self, message: Message, *, to: Target = ANY_BROKER, repeatable: bool = True
    ) -> Any:
        """Send any request of the protocol to the broker it is for, and give back its reply."""
        assert message.API_KEY is not None
        reply_type = registry.response_type(message.API_KEY)
        return await self._router.call(message, reply_type, to=to, repeatable=repeatable)

    async def _by_leader(
        self,
        what: str,
        partitions: Iterable[TopicPartition],
        ask: Callable[
            [int, list[TopicPartition]], Awaitable[Mapping[TopicPartition, V | ApiError]]
        ],
    ) -> dict[TopicPartition, V | ApiError]:
        """Ask each leader about its own partitions, all leaders at once."""

        async def attempt(pending: list[TopicPartition]) -> dict[TopicPartition, V | ApiError]:
            answers: dict[TopicPartition, V | ApiError] = {}
            of_leader: dict[int, list[TopicPartition]] = {}
            for partition in pending:
                try:
                    leader = await self._router.leader_of(*partition)
                    of_leader.setdefault(leader, []).append(partition)
                except ApiError as error:
                    answers[partition] = error
            for partial in await asyncio.gather(
                *(settle(theirs, ask(leader, theirs)) for leader, theirs in of_leader.items())
            ):
                answers.update(partial)
            return answers

        return await self._router.call_each(what, partitions, attempt)


async def settle(
    keys: Iterable[K], answers: Awaitable[Mapping[K, V | ApiError]]
) -> Mapping[K, V | ApiError]:
    """What one broker answers; when it fails as a whole, that failure for each key."""
    try:
        return await answers
    except ApiError as error:
        return dict.fromkeys(keys, error)


def require(outcome: V | ApiError) -> V:
    """The value of one outcome; an error is raised."""
    if isinstance(outcome, ApiError):
        raise outcome
    return outcome
