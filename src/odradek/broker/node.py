"""A whole broker: builds the parts, starts them in order, stops them in reverse.

Start: bind the listeners (so that ports are known), make sure that nobody uses the log dirs, open the
coordination store, become controller and read the metadata, open the logs, then accept connections.
Stop: refuse new connections, let go of the open ones, flush and close the logs, close the store. A broker
that fails to start undoes what it had done.

Nothing here is global: several brokers can live in one process, each with its own loop or on one.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from odradek import __version__
from odradek.broker.coordinators import group_coordinator
from odradek.broker.gauges import sample_gauges
from odradek.broker.state import describe_state
from odradek.broker.storage_probe import LogProbe
from odradek.config.broker import BrokerConfig
from odradek.config.listeners import WILDCARDS, Listener, advertised_listeners, bound_listeners
from odradek.config.resolve import broker_config, topic_config
from odradek.config.topic import TopicConfig
from odradek.controller.shell import Controller
from odradek.coordination.embedded import EmbeddedStore
from odradek.coordinators.transaction_coordinator import TransactionCoordinator
from odradek.interfaces import Clock, Disk, Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import ConfigResource, Endpoint, MetadataImage, ResourceType
from odradek.metrics.exposition import CONTENT_TYPE, render
from odradek.metrics.registry import Registry
from odradek.replication.replica_manager import ReplicaManager
from odradek.runtime.clock import SystemClock
from odradek.runtime.disk import RealDisk
from odradek.runtime.loop import LoopTimers, PoolBackground
from odradek.server.context import Services
from odradek.server.dispatch import Dispatcher
from odradek.server.faults import Faults
from odradek.server.fetch_sessions import FetchSessions
from odradek.server.http import HttpServer, json_folder, json_page
from odradek.server.listener import ConnectionLimits
from odradek.server.listener import Listener as SocketListener
from odradek.server.probe import ServerProbe
from odradek.server.producer_ids import ProducerIds
from odradek.server.registry import load_handlers
from odradek.server.topic_bytes import TopicBytes
from odradek.storage.compaction import Cleaner, cleaner_settings
from odradek.storage.earlier_run import peek
from odradek.storage.log_manager import KnownTopic, LogManager

log = logging.getLogger(__name__)

# How often the cleaner is asked whether it has something to do; its own back-off decides.
CLEANER_TICK_MS: Final = 1000


@dataclass(slots=True)
class BrokerEnvironment:
    """The world a broker lives in; tests hand in their own clock, disk and faults."""

    clock: Clock | None = None
    timers: Timers | None = None
    disk: Disk | None = None
    faults: Faults | None = None


class Broker:
    """One node: listeners, handlers, logs, metadata."""

    def __init__(self, config: BrokerConfig, environment: BrokerEnvironment | None = None) -> None:
        self._static_config = config
        self._environment = environment or BrokerEnvironment()
        self._undo = AsyncExitStack()
        self._clean = True
        self.ports: dict[str, int] = {}
        self.http_port = 0
        self.services: Services
        self.listener: SocketListener

    # -- start ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Serve; raises, with everything undone, when that is not possible."""
        try:
            await self._start()
        except BaseException:
            self._clean = False
            await self._undo.aclose()
            raise

    async def _start(self) -> None:
        config = self._static_config
        environment = self._environment
        loop = asyncio.get_running_loop()
        clock = environment.clock or SystemClock()
        timers = environment.timers or LoopTimers(loop)
        disk = environment.disk or RealDisk()
        registry = self._registry = Registry()
        probe = ServerProbe(registry)
        background = PoolBackground(loop, config.odradek_io_threads)
        self._undo.callback(background.close)

        endpoints = self._bind(config, loop, clock, timers)
        folders = [Path(folder) for folder in config.log_dirs]
        earlier = peek(disk, folders)
        folders[0].mkdir(parents=True, exist_ok=True)
        store = await EmbeddedStore.open(folders[0], clock)
        self._undo.push_async_callback(store.close)
        controller = Controller(
            store=store,
            config=config,
            clock=clock,
            node_id=config.node_id,
            endpoints=endpoints,
            cluster_id=earlier.cluster_id,
        )
        await controller.start(clean_shutdown=earlier.was_clean)
        self._undo.push_async_callback(controller.stop)

        image = controller.image
        config = self._effective(image)
        logs = LogManager(
            folders,
            node_id=config.node_id,
            cluster_id=image.cluster_id,
            clock=clock,
            timers=timers,
            background=background,
            disk=disk,
            config=config,
            probe=LogProbe(registry, config.odradek_slow_append_ms),
        )
        replicas = ReplicaManager(config.node_id, logs, self._topic_config, timers)
        producer_ids = ProducerIds(self._allocate_producer_ids)
        groups = group_coordinator(
            self._live_config, config.node_id, replicas, clock, timers, background
        )
        services = self.services = Services(
            node_id=config.node_id,
            cluster_id=image.cluster_id,
            config=config,
            controller=controller,
            logs=logs,
            replicas=replicas,
            fetch_sessions=FetchSessions(clock, config.max_incremental_fetch_session_cache_slots),
            producer_ids=producer_ids,
            groups=groups,
            transactions=TransactionCoordinator(
                config=self._live_config,
                node_id=config.node_id,
                replicas=replicas,
                groups=groups,
                clock=clock,
                timers=timers,
                background=background,
                next_producer_id=producer_ids.next,
            ),
            topic_bytes=TopicBytes(),
            clock=clock,
            timers=timers,
            background=background,
            call_soon=loop.call_soon,
            probe=probe,
        )
        known = {
            topic.name: KnownTopic(
                topic.id,
                self._topic_config(topic.overrides),
                [i for i, p in enumerate(topic.partitions) if config.node_id in p.replicas],
            )
            for topic in image.topics.values()
        }
        logs.open(known)
        logs.on_offline = lambda _, affected, __: services.replicas.dir_failed(affected)
        self._undo.callback(lambda: logs.close(clean=self._clean))
        services.replicas.load(image)
        self._undo.callback(services.replicas.close)
        self._undo.callback(services.groups.runtime.close)
        self._undo.callback(services.transactions.runtime.close)
        self._tell_coordinators(image)
        controller.subscribe(self._on_metadata)
        self._cleaner = Cleaner(lambda: logs, background, cleaner_settings(config), clock.now_ms)
        self._clean_later()
        sample_gauges(probe, services, self.listener)
        await self._start_http(config)
        dispatcher = Dispatcher(services, load_handlers(), loop, environment.faults)
        self._undo.push_async_callback(dispatcher.close)
        self._undo.callback(self.listener.close)
        self.listener.start(dispatcher.handle)

    def _bind(
        self,
        config: BrokerConfig,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        timers: Timers,
    ) -> dict[str, Endpoint]:
        """Open the listening sockets; what clients of each listener are told."""
        self.listener = SocketListener(loop, clock, timers, _connection_limits(config))
        self._undo.callback(self.listener.close)
        bound = bound_listeners(config)
        for listener in bound:
            self.ports[listener.name] = self.listener.bind(
                listener.name, listener.host, listener.port
            )
        advertised = advertised_listeners(config, socket.gethostname())
        _say_what_is_advertised(bound, advertised, self.ports)
        return {
            listener.name: Endpoint(listener.host, listener.port or self.ports[listener.name])
            for listener in advertised
        }

    async def _start_http(self, config: BrokerConfig) -> None:
        if not config.odradek_http_listener:
            return
        host, _, port = config.odradek_http_listener.rpartition(":")
        server = HttpServer(
            {
                "/healthz": json_page(self._health),
                "/metrics": lambda: (CONTENT_TYPE, render(self._registry)),
                "/state": json_page(self.describe),
                "/groups": json_page(self._describe_groups),
            },
            {"/groups/": json_folder(self._describe_group)},
        )
        self._undo.push_async_callback(server.close)
        try:
            self.http_port = await server.start(host.strip("[]"), int(port))
        except OSError as error:
            log.warning(
                "no HTTP port: cannot listen on %s (%s); set odradek.http.listener",
                config.odradek_http_listener,
                error.strerror or error,
            )

    # -- stop ----------------------------------------------------------------------------------

    async def stop(self, *, clean: bool = True) -> None:
        """Stop serving. `clean=False` leaves the disk as a crash would."""
        self._clean = clean
        await self._undo.aclose()

    def _clean_later(self) -> None:
        """Let the cleaner look for work from time to time."""

        def tick() -> None:
            self._cleaner.tick(self.services.clock.now_ms())
            self._cleaner_timer = self.services.timers.call_later(CLEANER_TICK_MS, tick)

        self._cleaner_timer = self.services.timers.call_later(CLEANER_TICK_MS, tick)
        self._undo.callback(lambda: self._cleaner_timer.cancel())

    # -- while it runs -------------------------------------------------------------------------

    def _effective(self, image: MetadataImage) -> BrokerConfig:
        """The static configuration under what was set while the broker ran."""
        return broker_config(
            self._static_config,
            cluster=image.broker_overrides.get(None, {}),
            broker=image.broker_overrides.get(self._static_config.node_id, {}),
        )

    def _live_config(self) -> BrokerConfig:
        return self.services.config

    def _topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        return topic_config(self.services.config, overrides)

    def _on_metadata(self, image: MetadataImage, delta: Delta) -> None:
        services = self.services
        if any(_is_broker(resource) for resource in delta.changed_configs):
            services.config = self._effective(image)
            self.listener.limits = _connection_limits(services.config)
            self._cleaner.settings = cleaner_settings(services.config)
            services.replicas.reconfigure(image)
        services.replicas.apply(image, delta)
        self._tell_coordinators(image)

    def _tell_coordinators(self, image: MetadataImage) -> None:
        # Groups first: transactions that end write markers to them.
        self.services.groups.runtime.on_metadata(image)
        self.services.transactions.runtime.on_metadata(image)

    async def _allocate_producer_ids(self) -> range:
        controller = self.services.controller
        block = await controller.allocate_producer_ids(self.services.node_id)
        return range(block.first, block.first + block.count)

    def _health(self) -> dict[str, Any]:
        dirs = self.services.logs.dirs
        offline = {d.path: d.offline_reason for d in dirs if d.offline_reason is not None}
        return {"status": "degraded" if offline else "ok", "offline_log_dirs": offline}

    # The pages of groups share values with the client, whose import would cost a tenth of a start.

    def _describe_groups(self) -> Mapping[str, Any]:
        from odradek.broker.group_pages import describe_groups

        return describe_groups(self.services.groups)

    def _describe_group(self, group_id: str) -> Mapping[str, Any] | None:
        from odradek.broker.group_pages import describe_group

        return describe_group(self.services.groups, self.services.node_id, group_id)

    def describe(self) -> dict[str, Any]:
        """What `/state` shows."""
        return {"version": __version__, **describe_state(self.services, self.listener, self.ports)}


