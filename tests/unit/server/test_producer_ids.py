"""No producer id is given twice, however many ask at once and whatever fails."""

from __future__ import annotations

import asyncio

import pytest

from odradek.errors import ApiError, Err
from odradek.server.producer_ids import ProducerIds


class Blocks:
    """Blocks of ten, each given out once."""

    def __init__(self) -> None:
        self.next_id = 1000
        self.fails = False

    async def allocate(self) -> range:
        await asyncio.sleep(0)
        if self.fails:
            raise ApiError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        block = range(self.next_id, self.next_id + 10)
        self.next_id += 10
        return block


def test_ids_are_unique_among_many_who_ask_at_once() -> None:
    """One block at a time, used up before the next is claimed."""

    async def main() -> list[int]:
        blocks = Blocks()
        ids = ProducerIds(blocks.allocate)
        return await asyncio.gather(*(ids.next() for _ in range(35)))

    assert sorted(asyncio.run(main())) == list(range(1000, 1035))


def test_two_brokers_share_a_source_without_clashing() -> None:
    async def main() -> list[int]:
        blocks = Blocks()
        brokers = [ProducerIds(blocks.allocate) for _ in range(2)]
        return [await broker.next() for _ in range(15) for broker in brokers]

    assert len(set(asyncio.run(main()))) == 30


def test_a_failed_claim_is_told_and_can_be_tried_again() -> None:
    async def main() -> None:
        blocks = Blocks()
        ids = ProducerIds(blocks.allocate)
        blocks.fails = True
        with pytest.raises(ApiError):
            await ids.next()
        blocks.fails = False
        assert await ids.next() == 1000

    asyncio.run(main())


def test_a_cancelled_claim_loses_nothing_but_ids() -> None:
    """Whoever gave up waiting does not block those behind."""

    async def main() -> None:
        ids = ProducerIds(Blocks().allocate)
        given_up = asyncio.create_task(ids.next())
        await asyncio.sleep(0)
        given_up.cancel()
        assert await asyncio.wait_for(ids.next(), 5) >= 1000

    asyncio.run(main())
