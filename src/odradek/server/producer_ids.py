"""Producer ids for idempotent producers, taken from the controller in blocks.

A block is claimed in the coordination store before its first id is given out, so that no id is ever given
twice, crash or not. What is left of a block is lost with a restart, which costs nothing: there are 2**63.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

AllocateBlock = Callable[[], Awaitable[range]]


class ProducerIds:
    """Gives out ids one by one."""

    def __init__(self, allocate_block: AllocateBlock) -> None:
        self._allocate_block = allocate_block
        self._block = range(0)
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        """An id that nobody else has or had."""
        async with self._lock:
            if not self._block:
                self._block = await self._allocate_block()
            producer_id, self._block = self._block[0], self._block[1:]
            return producer_id
