"""What a handler is given: the broker's parts, and the facts of this request.

`Services` is built once by `broker.node`; a `Context` is made per request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.config.broker import BrokerConfig
from odradek.interfaces import Clock, Timers
from odradek.metadata.image import MetadataImage
from odradek.runtime.loop import PoolBackground

if TYPE_CHECKING:
    from odradek.controller.shell import Controller
    from odradek.coordinators.group_coordinator import GroupCoordinator
    from odradek.coordinators.transaction_coordinator import TransactionCoordinator
    from odradek.replication.replica_manager import ReplicaManager
    from odradek.server.fetch_sessions import FetchSessions
    from odradek.server.probe import ServerProbe
    from odradek.server.producer_ids import ProducerIds
    from odradek.server.topic_bytes import TopicBytes
    from odradek.storage.log_manager import LogManager


@dataclass(slots=True, kw_only=True)
class Services:
    """The parts of one broker that handlers use."""

    node_id: int
    cluster_id: str
    config: BrokerConfig
    controller: Controller
    logs: LogManager
    replicas: ReplicaManager
    fetch_sessions: FetchSessions
    producer_ids: ProducerIds
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    topic_bytes: TopicBytes
    clock: Clock
    timers: Timers
    background: PoolBackground
    call_soon: Callable[[Callable[[], None]], object]
    probe: ServerProbe

    @property
    def image(self) -> MetadataImage:
        """The metadata as of now; immutable, so a handler may keep it while it waits."""
        return self.controller.image


class Context:
    """One request: who sent it, on which listener, at which version."""

    __slots__ = (
        "api_key",
        "api_version",
        "client_address",
        "client_id",
        "correlation_id",
        "listener",
        "services",
    )

    def __init__(
        self,
        services: Services,
        listener: str,
        client_address: str,
        client_id: str | None,
        api_key: int,
        api_version: int,
        correlation_id: int,
    ) -> None:
        self.services = services
        self.listener = listener
        self.client_address = client_address
        self.client_id = client_id
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id

    @property
    def image(self) -> MetadataImage:
        """The metadata as of now."""
        return self.services.controller.image

    @property
    def config(self) -> BrokerConfig:
        """The broker's settings as of now."""
        return self.services.config

    @property
    def controller(self) -> Controller:
        """Where topics, settings and features are changed."""
        return self.services.controller

    @property
    def logs(self) -> LogManager:
        """The logs on this broker's disks."""
        return self.services.logs

    @property
    def replicas(self) -> ReplicaManager:
        """The partitions this broker leads or follows."""
        return self.services.replicas
