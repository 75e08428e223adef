"""Consumer groups on a virtual clock, with members that do what the broker tells them.

`VirtualConsumerGroups` is one shard, its log, its clock and the metadata it sees. `VirtualConsumer` is a
member that obeys as real ones do: it owns what it was told, and says so when that changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.classic_in_consumer import BilingualGroups
from odradek.coordinators.groups.consumer import ConsumerGroups
from odradek.coordinators.groups.consumer_group import ConsumerGroup
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.groups.records import GROUP_RECORDS
from odradek.coordinators.shard import CoordinatorRecord
from odradek.errors import ApiError, Err
from odradek.metadata.image import (
    ConfigResource,
    MetadataImage,
    PartitionImage,
    ResourceType,
    TopicImage,
)
from odradek.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from odradek.protocol.messages.internal.group_metadata import GroupMetadataKey
from odradek.testing.virtual_shard import VirtualShardRuntime

INTERVAL_MS = 5000
SESSION_MS = 45_000
REBALANCE_MS = 60_000
ASSIGNMENT_INTERVAL_MS = 1000

Partitions = dict[str, set[int]]


class VirtualConsumerGroups:
    """A shard of consumer groups, spoken to as clients speak."""

    def __init__(self, topics: Mapping[str, int] | None = None, **settings: str) -> None:
        keys = {name.replace("_", "."): value for name, value in settings.items()}
        self.config, _ = BrokerConfig.from_strings(keys)
        self.runtime = VirtualShardRuntime(GROUP_RECORDS)
        self.image = MetadataImage()
        self.is_open = False
        self._ids = itertools.count(1)
        self._topic_numbers = itertools.count(1)
        for name, partitions in (topics or {}).items():
            self.create_topic(name, partitions)
        self._open()
        self.runtime.replay = self._replay
        self._loaded()
        self.is_open = True

    def _open(self) -> None:
        self.table = GroupTable()
        self.consumer = ConsumerGroups(
            self.table,
            lambda: self.config,
            self.runtime.timers,
            self.runtime.now_ms,
            lambda: self.image,
            lambda: f"made-up-{next(self._ids)}",
        )
        self.classic = BilingualGroups(
            self.table,
            lambda: self.config,
            self.runtime.timers,
            self.runtime.now_ms,
            lambda: self.image,
            lambda: f"classic-{next(self._ids)}",
            self.consumer,
        )

    def _replay(self, record: CoordinatorRecord) -> None:
        if isinstance(record.key, GroupMetadataKey):
            self.classic.replay(record)
        else:
            self.consumer.replay(record)

    def _loaded(self) -> None:
        self.runtime.run(self.classic.on_loaded(self.image))
        self.runtime.run(self.consumer.on_loaded(self.image))

    def crash(self) -> None:
        """The broker dies and comes back: memory is lost, the log is not."""
        self._open()
        self.runtime.restart(self._replay)
        self._loaded()

    def advance(self, milliseconds: float) -> None:
        self.runtime.advance(milliseconds)

    # -- metadata ------------------------------------------------------------------------------

    def create_topic(self, name: str, partitions: int) -> UUID:
        """Create a topic, or replace the one of this name by another with another id."""
        return self._put(name, UUID(int=next(self._topic_numbers)), partitions)

    def grow_topic(self, name: str, partitions: int) -> None:
        self._put(name, self.image.topics[name].id, partitions)

    def _put(self, name: str, topic_id: UUID, partitions: int) -> UUID:
        topics = dict(self.image.topics)
        topics[name] = TopicImage(name, topic_id, (PartitionImage((1,), (1,), 1),) * partitions)
        self._set_topics(topics)
        return topic_id

    def delete_topic(self, name: str) -> None:
        self._set_topics({n: t for n, t in self.image.topics.items() if n != name})

    def _set_topics(self, topics: Mapping[str, TopicImage]) -> None:
        self.image = MetadataImage(
            topics=topics,
            topics_by_id={t.id: t for t in topics.values()},
            resource_overrides=self.image.resource_overrides,
            version=self.image.version + 1,
        )
        if self.is_open:
            self.runtime.run(self.consumer.on_metadata(self.image))

    def configure(self, group_id: str, **overrides: str) -> None:
        """Set keys of the GROUP resource."""
        keys = {name.replace("_", "."): value for name, value in overrides.items()}
        self.image = MetadataImage(
            topics=self.image.topics,
            topics_by_id=self.image.topics_by_id,
            resource_overrides={ConfigResource(ResourceType.GROUP, group_id): keys},
            version=self.image.version + 1,
        )

    def named(self, partitions: Mapping[UUID, Iterable[int]]) -> Partitions:
        """Partitions by the names of their topics."""
        names = {t.id: t.name for t in self.image.topics.values()}
        return {names.get(i, str(i)): set(p) for i, p in partitions.items() if set(p)}

    # -- requests ------------------------------------------------------------------------------

    def send(
        self, member_id: str, epoch: int, *, version: int = 1, group_id: str = "g", **fields: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """Send a heartbeat; ApiError when it is refused."""
        owned = fields.pop("owned", None)
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id, member_id=member_id, member_epoch=epoch, **fields
        )
        if owned is not None:
            request.topic_partitions = [
                ConsumerGroupHeartbeatRequestTopicPartitions(
                    topic_id=self.image.topics[name].id if name in self.image.topics else name,
                    partitions=sorted(partitions),
                )
                for name, partitions in owned.items()
            ]
        return self.runtime.run(self.consumer.heartbeat(request, "client", "/127.0.0.1", version))

    def refused(self, member_id: str, epoch: int, **fields: Any) -> Err:
        """Send a heartbeat that must be refused; says why it was, and that nothing was written."""
        written = len(self.runtime.log)
        try:
            self.send(member_id, epoch, **fields)
        except ApiError as error:
            assert len(self.runtime.log) == written
            return error.err
        raise AssertionError(f"{member_id} was not refused at epoch {epoch}")

    def join(
        self, member_id: str, topics: Iterable[str] | None = ("t",), **fields: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """The first heartbeat of a member."""
        fields.setdefault("rebalance_timeout_ms", REBALANCE_MS)
        fields.setdefault("owned", {})
        names = list(topics) if topics is not None else None
        return self.send(member_id, 0, subscribed_topic_names=names, **fields)

    def member(
        self, member_id: str, topics: Iterable[str] | None = ("t",), **fields: Any
    ) -> VirtualConsumer:
        """A member that has joined and will obey."""
        return VirtualConsumer(self, member_id, **fields).join(topics)

    def settle(self, *members: VirtualConsumer, rounds: int = 10) -> int:
        """Let the members send heartbeats until the group is stable; how many rounds that took."""
        for done in range(rounds):
            group = self.group(members[0].group_id)
            if group.state_name == "Stable" and not any(m.says_owned for m in members):
                return done
            self.advance(ASSIGNMENT_INTERVAL_MS)
            for member in members:
                member.beat()
        raise AssertionError(f"not stable after {rounds} rounds: {self.owners()}")

    def group(self, group_id: str = "g") -> ConsumerGroup:
        group = self.table.get(group_id)
        assert isinstance(group, ConsumerGroup)
        return group

    def owners(self, group_id: str = "g") -> dict[str, Partitions]:
        """What each member owns, without what it is giving up."""
        members = self.group(group_id).members
        return {m: self.named(v.assigned) for m, v in members.items()}


class VirtualConsumer:
    """A member that obeys: it owns what it was told, and says so when that changed."""

    def __init__(self, groups: VirtualConsumerGroups, member_id: str, **fields: Any) -> None:
        self.groups = groups
        self.member_id = member_id
        self.group_id: str = fields.get("group_id", "g")
        self.fields = fields
        self.epoch = 0
        self.owned: dict[UUID, set[int]] = {}
        self.says_owned = True
        self.interval_ms = 0

    def join(self, topics: Iterable[str] | None = ("t",)) -> VirtualConsumer:
        self.owned = {}
        self._take(self.groups.join(self.member_id, topics, **self.fields))
        return self

    def beat(self) -> ConsumerGroupHeartbeatResponse:
        """One heartbeat; it says what it owns only if that changed since the last one."""
        names = {t.id: t.name for t in self.groups.image.topics.values()}
        owned = {names.get(i, i): p for i, p in self.owned.items()} if self.says_owned else None
        instance = {k: v for k, v in self.fields.items() if k in ("instance_id", "group_id")}
        reply = self.groups.send(self.member_id, self.epoch, owned=owned, **instance)
        self._take(reply)
        return reply

    def _take(self, reply: ConsumerGroupHeartbeatResponse) -> None:
        assert reply.error_code == Err.NONE
        self.epoch = reply.member_epoch
        self.interval_ms = reply.heartbeat_interval_ms
        self.says_owned = False
        if reply.assignment is not None:
            told = {e.topic_id: set(e.partitions) for e in reply.assignment.topic_partitions}
            self.says_owned = told != self.owned
            self.owned = told

    @property
    def partitions(self) -> Partitions:
        return self.groups.named(self.owned)
