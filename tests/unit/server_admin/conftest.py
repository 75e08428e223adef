"""A broker's services as far as the admin handlers use them: a real controller, stubs of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from odradek.config.broker import BrokerConfig
from odradek.controller import Controller
from odradek.coordination.embedded import EmbeddedStore
from odradek.metadata import Endpoint
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import decode, encode
from odradek.protocol.registry import request_type, response_type
from odradek.runtime.clock import SystemClock
from odradek.server.context import Context
from odradek.server.registry import Handler, load_handlers

T = TypeVar("T")


class Desk:
    """Sends requests to handlers as `dispatch` would, through the codec and back."""

    def __init__(self, folder: Path, texts: dict[str, str]) -> None:
        self._folder = folder
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self.config = BrokerConfig.from_strings(texts)[0]
        self.services = SimpleNamespace(node_id=1, config=self.config, logs=None, replicas=None)
        self._runner.run(self._open())

    async def _open(self) -> None:
        store = await EmbeddedStore.open(self._folder, SystemClock())
        self._stack.push_async_callback(store.close)
        self.services.controller = Controller(
            store=store,
            config=self.config,
            clock=SystemClock(),
            node_id=1,
            endpoints={"PLAINTEXT": Endpoint("localhost", 9092)},
        )
        await self.services.controller.start()

    def close(self) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def run(self, coming: Awaitable[T]) -> T:
        async def wait() -> T:
            return await coming

        return self._runner.run(wait())

    @property
    def controller(self) -> Controller:
        controller: Controller = self.services.controller
        return controller

    def handler(self, key: ApiKey) -> Handler:
        return load_handlers()[key]

    def ask(self, request: Any, version: int | None = None) -> Any:
        """The reply as a client of that version (the newest by default) decodes it."""
        handler = self.handler(ApiKey(request.API_KEY))
        if version is None:
            version = handler.versions[-1]
        request = decode(request_type(request.API_KEY), encode(request, version), version)
        context = Context(
            self.services,  # type: ignore[arg-type]
            "PLAINTEXT",
            "127.0.0.1:1",
            "test",
            request.API_KEY,
            version,
            0,
        )
        response = handler.call(context, request)
        if asyncio.iscoroutine(response):
            response = self.run(response)
        return decode(response_type(request.API_KEY), encode(response, version), version)


@pytest.fixture
def open_desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    desks: list[Desk] = []

    def open_one(**texts: str) -> Desk:
        named = {key.replace("_", "."): value for key, value in texts.items()}
        desk = Desk(tmp_path / str(len(desks)), named)
        desks.append(desk)
        return desk

    yield open_one
    for desk in desks:
        desk.close()


@pytest.fixture
def desk(open_desk: Callable[..., Desk]) -> Desk:
    return open_desk()
