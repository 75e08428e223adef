"""Replica assignments: what a manual one must look like, and the partition that comes of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from odradek.errors import ApiError, Err
from odradek.metadata.image import NO_LEADER, MetadataImage, PartitionImage

PARTITIONS_PER_REQUEST_MAX: Final = 10_000  # as Kafka: bounds what one request can cost everybody


def too_many() -> ApiError:
    """The answer to a request for too much at once."""
    return ApiError(
        Err.POLICY_VIOLATION,
        f"One request can create at most {PARTITIONS_PER_REQUEST_MAX} partitions; split it.",
    )


def check_assignments(
    image: MetadataImage, assignments: Sequence[Sequence[int]], replication_factor: int
) -> None:
    """ApiError unless each assignment names so many registered brokers, each once."""
    for replicas in assignments:
        if not replicas:
            raise bad_assignment("A replica assignment is empty.")
        if len(set(replicas)) != len(replicas):
            raise bad_assignment(f"Replica assignment {list(replicas)} names a broker twice.")
        for broker in replicas:
            if broker not in image.brokers:
                raise bad_assignment(
                    f"Replica assignment {list(replicas)} names broker {broker}, which is not"
                    f" registered; known brokers: {sorted(image.brokers)}."
                )
        if len(replicas) != replication_factor:
            raise bad_assignment(
                f"Replica assignment {list(replicas)} has {len(replicas)} replicas where the"
                f" topic has {replication_factor}; all partitions need the same number."
            )


def bad_assignment(message: str) -> ApiError:
    """The answer to an assignment that cannot be."""
    return ApiError(Err.INVALID_REPLICA_ASSIGNMENT, message)


def new_partition(image: MetadataImage, replicas: Sequence[int]) -> PartitionImage:
    """A fresh partition: every living replica is in sync, the first of them leads."""
    isr = tuple(replica for replica in replicas if replica in image.brokers)
    return PartitionImage(tuple(replicas), isr, isr[0] if isr else NO_LEADER)
