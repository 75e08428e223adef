"""What every family of calls stands on: one request out, one typed reply back.

`TopicCalls`, `ConfigCalls`, `OffsetCalls`, `NodeCalls`, `GroupCalls` and `TransactionCalls` each hold
the calls about one noun; `aio.Client` is all of them. Answers about several things are dicts in
which an `ApiError` stands where that one thing failed: one bad name does not hide what came of the
others. `require` turns one such answer into a value or raises it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from odradek.client.router import Router
from odradek.client.targets import ANY_BROKER, CoordinatorKind, Target
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
            leaders: dict[TopicPartition, int | ApiError] = {}
            for partition in pending:
                try:
                    leaders[partition] = await self._router.leader_of(*partition)
                except ApiError as error:
                    leaders[partition] = error
            return await _ask_each(leaders, ask)

        return await self._router.call_each(what, partitions, attempt)

    async def _by_coordinator(
        self,
        what: str,
        kind: CoordinatorKind,
        keys: Iterable[str],
        ask: Callable[[int, list[str]], Awaitable[Mapping[str, V | ApiError]]],
    ) -> dict[str, V | ApiError]:
        """Ask each coordinator about its own groups or transactional ids, all at once."""

        async def attempt(pending: list[str]) -> dict[str, V | ApiError]:
            return await _ask_each(await self._router.coordinators_of(kind, pending), ask)

        return await self._router.call_each(what, keys, attempt)

    async def _from_every_broker(
        self, ask: Callable[[int], Awaitable[V]]
    ) -> dict[int, V | ApiError]:
        """Ask all live brokers the same, at once."""
        nodes = sorted((await self._router.metadata([])).brokers)

        async def one(node_id: int) -> V | ApiError:
            try:
                return await ask(node_id)
            except ApiError as error:
                return error

        return dict(zip(nodes, await asyncio.gather(*map(one, nodes)), strict=True))


async def _ask_each(
    nodes: Mapping[K, int | ApiError],
    ask: Callable[[int, list[K]], Awaitable[Mapping[K, V | ApiError]]],
) -> dict[K, V | ApiError]:
    """Ask each node about its keys, all nodes at once; a key without a node keeps its error."""
    answers: dict[K, V | ApiError] = {}
    of_node: dict[int, list[K]] = {}
    for key, node in nodes.items():
        if isinstance(node, ApiError):
            answers[key] = node
        else:
            of_node.setdefault(node, []).append(key)
    for partial in await asyncio.gather(
        *(settle(theirs, ask(node, theirs)) for node, theirs in of_node.items())
    ):
        answers.update(partial)
    return answers


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
