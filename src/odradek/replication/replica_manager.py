"""The partitions of this broker, found by topic name or id, kept in step with the metadata image.

Appending raises the high watermark at once when this broker is the only in-sync replica; otherwise the
followers' fetches do. Either way the requests parked on the partition are told. Owned by the loop's
thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final
from uuid import UUID

from odradek.config.topic import TopicConfig
from odradek.errors import ApiError, Err
from odradek.interfaces import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import MetadataImage, ResourceType, TopicImage
from odradek.records.validation import CheckedBatches
from odradek.replication.partition import Partition
from odradek.storage.log_manager import LogManager
from odradek.storage.log_values import AppendResult, Origin
from odradek.types import TopicPartition

log = logging.getLogger(__name__)

TopicConfigOf = Callable[[Mapping[str, str]], TopicConfig]
_NO_PARTITIONS: Final[dict[int, Partition]] = {}
ACKS_ALL: Final = -1
# Logs made in one turn of the loop: making one takes four files, about a millisecond on a busy disk.
LOGS_PER_TURN: Final = 16


class ReplicaManager:
    """All partitions that have a replica here."""

    def __init__(
        self, node_id: int, logs: LogManager, topic_config: TopicConfigOf, timers: Timers
    ) -> None:
        self._node_id = node_id
        self._timers = timers
        self._logs = logs
        self._topic_config = topic_config
        self._by_name: dict[str, dict[int, Partition]] = {}
        # By the 16 bytes of the topic's id, as they stand in requests.
        self._by_id: dict[bytes, dict[int, Partition]] = {}
        self._image = MetadataImage()
        # Partitions whose logs are still to be made, a few per turn of the loop, as an ordered set;
        # whoever asks for one gets it made at once.
        self._to_make: dict[TopicPartition, None] = {}
        # Replicas that should be here and have no log: their log dir is offline.
        self._without_log: set[TopicPartition] = set()

    # -- finding -------------------------------------------------------------------------------

    def find(self, topic: str, index: int) -> Partition:
        """The partition of that name, or ApiError(UNKNOWN_TOPIC_OR_PARTITION)."""
        partition = self._by_name.get(topic, _NO_PARTITIONS).get(index)
        return partition if partition is not None else self._make_now(TopicPartition(topic, index))

    def find_by_id(self, topic_id: bytes, index: int) -> Partition:
        """The partition of the topic with that id, or ApiError(UNKNOWN_TOPIC_ID)."""
        partitions = self._by_id.get(topic_id)
        if partitions is None:
            raise ApiError(Err.UNKNOWN_TOPIC_ID)
        partition = partitions.get(index)
        if partition is not None:
            return partition
        topic = self._image.topics_by_id.get(UUID(bytes=topic_id))
        if topic is None:
            raise ApiError(Err.UNKNOWN_TOPIC_ID)
        return self._make_now(TopicPartition(topic.name, index))

    def _make_now(self, tp: TopicPartition) -> Partition:
        """A partition that is not there yet because its log is still to be made."""
        if tp in self._to_make:
            self._make(tp, is_new=True)
        partition = self._by_name.get(tp.topic, _NO_PARTITIONS).get(tp.partition)
        if partition is not None:
            return partition
        if tp in self._without_log:
            raise ApiError(Err.KAFKA_STORAGE_ERROR)
        raise ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION)

    def partitions(self) -> Iterator[Partition]:
        """Every partition, for metrics and housekeeping."""
        for partitions in self._by_name.values():
            yield from partitions.values()

    def count(self) -> int:
        """How many partitions have a replica here."""
        return sum(len(partitions) for partitions in self._by_name.values())

    # -- appending -----------------------------------------------------------------------------

    def append(
        self,
        partition: Partition,
        data: memoryview,
        acks: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        checked: CheckedBatches | None = None,
    ) -> AppendResult:
        """Append a client's or a coordinator's batch as the leader; ApiError says why not."""
        partition.check_leader()
        log_ = partition.log
        if acks == ACKS_ALL and len(partition.isr) < log_.config.min_insync_replicas:
            raise ApiError(
                Err.NOT_ENOUGH_REPLICAS,
                f"{partition.topic_partition} has {len(partition.isr)} in-sync replicas, "
                f"min.insync.replicas is {log_.config.min_insync_replicas}",
            )
        result = log_.append(
            data,
            leader_epoch=partition.leader_epoch,
            now_ms=now_ms,
            origin=origin,
            checked=checked,
        )
        if partition.maybe_advance_high_watermark() and partition.waiting:
            self._tell(partition, result.size_bytes)
        return result

    def _tell(self, partition: Partition, appended_bytes: int) -> None:
        for waiter in tuple(partition.waiting):
            waiter.on_append(partition, appended_bytes)
            waiter.on_high_watermark(partition)

    # -- following the metadata ----------------------------------------------------------------

    def load(self, image: MetadataImage) -> None:
        """Take over the partitions whose logs were opened at start."""
        self._image = image
        for topic in image.topics.values():
            self._update_topic(topic)
        for tp in tuple(self._to_make):
            self._make(tp, is_new=False)

    def apply(self, image: MetadataImage, delta: Delta) -> None:
        """Follow a step of the metadata."""
        self._image = image
        was_making = bool(self._to_make)
        for topic in delta.removed:
            self._remove_topic(topic)
        for topic in delta.created:
            self._update_topic(topic)
        for name in delta.changed_partitions:
            self._update_topic(image.topics[name])
        for resource in delta.changed_configs:
            if resource.type is ResourceType.TOPIC and resource.name in image.topics:
                self._configure(image.topics[resource.name])
        if self._to_make and not was_making:
            self._make_some()

    def close(self) -> None:
        """Make no more logs; what is missing is made at the next start."""
        self._to_make.clear()

    def reconfigure(self, image: MetadataImage) -> None:
        """Give every log its settings again: the broker's defaults have changed."""
        for topic in image.topics.values():
            self._configure(topic)

    def _configure(self, topic: TopicImage) -> None:
        config = self._topic_config(topic.overrides)
        for partition in self._by_name.get(topic.name, _NO_PARTITIONS).values():
            partition.log.update_config(config)

    def _update_topic(self, topic: TopicImage) -> None:
        partitions = self._by_name.setdefault(topic.name, {})
        self._by_id[topic.id.bytes] = partitions
        for index, image in enumerate(topic.partitions):
            if self._node_id in image.replicas:
                partition = partitions.get(index)
                if partition is not None:
                    partition.become(image)
                else:
                    self._to_make[TopicPartition(topic.name, index)] = None

    def _make_some(self) -> None:
        for tp in tuple(islice(self._to_make, LOGS_PER_TURN)):
            self._make(tp, is_new=True)
        if self._to_make:
            self._timers.call_later(0, self._make_some)

    def _make(self, tp: TopicPartition, *, is_new: bool) -> None:
        """Open or create the log of a partition."""
        del self._to_make[tp]
        topic = self._image.topics[tp.topic]
        try:
            log_ = self._logs.get(*tp)
            if log_ is None:
                config = self._topic_config(topic.overrides)
                log_ = self._logs.create(*tp, topic.id, config, is_new=is_new)
        except ApiError as error:
            log.error("%s has no log: %s", tp, error)
            self._without_log.add(tp)
            return
        partition = Partition(tp, topic.id, self._node_id, log_)
        partition.become(topic.partitions[tp.partition])
        self._by_name[tp.topic][tp.partition] = partition

    def _remove_topic(self, topic: TopicImage) -> None:
        self._by_id.pop(topic.id.bytes, None)
        self._without_log = {tp for tp in self._without_log if tp.topic != topic.name}
        self._to_make = {tp: None for tp in self._to_make if tp.topic != topic.name}
        for index, partition in self._by_name.pop(topic.name, {}).items():
            partition.leader_id = -1
            _tell_gone(partition)
            try:
                self._logs.delete(topic.name, index)
            except ApiError as error:
                log.error("the log of %s is left: %s", partition.topic_partition, error)

    # -- failing -------------------------------------------------------------------------------

    def dir_failed(self, affected: Iterable[TopicPartition]) -> None:
        """A log dir went offline: whoever waits for its partitions is told."""
        for tp in affected:
            partition = self._by_name.get(tp.topic, _NO_PARTITIONS).get(tp.partition)
            if partition is not None:
                _tell_gone(partition)


def _tell_gone(partition: Partition) -> None:
    for waiter in tuple(partition.waiting):
        waiter.on_gone(partition)
