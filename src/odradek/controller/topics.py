"""Decisions about topics: create and delete.

Pure functions over a metadata image. Each request is a list; every item gets its own verdict, and
one bad item does not stop the others. Nothing changes here: the records do, once they are
committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from odradek.config import resolve
from odradek.config.broker import BrokerConfig
from odradek.controller.assignments import (
    PARTITIONS_PER_REQUEST_MAX,
    bad_assignment,
    check_assignments,
    new_partition,
    too_many,
)
from odradek.controller.names import (
    RESERVED_NAMES,
    check_collision,
    check_name,
    collision_key,
    collision_keys,
    has_collision_chars,
)
from odradek.controller.outcome import OK, Outcome, Verdict
from odradek.controller.placement import place_replicas
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage, TopicImage
from odradek.metadata.records import (
    MetadataRecord,
    TopicCreated,
    TopicRemoved,
)
from odradek.types import ZERO_UUID

DEFAULT: Final = -1

Assignments = Sequence[tuple[int, Sequence[int]]]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic that somebody wants. -1 is the broker's default; assignments replace both counts."""

    name: str
    num_partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Assignments = ()
    configs: Mapping[str, str | None] = field(default_factory=dict)


class CreatedTopic(NamedTuple):
    """What became of a NewTopic."""

    name: str
    verdict: Verdict
    id: UUID = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    overrides: Mapping[str, str] = {}


class TopicRef(NamedTuple):
    """A topic by name or by id; exactly one is given in a well-formed request."""

    name: str | None = None
    id: UUID = ZERO_UUID


class DeletedTopic(NamedTuple):
    """What became of a topic to delete; the name is known whenever the id was."""

    name: str | None
    id: UUID
    verdict: Verdict


def create_topics(
    image: MetadataImage,
    config: BrokerConfig,
    topics: Sequence[NewTopic],
    new_id: Callable[[], UUID],
    *,
    validate_only: bool = False,
) -> Outcome[list[CreatedTopic]]:
    """Create topics. With `validate_only` the verdicts are the same and nothing is created."""
    repeated = _repeated(topic.name for topic in topics)
    confusable = any(has_collision_chars(topic.name) for topic in topics)
    taken = collision_keys(image) if confusable else {}
    records: list[MetadataRecord] = []
    results: dict[str, CreatedTopic] = {}
    partitions_left = PARTITIONS_PER_REQUEST_MAX
    for place, topic in enumerate(topics):
        try:
            if topic.name in repeated:
                raise ApiError(Err.INVALID_REQUEST, "Duplicate topic name.")
            created = _create(image, config, topic, taken, new_id, place, partitions_left)
        except ApiError as error:
            results[topic.name] = CreatedTopic(topic.name, Verdict.of(error))
            continue
        partitions_left -= len(created.partitions)
        records.append(created)
        results[topic.name] = _created_topic(created)
    return Outcome(() if validate_only else tuple(records), list(results.values()))


def delete_topics(
    image: MetadataImage, config: BrokerConfig, topics: Sequence[TopicRef]
) -> Outcome[list[DeletedTopic]]:
    """Delete topics by name or by id."""
    if not config.delete_topic_enable:
        verdict = Verdict(
            Err.TOPIC_DELETION_DISABLED,
            "Topic deletion is disabled; set delete.topic.enable=true to allow it.",
        )
        return Outcome((), [DeletedTopic(ref.name, ref.id, verdict) for ref in topics])
    repeated = _repeated(_identity(image, ref) for ref in topics)
    records: list[MetadataRecord] = []
    results: dict[TopicRef, DeletedTopic] = {}
    for ref in topics:
        try:
            if ref in results or _identity(image, ref) in repeated:
                raise ApiError(Err.INVALID_REQUEST, "Duplicate topic name or id.")
            topic = _find(image, ref)
        except ApiError as error:
            results[ref] = DeletedTopic(ref.name, ref.id, Verdict.of(error))
            continue
        records.append(TopicRemoved(topic.name))
        results[ref] = DeletedTopic(topic.name, topic.id, OK)
    return Outcome(tuple(records), list(results.values()))


