"""`EmbeddedBroker`: a real broker on a free port, in a thread of this process, gone afterwards.

It is the broker that `odradek broker` runs, with its data in a temporary folder: any client of any
language can use it. Its loop runs in a daemon thread; the methods here may be called from any thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from odradek.broker.node import Broker, BrokerEnvironment
from odradek.config.broker import BrokerConfig
from odradek.errors import Err
from odradek.interfaces import Disk
from odradek.protocol.api_keys import ApiKey
from odradek.runtime.loop import new_event_loop
from odradek.server.faults import Fault, Faults
from odradek.testing.movable_clock import MovableClock, MovableTimers

T = TypeVar("T")
START_SECONDS_MAX: Final = 60.0

# Small and quick: what a test wants, and every key can be overridden.
TEST_DEFAULTS: Final[Mapping[str, str]] = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "odradek.http.listener": "127.0.0.1:0",
}


class EmbeddedBroker:
    """A broker for tests. Use as a context manager, or call `start` and `stop`.

    `config`: broker keys as in server.properties. `data_dir`: where to keep the data; without one, a
    temporary folder that is removed at the end. `clock`: a `MovableClock` to travel in time with.
    `disk`: the file systems as the broker's logs see them, to let them fail.
    """

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        *,
        data_dir: Path | None = None,
        clock: MovableClock | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.clock = clock or MovableClock()
        self._config = {**TEST_DEFAULTS, **(config or {})}
        self._own_dir = data_dir is None
        self._given_dir = data_dir
        self.data_dir = data_dir or Path()
        self._disk = disk
        self._faults = Faults()
        self._broker: Broker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopping: asyncio.Event | None = None
        self._clean = True

    # -- life ----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the broker and wait until it serves."""
        assert self._thread is None, "already started"
        if self._own_dir:
            self.data_dir = Path(tempfile.mkdtemp(prefix="odradek-test-"))
        try:
            self._run_thread()
        except BaseException:
            self._remove_own_dir()
            raise

    def stop(self) -> None:
        """Stop cleanly; a temporary data folder is removed."""
        self._end(clean=True)
        self._remove_own_dir()

    def _remove_own_dir(self) -> None:
        if self._own_dir:
            shutil.rmtree(self.data_dir, ignore_errors=True)

    def restart(self, *, clean: bool = True) -> None:
        """Stop and start again on the same port and data; `clean=False` skips the clean shutdown."""
        ports = dict(self.broker.ports)
        self._end(clean=clean)
        listeners = self._config["listeners"].split(",")
        self._config["listeners"] = ",".join(
            text.rpartition(":")[0] + f":{ports[text.partition(':')[0]]}" for text in listeners
        )
        self._run_thread()

    def _run_thread(self) -> None:
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=self._main, args=(ready,), name="odradek-embedded", daemon=True
        )
        self._thread.start()
        try:
            ready.result(START_SECONDS_MAX)
        except BaseException:
            if ready.done():  # the thread has ended, or is about to
                self._thread.join()
                self._thread = None
            raise

    def _end(self, *, clean: bool) -> None:
        if self._thread is None:
            return
        self._clean = clean
        assert self._loop is not None
        assert self._stopping is not None
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = None
        self._broker = None

    def _main(self, ready: concurrent.futures.Future[None]) -> None:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            try:
                runner.run(self._serve(ready))
            except BaseException as error:
                if ready.done():
                    raise
                ready.set_exception(error)

    async def _serve(self, ready: concurrent.futures.Future[None]) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        timers = MovableTimers(loop, self.clock)
        config, _ = BrokerConfig.from_strings({"log.dirs": str(self.data_dir), **self._config})
        environment = BrokerEnvironment(
            clock=self.clock, timers=timers, disk=self._disk, faults=self._faults
        )
        self._broker = broker = Broker(config, environment)
        await broker.start()
        ready.set_result(None)
        try:
            await self._stopping.wait()
        finally:
            await broker.stop(clean=self._clean)
            timers.close()

    # -- what a test wants to know -------------------------------------------------------------

    @property
    def broker(self) -> Broker:
        """The broker itself; its state belongs to its own thread, see `call`."""
        assert self._broker is not None, "not started"
        return self._broker

    @property
    def bootstrap_servers(self) -> str:
        """Where clients connect: host:port."""
        return f"127.0.0.1:{next(iter(self.broker.ports.values()))}"

    @property
    def http_url(self) -> str:
        """Where /healthz, /metrics and /state are."""
        return f"http://127.0.0.1:{self.broker.http_port}"

    def call(self, function: Callable[[Broker], T]) -> T:
        """Run `function(broker)` on the broker's thread and return what it returns."""

        async def run() -> T:
            return function(self.broker)

        return self.run(run())

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the broker's loop and return what it returns."""
        assert self._loop is not None, "not started"
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(START_SECONDS_MAX)

    # -- faults --------------------------------------------------------------------------------

    def fail_next(self, api: ApiKey, error: Err, count: int = 1) -> None:
        """Answer the next `count` requests of an API with an error."""
        self._faults.arm(Fault(api_key=api, count=count, error=error))

    def delay_next(self, api: ApiKey, milliseconds: float, count: int = 1) -> None:
        """Handle the next `count` requests of an API only after a while."""
        self._faults.arm(Fault(api_key=api, count=count, delay_ms=milliseconds))

    def drop_next(self, api: ApiKey | None = None, count: int = 1) -> None:
        """Close the connection of the next `count` requests of an API, or of any."""
        self._faults.arm(Fault(api_key=api, count=count, drop=True))

    def clear_faults(self) -> None:
        """Let everything be well again."""
        self._faults.clear()
