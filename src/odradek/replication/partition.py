"""A partition as its broker sees it: leadership, in-sync replicas, high watermark (pure).

The leader's high watermark is the smallest log end offset among the in-sync replicas; with one replica
that is its own. Consumers see nothing at or above it. Every change of leadership carries a leader epoch
(KIP-101, KIP-320): a client that knows a newer or older epoch is told so before it reads or writes.

Owned by the loop's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from odradek.errors import ApiError, Err
from odradek.metadata.image import PartitionImage
from odradek.types import NO_LEADER_EPOCH, TopicPartition

if TYPE_CHECKING:
    from odradek.storage.partition_log import PartitionLog


class Partition:
    """One replica of a partition, and, where this broker leads it, what it knows of the others."""

    __slots__ = (
        "isr",
        "leader_epoch",
        "leader_id",
        "log",
        "node_id",
        "partition_epoch",
        "remote_end_offsets",
        "replicas",
        "topic_id",
        "topic_partition",
        "waiting",
    )

    def __init__(
        self, topic_partition: TopicPartition, topic_id: UUID, node_id: int, log: PartitionLog
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.node_id = node_id
        self.log = log
        self.leader_id = -1
        self.leader_epoch = NO_LEADER_EPOCH
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        # Log end offsets that followers have shown by fetching; filled on the leader only.
        self.remote_end_offsets: dict[int, int] = {}
        # Operations of `purgatory` that wait for this partition, as an insertion-ordered set.
        self.waiting: dict[Waiter, None] = {}

    def become(self, image: PartitionImage) -> None:
        """Follow a change of the metadata: new leader, new epoch, new in-sync set."""
        self.replicas = image.replicas
        self.isr = image.isr
        self.partition_epoch = image.partition_epoch
        self.leader_id = image.leader
        if image.leader_epoch > self.leader_epoch:
            self.leader_epoch = image.leader_epoch
            if self.is_leader:
                self.log.assign_epoch(image.leader_epoch, self.log.log_end_offset)
        self.remote_end_offsets = {
            replica: self.remote_end_offsets.get(replica, -1)
            for replica in image.replicas
            if replica != self.node_id
        }
        self.maybe_advance_high_watermark()

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads the partition."""
        return self.leader_id == self.node_id

    @property
    def high_watermark(self) -> int:
        """Everything below is on all in-sync replicas."""
        return self.log.high_watermark

    def maybe_advance_high_watermark(self) -> bool:
        """Raise the high watermark to what all in-sync replicas have; it never falls."""
        log = self.log
        lowest = log.log_end_offset
        for replica in self.isr:
            if replica != self.node_id:
                lowest = min(lowest, self.remote_end_offsets.get(replica, -1))
        if lowest > log.high_watermark:
            log.high_watermark = lowest
            return True
        return False

    def check_leader(self, current_leader_epoch: int = NO_LEADER_EPOCH) -> None:
        """Refuse a request meant for the leader when this is not it, or of another epoch."""
        if current_leader_epoch != NO_LEADER_EPOCH and current_leader_epoch != self.leader_epoch:
            if current_leader_epoch < self.leader_epoch:
                raise ApiError(Err.FENCED_LEADER_EPOCH)
            raise ApiError(Err.UNKNOWN_LEADER_EPOCH)
        if self.leader_id != self.node_id:
            raise ApiError(Err.NOT_LEADER_OR_FOLLOWER)


class Waiter:
    """Something that waits for a partition to change; see `purgatory`."""

    __slots__ = ()

    def on_append(self, partition: Partition, appended_bytes: int) -> None:
        """Records were appended and may be seen by consumers."""

    def on_high_watermark(self, partition: Partition) -> None:
        """The high watermark rose."""

    def on_gone(self, partition: Partition) -> None:
        """The partition was deleted, or its log dir went offline."""