def _create(
    image: MetadataImage,
    config: BrokerConfig,
    topic: NewTopic,
    taken: dict[str, str],
    new_id: Callable[[], UUID],
    place: int,
    partitions_left: int,
) -> TopicCreated:
    check_name(topic.name)
    if topic.name in RESERVED_NAMES:
        raise ApiError(Err.INVALID_REQUEST, f"Topic {topic.name} is reserved; choose another name.")
    if topic.name in image.topics:
        raise ApiError(Err.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    check_collision(topic.name, taken)
    replicas = _replicas_of(image, config, topic, place, partitions_left)
    overrides = _overrides(topic.configs)
    resolve.validate_topic_overrides(overrides, config)
    taken[collision_key(topic.name)] = topic.name
    partitions = tuple(new_partition(image, r) for r in replicas)
    return TopicCreated(topic.name, new_id(), partitions, overrides)


def _replicas_of(
    image: MetadataImage, config: BrokerConfig, topic: NewTopic, place: int, partitions_left: int
) -> Sequence[Sequence[int]]:
    if topic.assignments:
        return _assigned(image, topic)
    num_partitions = (
        config.num_partitions if topic.num_partitions == DEFAULT else topic.num_partitions
    )
    replication_factor = (
        config.default_replication_factor
        if topic.replication_factor == DEFAULT
        else topic.replication_factor
    )
    if replication_factor <= 0:
        raise ApiError(
            Err.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 for the broker's default.",
        )
    if num_partitions <= 0:
        raise ApiError(
            Err.INVALID_PARTITIONS,
            "Number of partitions must be larger than 0, or -1 for the broker's default.",
        )
    if num_partitions > partitions_left:
        raise too_many()
    start = image.version + place  # spreads leaders of successive topics without a random number
    return place_replicas(image.brokers.values(), num_partitions, replication_factor, start=start)


def _assigned(image: MetadataImage, topic: NewTopic) -> Sequence[Sequence[int]]:
    """A manual assignment, checked: partitions 0…n-1 once each, known brokers, equal sizes."""
    for name, value in (
        ("partition count", topic.num_partitions),
        ("replication factor", topic.replication_factor),
    ):
        if value != DEFAULT:
            raise ApiError(
                Err.INVALID_REQUEST,
                f"Replicas are assigned by hand, so the {name} must be -1, not {value}.",
            )
    replicas = dict(topic.assignments)
    if len(replicas) != len(topic.assignments) or sorted(replicas) != list(range(len(replicas))):
        raise bad_assignment("Assigned partitions must be numbered 0, 1, 2 … with each one once.")
    if len(replicas) > PARTITIONS_PER_REQUEST_MAX:
        raise too_many()
    ordered = [replicas[index] for index in range(len(replicas))]
    check_assignments(image, ordered, len(ordered[0]))
    return ordered


def _overrides(configs: Mapping[str, str | None]) -> dict[str, str]:
    overrides = {}
    for key, value in configs.items():
        if value is None:
            raise ApiError(
                Err.INVALID_CONFIG, f"Topic config {key} has no value; leave it out instead."
            )
        overrides[key] = value
    return overrides


def _find(image: MetadataImage, ref: TopicRef) -> TopicImage:
    if ref.name is not None and ref.id != ZERO_UUID:
        raise ApiError(Err.INVALID_REQUEST, "Give a topic's name or its id, not both.")
    if ref.name is None and ref.id == ZERO_UUID:
        raise ApiError(Err.INVALID_REQUEST, "Give a topic's name or its id.")
    if ref.name is not None:
        topic = image.topics.get(ref.name)
        if topic is None:
            raise ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{ref.name}' does not exist.")
        return topic
    topic = image.topics_by_id.get(ref.id)
    if topic is None:
        raise ApiError(Err.UNKNOWN_TOPIC_ID, "No topic has this id.")
    return topic


def _identity(image: MetadataImage, ref: TopicRef) -> object:
    """What makes two references the same topic, whichever way they name it."""
    topic = image.topics_by_id.get(ref.id) if ref.name is None else None
    return ref if topic is None else TopicRef(name=topic.name)


def _created_topic(record: TopicCreated) -> CreatedTopic:
    return CreatedTopic(
        record.name,
        OK,
        record.id,
        len(record.partitions),
        len(record.partitions[0].replicas),
        record.overrides,
    )


def _repeated(items: Iterable[object]) -> set[object]:
    return {item for item, count in Counter(items).items() if count > 1}
