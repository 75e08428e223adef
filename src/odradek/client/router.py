"""Requests find their broker: a pool of connections, a cache of metadata, and retries.

One connection per broker address, opened when first needed. The cache holds what the latest
Metadata reply said about brokers, controller and the leaders of topics that were asked for, and who
coordinates which group or transactional id; it is thrown away whenever a broker says that it is out
of date (not the leader, not the controller, not the coordinator) or stops answering, and the next
attempt asks again, through any live connection or, when none is left, through the bootstrap
addresses.

`call` sends a request again while its error says that this may help (`failures.may_retry`), within
a bounded number of attempts and `api_timeout_ms`. A request that changes something and whose
connection breaks after it was sent is not repeated unless the caller says that doing it twice does
no harm.

Owned by one event loop. State changes happen between awaits; a lock per address keeps two callers
from opening the same connection twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Final, TypeVar

from odradek.client.addresses import Address
from odradek.client.backoff import Backoff
from odradek.client.cluster import NO_NODE, Broker, Cluster, Partition, Topic
from odradek.client.connection import Connection
from odradek.client.failures import (
    AdvertisedUnreachableError,
    BrokerUnreachableError,
    ConnectionLostError,
    UnknownOutcomeError,
    check,
    error_of,
    may_retry,
)
from odradek.client.settings import ClientSettings
from odradek.client.targets import (
    ANY_BROKER,
    AnyBroker,
    Controller,
    Coordinator,
    CoordinatorKind,
    Leader,
    Node,
    Target,
)
from odradek.errors import ApiError, Err
from odradek.protocol.fields import Message
from odradek.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

R = TypeVar("R")
M = TypeVar("M", bound=Message)
K = TypeVar("K")
V = TypeVar("V")

# FindCoordinator: many keys in one request (KIP-699; brokers from 3.0).
_MANY_KEYS_SINCE: Final = 4


class Router:
    """Sends requests to the right broker of one cluster."""

    def __init__(
        self, bootstrap: Sequence[Address], settings: ClientSettings, rng: Random | None = None
    ) -> None:
        assert bootstrap
        self.settings = settings
        self._bootstrap = tuple(bootstrap)
        self._rng = rng or Random()
        self._connections: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._brokers: Mapping[int, Broker] = {}
        self._controller_id = NO_NODE
        self._topics: dict[str, Topic] = {}
        self._coordinators: dict[Coordinator, int] = {}

    async def close(self) -> None:
        """Close all connections."""
        connections, self._connections = list(self._connections.values()), {}
        for connection in connections:
            await connection.close()

    async def call(
        self,
        request: Message,
        reply_type: type[M],
        *,
        to: Target = ANY_BROKER,
        min_version: int = 0,
        max_version: int | None = None,
        repeatable: bool = True,
    ) -> M:
        """Send `request`, again while that may help; a reply with a final error is given back."""
        what = type(request).__name__.removesuffix("Request")

        async def attempt() -> M:
            connection = await self.connection_to(to)
            try:
                reply = await connection.send(
                    request, reply_type, min_version=min_version, max_version=max_version
                )
            except ConnectionLostError as lost:
                if lost.sent and not repeatable:
                    raise UnknownOutcomeError(what, lost) from lost
                raise
            error = error_of(getattr(reply, "error_code", 0), getattr(reply, "error_message", None))
            if error is not None and may_retry(error):
                raise error
            return reply

        return await self.persist(what, attempt)

    async def persist(self, what: str, attempt: Callable[[], Awaitable[R]]) -> R:
        """Run `attempt` until it succeeds, fails for good, or time or attempts run out."""
        backoff = Backoff(self._rng)
        try:
            async with asyncio.timeout(self._api_timeout_s):
                while True:
                    try:
                        return await attempt()
                    except ApiError as error:
                        wait_ms = backoff.next_ms() if may_retry(error) else None
                        if wait_ms is None:
                            raise
                    self.forget_metadata()
                    await asyncio.sleep(wait_ms / 1000)
        except TimeoutError:
            raise self._timed_out(what) from None

    async def call_each(
        self,
        what: str,
        keys: Iterable[K],
        attempt: Callable[[list[K]], Awaitable[Mapping[K, V | ApiError]]],
    ) -> dict[K, V | ApiError]:
        """Ask about many things at once; only those whose error may pass are asked about again."""
        outcomes: dict[K, V | ApiError] = {}
        pending = list(dict.fromkeys(keys))
        backoff = Backoff(self._rng)
        try:
            async with asyncio.timeout(self._api_timeout_s):
                while pending:
                    answers = await attempt(pending)
                    outcomes.update((key, answers.get(key, _unanswered())) for key in pending)
                    pending = [key for key in pending if _may_pass(outcomes[key])]
                    wait_ms = backoff.next_ms()
                    if not pending or wait_ms is None:
                        break
                    self.forget_metadata()
                    await asyncio.sleep(wait_ms / 1000)
        except TimeoutError:
            for key in pending:
                outcomes.setdefault(key, self._timed_out(what))
        return outcomes

    @property
    def _api_timeout_s(self) -> float:
        return self.settings.api_timeout_ms / 1000

    def _timed_out(self, what: str) -> ApiError:
        return ApiError(
            Err.REQUEST_TIMED_OUT, f"{what} did not succeed within {self._api_timeout_s:g} s"
        )

    # --- metadata -------------------------------------------------------------------------------

    async def metadata(self, topics: Sequence[str] | None = None) -> Cluster:
        """What the cluster says of itself and of `topics` (None: of all); never creates a topic."""
        asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)

        async def attempt() -> MetadataResponse:
            connection = await self._any_connection()
            reply = await connection.send(request, MetadataResponse, min_version=1)
            check(reply.error_code)
            return reply

        cluster = Cluster.of(await self.persist("Metadata", attempt))
        self._remember(cluster)
        return cluster

    def forget_metadata(self) -> None:
        """Somebody said that we are out of date: the next request asks first."""
        self._brokers = {}
        self._controller_id = NO_NODE
        self._topics.clear()
        self._coordinators.clear()

    async def topic(self, name: str) -> Topic:
        """A topic and its leaders, from the cache when it is there."""
        cached = self._topics.get(name)
        if cached is not None:
            return cached
        found = (await self.metadata([name])).topics.get(name)
        if found is None or found.err is not Err.NONE:
            err = Err.UNKNOWN_TOPIC_OR_PARTITION if found is None else found.err
            words = (
                f"topic '{name}' does not exist" if err is Err.UNKNOWN_TOPIC_OR_PARTITION else None
            )
            error = error_of(err, words)
            assert error is not None
            raise error
        return found

    async def leader_of(self, topic: str, partition: int) -> int:
        """The node that leads a partition."""
        if _partition(self._topics.get(topic), partition) is None:
            self._topics.pop(topic, None)  # it may have grown since we asked
        found = await self.topic(topic)
        chosen = _partition(found, partition)
        if chosen is None:
            raise ApiError(
                Err.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic '{topic}' has no partition {partition}, it has {len(found.partitions)}",
            )
        if chosen.leader == NO_NODE:
            self._topics.pop(topic, None)
            raise ApiError(
                Err.LEADER_NOT_AVAILABLE,
                f"partition {topic}-{partition} has no leader: are its brokers up?",
            )
        return chosen.leader

    async def coordinators_of(
        self, kind: CoordinatorKind, keys: Iterable[str]
    ) -> dict[str, int | ApiError]:
        """The nodes that coordinate groups or transactional ids; one request for all unknown."""
        places = {key: Coordinator(key, kind) for key in keys}
        unknown = [key for key, place in places.items() if place not in self._coordinators]
        failed: dict[str, ApiError] = {}
        if unknown:
            connection = await self._any_connection()
            reply = await connection.send(
                FindCoordinatorRequest(key_type=kind, coordinator_keys=unknown),
                FindCoordinatorResponse,
                min_version=_MANY_KEYS_SINCE,
            )
            for found in reply.coordinators:
                error = error_of(found.error_code, found.error_message)
                if error is None:
                    self._coordinators[Coordinator(found.key, kind)] = found.node_id
                else:
                    failed[found.key] = error
        nodes: dict[str, int | ApiError] = {
            key: self._coordinators.get(place, failed.get(key, _unanswered()))
            for key, place in places.items()
        }
        while len(self._coordinators) > self.settings.cached_coordinators_max:
            del self._coordinators[next(iter(self._coordinators))]
        return nodes

    async def coordinator_of(self, target: Coordinator) -> int:
        """The node that coordinates a group or a transactional id."""
        node_id = (await self.coordinators_of(target.kind, [target.key]))[target.key]
        if isinstance(node_id, ApiError):
            raise node_id
        return node_id

    def _remember(self, cluster: Cluster) -> None:
        self._brokers = cluster.brokers
        self._controller_id = cluster.controller_id
        for name, topic in cluster.topics.items():
            self._topics.pop(name, None)
            if topic.err is Err.NONE:
                self._topics[name] = topic
        while len(self._topics) > self.settings.cached_topics_max:
            del self._topics[next(iter(self._topics))]

    # --- connections ----------------------------------------------------------------------------

    async def connection_to(self, target: Target) -> Connection:
        """An open connection to the broker that `target` stands for."""
        match target:
            case AnyBroker():
                return await self._any_connection()
            case Controller():
                await self._know_brokers()
                known = self._controller_id in self._brokers
                return await (
                    self._node_connection(self._controller_id) if known else self._any_connection()
                )
            case Leader(topic, partition):
                return await self._node_connection(await self.leader_of(topic, partition))
            case Coordinator():
                return await self._node_connection(await self.coordinator_of(target))
            case Node(node_id):
                return await self._node_connection(node_id)

    async def _know_brokers(self) -> None:
        if not self._brokers:
            await self.metadata([])

    async def _node_connection(self, node_id: int) -> Connection:
        await self._know_brokers()
        broker = self._brokers.get(node_id)
        if broker is None:
            known = ", ".join(str(known_id) for known_id in sorted(self._brokers)) or "none"
            raise ApiError(
                Err.BROKER_NOT_AVAILABLE, f"there is no broker {node_id} now; alive: {known}"
            )
        try:
            return await self._open(broker.address)
        except BrokerUnreachableError as error:
            raise AdvertisedUnreachableError(node_id, broker.address, error.why) from error

    async def _any_connection(self) -> Connection:
        for connection in self._connections.values():
            if connection.failure is None:
                return connection
        wait_until = asyncio.get_running_loop().time() + self.settings.bootstrap_wait_ms / 1000
        backoff = Backoff(self._rng)
        while True:
            try:
                return await self._first_contact()
            except BrokerUnreachableError:
                wait_ms = backoff.next_ms() or 1000.0
                if asyncio.get_running_loop().time() + wait_ms / 1000 > wait_until:
                    raise
            await asyncio.sleep(wait_ms / 1000)

    async def _first_contact(self) -> Connection:
        known = [broker.address for broker in self._brokers.values()]
        addresses = list(dict.fromkeys([*known, *self._bootstrap]))
        why = ""
        for address in addresses:
            try:
                return await self._open(address)
            except BrokerUnreachableError as error:
                why = error.why
        raise BrokerUnreachableError(self._bootstrap, why)

    async def _open(self, address: Address) -> Connection:
        async with self._opening.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is not None and connection.failure is None:
                return connection
            if connection is not None:
                del self._connections[address]
                await connection.close()
            connection = await Connection.open(address, self.settings)
            self._connections[address] = connection
            return connection


def _partition(topic: Topic | None, index: int) -> Partition | None:
    partitions = topic.partitions if topic is not None else ()
    return next((partition for partition in partitions if partition.index == index), None)


def _unanswered() -> ApiError:
    return ApiError(Err.UNKNOWN_SERVER_ERROR, "the broker left this out of its reply")


def _may_pass(outcome: object) -> bool:
    return isinstance(outcome, ApiError) and may_retry(outcome)