def _is_broker(resource: ConfigResource) -> bool:
    return resource.type is ResourceType.BROKER


def _connection_limits(config: BrokerConfig) -> ConnectionLimits:
    return ConnectionLimits(
        connections_max=min(config.max_connections, _descriptors_for_connections()),
        connections_per_ip_max=config.max_connections_per_ip,
        per_ip_overrides=_per_ip_overrides(config.max_connections_per_ip_overrides),
        idle_ms_max=config.connections_max_idle_ms,
        request_bytes_max=config.socket_request_max_bytes,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        receive_buffer_bytes=config.socket_receive_buffer_bytes,
        backlog=config.socket_listen_backlog_size,
    )


def _descriptors_for_connections() -> int:
    """Half of what the process may open: strangers must not keep the logs from opening files."""
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if open_files == resource.RLIM_INFINITY else open_files // 2


def _per_ip_overrides(text: str) -> dict[str, int]:
    """`127.0.0.1:200,10.0.0.1:5` as a mapping."""
    pairs = (pair.strip().rpartition(":") for pair in text.split(",") if pair.strip())
    return {host: int(count) for host, _, count in pairs}


def _say_what_is_advertised(
    bound: tuple[Listener, ...], advertised: tuple[Listener, ...], ports: Mapping[str, int]
) -> None:
    told = {listener.name: listener for listener in advertised}
    for listener in bound:
        tells = told.get(listener.name)
        if tells is None:
            log.warning("listener %s is not advertised: clients cannot use it", listener.name)
            continue
        where = f"{tells.host}:{tells.port or ports[listener.name]}"
        log.info(
            "listener %s on %s:%d, clients are told %s",
            listener.name,
            listener.host or "*",
            ports[listener.name],
            where,
        )
        if listener.host in WILDCARDS and not _is_reachable(tells.host):
            log.warning(
                "clients are told to connect to %s, which from here means nowhere or this machine "
                "only; set advertised.listeners=%s://<address that clients reach>:%d",
                where,
                listener.name,
                ports[listener.name],
            )


def _is_reachable(host: str) -> bool:
    """Whether a name resolves to an address that other machines may know too."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(not ip_address(entry[4][0]).is_loopback for entry in found)
