"""The asyncio face of the wire client.

    async with Client("127.0.0.1:9092") as client:
        await client.create_topics([NewTopic(name="spool", partitions=3)])

Belongs to the event loop that first uses it. Nothing is opened before the first call.
"""

from __future__ import annotations

from types import TracebackType

from odradek.client.addresses import parse_addresses
from odradek.client.configs import ConfigCalls
from odradek.client.groups import GroupCalls
from odradek.client.nodes import NodeCalls
from odradek.client.offsets import OffsetCalls
from odradek.client.router import Router
from odradek.client.settings import ClientSettings
from odradek.client.topics import TopicCalls
from odradek.client.transactions import TransactionCalls


class Client(TopicCalls, ConfigCalls, OffsetCalls, NodeCalls, GroupCalls, TransactionCalls):
    """All calls, over one pool of connections to one cluster."""

    def __init__(self, bootstrap_servers: str, settings: ClientSettings | None = None) -> None:
        super().__init__(Router(parse_addresses(bootstrap_servers), settings or ClientSettings()))

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; calls under way fail."""
        await self._router.close()
