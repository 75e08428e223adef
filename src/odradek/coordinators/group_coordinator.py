"""The group coordinator as handlers see it: finds a group's shard, and what concerns many shards.

A group belongs to the partition of `__consumer_offsets` that its id hashes to, by Java's hash of the
text, so that every broker and every tool agrees. All methods run on the loop's thread; they answer at
once, or with a coroutine while records are being replicated.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.runtime import CoordinatorRuntime
from odradek.coordinators.shard import Outcome
from odradek.errors import ApiError, Err

T = TypeVar("T")
OFFSETS_TOPIC: Final = "__consumer_offsets"


class GroupCoordinator:
    """All groups whose coordinator is this broker."""

    def __init__(self, runtime: CoordinatorRuntime[GroupShard]) -> None:
        self.runtime: Final = runtime

    def partition_for(self, group_id: str) -> int:
        """The partition of the offsets topic that holds the group."""
        count = self.runtime.partition_count
        if not count:
            raise ApiError(Err.COORDINATOR_NOT_AVAILABLE, "the offsets topic does not exist yet")
        return partition_for(group_id, count)

    def write(
        self, group_id: str, handler: Callable[[GroupShard], Outcome[T]]
    ) -> T | Coroutine[Any, Any, T]:
        """Run a handler on the group's shard; see `CoordinatorRuntime.write`."""
        return self.runtime.write(self.partition_for(group_id), handler)

    def read(self, group_id: str, query: Callable[[GroupShard], T]) -> T | Coroutine[Any, Any, T]:
        """Ask the group's shard; see `CoordinatorRuntime.read`."""
        return self.runtime.read(self.partition_for(group_id), query)

    def end_transaction(
        self,
        partition: int,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        committed: bool,
    ) -> Coroutine[Any, Any, None] | None:
        """Write the marker that decides about offsets committed in a transaction."""
        return self.runtime.end_transaction(
            partition,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            committed=committed,
        )


def partition_for(key: str, partition_count: int) -> int:
    """The partition of an internal topic that holds a group or a transactional id."""
    return java_hash(key) % partition_count


def java_hash(text: str) -> int:
    """The absolute value of Java's String.hashCode, as Kafka takes it (0 for the smallest int)."""
    value = 0
    if text.isascii():
        for unit in text.encode():
            value = (31 * value + unit) & 0xFFFFFFFF
    else:
        utf16 = text.encode("utf-16-be", "surrogatepass")
        for i in range(0, len(utf16), 2):
            value = (31 * value + (utf16[i] << 8 | utf16[i + 1])) & 0xFFFFFFFF
    if value < 0x80000000:
        return value
    return 0x100000000 - value if value != 0x80000000 else 0
