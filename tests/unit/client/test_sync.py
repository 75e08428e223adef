"""The blocking face gives what the asyncio one gives, from any thread, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from odradek.client.sync import Client
from odradek.errors import ApiError


def test_it_works_inside_a_running_loop_and_ends_its_thread(fakes: Any) -> None:
    async def scenario() -> None:
        async with fakes.Broker() as broker:

            def blocking() -> str | None:
                with Client(broker.address) as client:
                    return client.metadata([]).cluster_id

            assert await asyncio.to_thread(blocking) == "fake"

    asyncio.run(scenario())
    assert not [thread for thread in threading.enumerate() if thread.name == "odradek-client"]


def test_errors_come_through_and_closing_twice_is_harmless(free_port: int) -> None:
    client = Client(f"127.0.0.1:{free_port}")
    with pytest.raises(ApiError, match="no broker answers"):
        client.metadata()
    client.close()
    client.close()
