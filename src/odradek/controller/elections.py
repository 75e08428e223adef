"""Who leads a partition: the first living replica that is in sync.

Pure functions over an image. A leadership ends with the process that held it: when a broker
registers again, every partition it led gets a new leader epoch, even if the same broker leads on,
because a crash may have cost it records that others have read, and the epoch is how they find out
(KIP-101, KIP-320). Only a broker that is sure to have lost nothing may go on under its old epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from odradek.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from odradek.metadata.records import MetadataRecord, PartitionChanged


def elect(partition: PartitionImage, living: frozenset[int]) -> PartitionImage:
    """The partition with a leader of the next epoch; NO_LEADER when no replica in sync lives."""
    leader = next((r for r in partition.replicas if r in living and r in partition.isr), NO_LEADER)
    return replace(
        partition,
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )


def after_registration(
    image: MetadataImage, broker_id: int, *, resumes: bool = False
) -> Iterator[MetadataRecord]:
    """The elections due when `broker_id` has (again) come up; `image` holds its registration.

    `resumes`: it lost nothing since it led, so its leaderships go on as they were.
    """
    living = frozenset(image.brokers)
    renewed = frozenset() if resumes else frozenset({broker_id})
    for topic in image.topics.values():
        for index, partition in enumerate(topic.partitions):
            ended = partition.leader in renewed or partition.leader not in living
            if ended and not living.isdisjoint(partition.isr):
                yield PartitionChanged(topic.name, index, elect(partition, living))
