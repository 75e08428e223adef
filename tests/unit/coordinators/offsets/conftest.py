"""A group shard without a runtime: outcomes are replayed at once, time moves when the test says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from odradek.config.broker import BrokerConfig
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.shard import CoordinatorRecord, Outcome
from odradek.errors import Err
from odradek.metadata.image import MetadataImage, PartitionImage, TopicImage
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

Offset = tuple[str, int, int] | tuple[str, int, int, str]


class Desk:
    """Runs handlers of one shard and keeps the log that they write."""

    def __init__(self, **keys: str) -> None:
        self.now_ms = 1_000_000
        self.log: list[tuple[int, CoordinatorRecord | None, bool]] = []
        self.timers: dict[str, tuple[float, Callable[[], Outcome[None]]]] = {}
        self.config, _ = BrokerConfig.from_strings(keys)
        self.shard = self.new_shard()

    def new_shard(self) -> GroupShard:
        return GroupShard(lambda: self.config, lambda: self.now_ms, self, uuid4)

    # What a shard asks of its timers.
    def schedule(self, key: str, delay_ms: float, operation: Callable[[], Outcome[None]]) -> None:
        self.timers[key] = (self.now_ms + delay_ms, operation)

    def cancel(self, key: str) -> None:
        self.timers.pop(key, None)

    def advance(self, milliseconds: float) -> None:
        end = self.now_ms + milliseconds
        while due := [(at, key) for key, (at, _) in self.timers.items() if at <= end]:
            at, key = min(due)
            self.now_ms = max(self.now_ms, int(at))
            self.run(self.timers.pop(key)[1]())
        self.now_ms = int(end)

    def run(self, outcome: Outcome[Any]) -> Any:
        for record in outcome.records:
            self.shard.replay(len(self.log), outcome.producer_id, outcome.producer_epoch, record)
            self.log.append((outcome.producer_id, record, False))
        outcome.then(Err.NONE)
        return outcome.reply

    def end(self, producer_id: int, *, committed: bool) -> None:
        """The transaction of a producer ends."""
        self.shard.replay_end_marker(producer_id, 0, committed)
        self.log.append((producer_id, None, committed))

    def reloaded(self) -> GroupShard:
        """A shard that knows only the log."""
        shard = self.new_shard()
        for offset, (producer_id, record, committed) in enumerate(self.log):
            if record is None:
                shard.replay_end_marker(producer_id, 0, committed)
            else:
                shard.replay(offset, producer_id, 0, record)
        return shard

    def commit(
        self,
        group: str,
        *offsets: Offset,
        generation: int = -1,
        member: str = "",
        version: int = 9,
        retention_ms: int = -1,
        topic_id: UUID = UUID(int=0),  # noqa: B008 - immutable
    ) -> list[Err]:
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=topic_id,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_metadata=note[0] if note else None,
                        )
                    ],
                )
                for topic, partition, offset, *note in offsets
            ],
        )
        response = self.run(self.shard.offsets.commit(request, version))
        return [Err(p.error_code) for topic in response.topics for p in topic.partitions]

    def commit_in(
        self, producer_id: int, group: str, *offsets: Offset, generation: int = -1
    ) -> list[Err]:
        request = TxnOffsetCommitRequest(
            transactional_id="x",
            group_id=group,
            producer_id=producer_id,
            producer_epoch=0,
            generation_id=generation,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset
                        )
                    ],
                )
                for topic, partition, offset, *_ in offsets
            ],
        )
        response = self.run(self.shard.offsets.commit_in_transaction(request, 3))
        return [Err(p.error_code) for topic in response.topics for p in topic.partitions]

    def committed(self, group: str, topic: str = "t", partition: int = 0, **more: Any) -> int:
        more.setdefault("require_stable", False)
        found = self.shard.offsets.fetch(group, topic, partition, **more)
        assert found.err is Err.NONE
        return found.offset

    def groups(self) -> list[str]:
        return sorted(group.group_id for group in self.shard.table)


def image_of(*topics: str) -> MetadataImage:
    partition = PartitionImage(replicas=(1,), isr=(1,), leader=1)
    images = {name: TopicImage(name, uuid4(), (partition,) * 3) for name in topics}
    return MetadataImage(topics=images, topics_by_id={t.id: t for t in images.values()})


@pytest.fixture
def desk() -> Desk:
    """A shard whose metadata has the topics t and u."""
    desk = Desk()
    desk.run(desk.shard.on_loaded(image_of("t", "u")))
    return desk


@pytest.fixture
def image() -> Callable[..., MetadataImage]:
    return image_of
