"""The blocking face of the wire client: `aio.Client` on an event loop of its own, in a thread of
its own.

    with Client("127.0.0.1:9092") as client:
        client.create_topics([NewTopic(name="spool", partitions=3)])

Every method is the asyncio one, run to its end; any thread may call, also one that runs an event
loop itself (a notebook). Ctrl-C while waiting cancels the call.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from odradek.client import aio
from odradek.client.settings import ClientSettings

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    method: Callable[Concatenate[aio.Client, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Client, P], R]:
    @wraps(method)
    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return client._run(method(client._client, *args, **kwargs))

    return call


class Client:
    """All calls of `aio.Client`, blocking."""

    def __init__(self, bootstrap_servers: str, settings: ClientSettings | None = None) -> None:
        self._client = aio.Client(bootstrap_servers, settings)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="odradek-client", daemon=True
        )
        self._thread.start()

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        assert not self._loop.is_closed(), "this client is closed"
        # Every call has its own deadline (api_timeout_ms), so this wait ends.
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """Close all connections and end the thread. Harmless when it is closed already."""
        if self._loop.is_closed():
            return
        self._run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    request = _blocking(aio.Client.request)
    metadata = _blocking(aio.Client.metadata)
    create_topics = _blocking(aio.Client.create_topics)
    delete_topics = _blocking(aio.Client.delete_topics)
    create_partitions = _blocking(aio.Client.create_partitions)
    describe_configs = _blocking(aio.Client.describe_configs)
    incremental_alter_configs = _blocking(aio.Client.incremental_alter_configs)
    list_config_resources = _blocking(aio.Client.list_config_resources)
    list_offsets = _blocking(aio.Client.list_offsets)
    delete_records = _blocking(aio.Client.delete_records)
    describe_cluster = _blocking(aio.Client.describe_cluster)
    describe_log_dirs = _blocking(aio.Client.describe_log_dirs)
    describe_producers = _blocking(aio.Client.describe_producers)
    api_versions = _blocking(aio.Client.api_versions)
    list_groups = _blocking(aio.Client.list_groups)
    describe_groups = _blocking(aio.Client.describe_groups)
    delete_groups = _blocking(aio.Client.delete_groups)
    group_offsets = _blocking(aio.Client.group_offsets)
    alter_group_offsets = _blocking(aio.Client.alter_group_offsets)
    delete_group_offsets = _blocking(aio.Client.delete_group_offsets)
    list_transactions = _blocking(aio.Client.list_transactions)
    describe_transactions = _blocking(aio.Client.describe_transactions)
    abort_in_partition = _blocking(aio.Client.abort_in_partition)
