"""Decisions about a topic's number of partitions, which can only grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from odradek.controller.assignments import (
    PARTITIONS_PER_REQUEST_MAX,
    bad_assignment,
    check_assignments,
    new_partition,
    too_many,
)
from odradek.controller.outcome import OK, Outcome, Verdict
from odradek.controller.placement import place_replicas
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage, TopicImage
from odradek.metadata.records import MetadataRecord, PartitionsAdded


class MorePartitions(NamedTuple):
    """The number of partitions a topic shall have, and, if given, where the new ones go."""

    topic: str
    num_partitions: int
    assignments: Sequence[Sequence[int]] | None = None


def create_partitions(
    image: MetadataImage, requests: Sequence[MorePartitions], *, validate_only: bool = False
) -> Outcome[list[tuple[str, Verdict]]]:
    """Add partitions to topics. The count must grow; keys then map to other partitions."""
    occurrences = Counter(request.topic for request in requests)
    records: list[MetadataRecord] = []
    results: dict[str, Verdict] = {}
    for request in requests:
        try:
            if occurrences[request.topic] > 1:
                raise ApiError(Err.INVALID_REQUEST, "Duplicate topic name.")
            records.append(_grow(image, request))
        except ApiError as error:
            results[request.topic] = Verdict.of(error)
            continue
        results[request.topic] = OK
    return Outcome(() if validate_only else tuple(records), list(results.items()))


def _grow(image: MetadataImage, request: MorePartitions) -> PartitionsAdded:
    topic = image.topics.get(request.topic)
    if topic is None:
        raise ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{request.topic}' does not exist.")
    now = len(topic.partitions)
    if request.num_partitions == now:
        raise ApiError(Err.INVALID_PARTITIONS, f"Topic already has {now} partition(s).")
    if request.num_partitions < now:
        raise ApiError(
            Err.INVALID_PARTITIONS,
            f"Topic '{topic.name}' currently has {now} partition(s);"
            f" {request.num_partitions} would not be an increase, and none can be taken away.",
        )
    added = request.num_partitions - now
    if added > PARTITIONS_PER_REQUEST_MAX:
        raise too_many()
    replicas = _added_replicas(image, topic, request, added)
    return PartitionsAdded(topic.name, tuple(new_partition(image, r) for r in replicas))


def _added_replicas(
    image: MetadataImage, topic: TopicImage, request: MorePartitions, added: int
) -> Sequence[Sequence[int]]:
    if request.assignments is None:
        return place_replicas(
            image.brokers.values(),
            added,
            topic.replication_factor,
            start=_start_of(image, topic),
            first_partition=len(topic.partitions),
        )
    if len(request.assignments) != added:
        raise bad_assignment(
            f"{added} partition(s) are to be added, but {len(request.assignments)} replica"
            " assignment(s) were given."
        )
    check_assignments(image, request.assignments, topic.replication_factor)
    return request.assignments


def _start_of(image: MetadataImage, topic: TopicImage) -> int:
    """Go on dealing where the topic began, so that a grown topic is as even as a new one."""
    brokers = sorted(image.brokers)
    first = topic.partitions[0].replicas[0]
    return brokers.index(first) if first in brokers else 0
