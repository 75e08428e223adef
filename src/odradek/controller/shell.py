"""The controller's shell: the one place where metadata is read from and written to the store.

Life of a change, all on the loop's thread:

    decide (pure, `shard`) → records → one `multi` in the store → apply → subscribers → reply

Decisions are made one after another, each on the image that the one before it leaves behind, so
they never conflict. Those that arrive while a commit is under way share the next one: a thousand
topics created in a row cost a handful of fsyncs. The published `image` is always a committed one.

Every `multi` checks that `/controller_epoch` has not moved since this controller claimed it; a
controller that was deposed meanwhile writes nothing. If a commit's outcome is unknown, the tree
is read back and compared with the image before and after. After a crash the image is the tree,
read once; leaders get new epochs (`elections`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID, uuid4

from odradek.config.alter import AlterOp
from odradek.config.broker import BrokerConfig
from odradek.controller import elections, layout
from odradek.controller.features import FeatureUpdate, default_features, missing_features
from odradek.controller.outcome import Outcome, Verdict
from odradek.controller.partitions import MorePartitions
from odradek.controller.producer_ids import ProducerIdBlock
from odradek.controller.shard import Shard
from odradek.controller.topics import (
    CreatedTopic,
    DeletedTopic,
    NewTopic,
    TopicRef,
)
from odradek.coordination.contract import (
    BadVersion,
    Create,
    NodeExists,
    Op,
    OutcomeUnknown,
    SessionLost,
    Set,
    Store,
    StoreError,
    parent_of,
)
from odradek.errors import ApiError, Err
from odradek.interfaces import Clock
from odradek.metadata.delta import Delta, apply
from odradek.metadata.image import BrokerRegistration, ConfigResource, Endpoint, MetadataImage
from odradek.metadata.records import (
    BrokerRegistered,
    ClusterNamed,
    ControllerElected,
    MetadataRecord,
)
from odradek.types import uuid_to_text

log = logging.getLogger(__name__)
T = TypeVar("T")
Subscriber = Callable[[MetadataImage, Delta], None]

BATCH_OPS_MAX: Final = 1000  # beyond this a commit waits for the next: bounds the loop's turn
QUEUE_CALLS_MAX: Final = 10_000  # beyond this a client is asked to come back later


class _Call(NamedTuple):
    decide: Callable[[MetadataImage], Outcome[Any]]
    future: asyncio.Future[Any]


class _Step(NamedTuple):
    """A decision that waits for its commit."""

    future: asyncio.Future[Any]
    after: MetadataImage
    delta: Delta | None
    reply: Any


def random_id() -> UUID:
    """A fresh id whose text does not begin with a dash, which tools would take for an option."""
    while True:
        fresh = uuid4()
        if not uuid_to_text(fresh).startswith("-"):
            return fresh


class Controller:
    """Reads, changes and publishes the cluster's metadata."""

    def __init__(
        self,
        *,
        store: Store,
        config: BrokerConfig,
        clock: Clock,
        node_id: int,
        endpoints: Mapping[str, Endpoint],
        security_protocols: Mapping[str, str] | None = None,
        cluster_id: str | None = None,
        new_id: Callable[[], UUID] = random_id,
    ) -> None:
        """`cluster_id` is what the log dirs say, if they do; a new tree takes it over."""
        self._store = store
        self._clock = clock
        self._node_id = node_id
        self.static_config: Final = config
        self._shard = Shard(config, new_id)
        self._security_protocols = security_protocols or dict.fromkeys(endpoints, "PLAINTEXT")
        self._endpoints = dict(endpoints)
        self._rack = config.broker_rack
        self._cluster_id = cluster_id or uuid_to_text(new_id())
        self._image = MetadataImage()
        self._epoch_node_version = -1
        self._subscribers: list[Subscriber] = []
        self._calls: deque[_Call] = deque()
        self._drainer: asyncio.Task[None] | None = None

    @property
    def image(self) -> MetadataImage:
        """The committed metadata as of now."""
        return self._image

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call `subscriber(image, delta)` on the loop's thread after each commit."""
        self._subscribers.append(subscriber)

    async def start(self, *, clean_shutdown: bool = False) -> None:
        """Load the tree, become controller, register this broker, renew its leaderships.

        `clean_shutdown`: this broker's logs are complete up to where they were read, so the
        leaderships it had may go on under their old epochs.
        """
        nodes = await self._store.tree("/")
        image = layout.read_image(nodes)
        epoch_node = nodes.get(layout.CONTROLLER_EPOCH)
        self._epoch_node_version = epoch_node.stat.version + 1 if epoch_node else 1
        records: list[MetadataRecord] = [
            ControllerElected(self._node_id, image.controller_epoch + 1)
        ]
        if not image.cluster_id:
            records.append(ClusterNamed(self._cluster_id))
        if layout.FEATURE in nodes:
            records += missing_features(image)
        else:
            image = replace(image, features=default_features())
        broker = BrokerRegistration(self._node_id, self._endpoints, self._rack)
        after, _ = apply(image, records)
        claim = self._claim(broker, after.controller_epoch)
        try:
            await self._store.multi(
                [*_missing_nodes(nodes), *layout.writes(records, image, after), *claim]
            )
        except NodeExists as error:
            raise ApiError(
                Err.NOT_CONTROLLER, f"{error.path} is held by another broker; this one stays out."
            ) from error
        stat = await self._store.exists(f"{layout.BROKER_IDS}/{self._node_id}")
        assert stat is not None
        registered = BrokerRegistered(replace(broker, epoch=stat.czxid))
        self._image, _ = apply(after, (registered,))
        await self._renew_leaderships(clean_shutdown)
        log.info(
            "controller %d, epoch %d: %d topics",
            self._node_id,
            self._image.controller_epoch,
            len(self._image.topics),
        )

    async def stop(self) -> None:
        """Finish what is queued. Closing the store, and so the registration, is its owner's."""
        if self._drainer is not None:
            await self._drainer

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[CreatedTopic]:
        """Create topics; one verdict each."""
        return await self._submit(
            lambda image: self._shard.create_topics(image, topics, validate_only=validate_only)
        )

    async def delete_topics(self, topics: Sequence[TopicRef]) -> list[DeletedTopic]:
        """Delete topics by name or id; one verdict each."""
        return await self._submit(lambda image: self._shard.delete_topics(image, topics))

    async def create_partitions(
        self, requests: Sequence[MorePartitions], *, validate_only: bool = False
    ) -> list[tuple[str, Verdict]]:
        """Add partitions to topics; one verdict each."""
        return await self._submit(
            lambda image: self._shard.create_partitions(
                image, requests, validate_only=validate_only
            )
        )

    async def alter_configs(
        self,
        resources: Sequence[tuple[ConfigResource, Sequence[tuple[str, str | None]]]],
        *,
        validate_only: bool = False,
    ) -> list[tuple[ConfigResource, Verdict]]:
        """Replace all overrides of each resource (the older request)."""
        return await self._submit(
            lambda image: self._shard.alter_configs(image, resources, validate_only=validate_only)
        )

    async def incremental_alter_configs(
        self,
        resources: Sequence[tuple[ConfigResource, Sequence[AlterOp]]],
        *,
        validate_only: bool = False,
    ) -> list[tuple[ConfigResource, Verdict]]:
        """Change single overrides of each resource."""
        return await self._submit(
            lambda image: self._shard.incremental_alter_configs(
                image, resources, validate_only=validate_only
            )
        )

    async def update_features(
        self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
    ) -> list[tuple[str, Verdict]]:
        """Change finalised feature levels, all or none."""
        return await self._submit(
            lambda image: self._shard.update_features(image, updates, validate_only=validate_only)
        )

    async def allocate_producer_ids(self, broker_id: int) -> ProducerIdBlock:
        """A block of producer ids that nobody had and nobody else will have."""
        return await self._submit(lambda image: self._shard.allocate_producer_ids(image, broker_id))

    def _claim(self, broker: BrokerRegistration, controller_epoch: int) -> list[Op]:
        now_ms = self._clock.now_ms()
        registration = layout.broker_json(broker, self._security_protocols, now_ms)
        return [
            Create(
                layout.CONTROLLER, layout.controller_json(self._node_id, now_ms), ephemeral=True
            ),
            Set(
                layout.CONTROLLER_EPOCH,
                str(controller_epoch).encode(),
                self._epoch_node_version - 1,
            ),
            Create(f"{layout.BROKER_IDS}/{broker.id}", registration, ephemeral=True),
        ]

    async def _renew_leaderships(self, clean_shutdown: bool) -> None:
        def decide(image: MetadataImage) -> Outcome[None]:
            due = elections.after_registration(image, self._node_id, resumes=clean_shutdown)
            return Outcome(tuple(due), None)

        await self._submit(decide)

    async def _submit(self, decide: Callable[[MetadataImage], Outcome[T]]) -> T:
        if len(self._calls) >= QUEUE_CALLS_MAX:
            raise ApiError(Err.REQUEST_TIMED_OUT, "The controller is busy; try again later.")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._calls.append(_Call(decide, future))
        if self._drainer is None:
            self._drainer = loop.create_task(self._drain(), name="controller")
        return await future

    async def _drain(self) -> None:
        """Work until nothing is queued; runs on its own, so a cancelled caller stops no other."""
        try:
            while self._calls:
                steps, ops = self._decide()
                error = await self._commit(ops, steps[-1].after) if ops else None
                for step in steps:
                    self._publish(step, error)
        finally:
            self._drainer = None

    def _decide(self) -> tuple[list[_Step], list[Op]]:
        """Decide what is queued, each on the image the one before it leaves behind."""
        image = self._image
        steps: list[_Step] = []
        ops: list[Op] = []
        while self._calls and len(ops) < BATCH_OPS_MAX:
            call = self._calls.popleft()
            delta: Delta | None = None
            reply: Any
            try:
                outcome = call.decide(image)
                reply = outcome.reply
                if outcome.records:
                    after, delta = apply(image, outcome.records)
                    ops += layout.writes(outcome.records, image, after)
                    image = after
            except Exception as error:  # noqa: BLE001 (the caller gets it; the others go on)
                reply = error
            steps.append(_Step(call.future, image, delta, reply))
        return steps, ops

    async def _commit(self, ops: list[Op], after: MetadataImage) -> Exception | None:
        """Write one batch; the error when it did not happen."""
        try:
            await self._store.multi([layout.fence(self._epoch_node_version), *ops])
        except OutcomeUnknown as error:
            return await self._settle(after, error)
        except StoreError as error:
            return _translated(error)
        except Exception as error:  # noqa: BLE001 (a bug: the callers get it, none is left waiting)
            return error
        return None

    async def _settle(self, after: MetadataImage, error: StoreError) -> ApiError | None:
        """Read back whether a commit of unknown outcome happened. Only we write, so it is plain."""
        try:
            found = layout.read_image(await self._store.tree("/"))
        except StoreError as again:
            return _translated(again)
        if replace(found, version=0) == replace(after, version=0):
            return None
        return _translated(error)

    def _publish(self, step: _Step, error: Exception | None) -> None:
        if error is None and step.delta is not None:
            self._image = step.after
            for subscriber in self._subscribers:
                try:
                    subscriber(step.after, step.delta)
                except Exception:
                    log.exception("a metadata subscriber failed at version %d", step.after.version)
        if step.future.done():
            return  # the caller was cancelled; the change stands
        failure = error or (step.reply if isinstance(step.reply, Exception) else None)
        if failure is not None:
            step.future.set_exception(failure)
        else:
            step.future.set_result(step.reply)


def _translated(error: StoreError) -> ApiError:
    if isinstance(error, SessionLost) or (
        isinstance(error, BadVersion) and error.path == layout.CONTROLLER_EPOCH
    ):
        return ApiError(Err.NOT_CONTROLLER, "This broker is no longer the controller.")
    return ApiError(Err.KAFKA_STORAGE_ERROR, f"The metadata could not be stored: {error}")


def _missing_nodes(nodes: Mapping[str, Any]) -> list[Op]:
    """What a new tree lacks, parents first."""
    missing: dict[str, Op] = {}
    for path in layout.PERSISTENT_PATHS:
        chain = [path]
        while (parent := parent_of(chain[-1])) != "/":
            chain.append(parent)
        for step in reversed(chain):
            if step not in nodes:
                missing.setdefault(step, Create(step))
    for create in layout.initial_nodes():
        if create.path not in nodes:
            missing[create.path] = create
    return list(missing.values())
