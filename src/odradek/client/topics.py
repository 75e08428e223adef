"""Calls about topics: create, delete, grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from odradek.client.calls import Calls
from odradek.client.cluster import Cluster
from odradek.client.failures import error_of
from odradek.client.targets import CONTROLLER
from odradek.errors import ApiError
from odradek.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

# As the broker is configured: num.partitions, default.replication.factor (KIP-464).
BROKER_DEFAULT: Final = -1
_DEFAULTS_SINCE: Final = 4
# DeleteTopics: before, a bare list of names (brokers older than 2.8).
_STRUCTS_SINCE: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create. `assignment`: the replicas of each partition, instead of two counts."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignment: Sequence[Sequence[int]] = ()
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """What was created; counts are -1 from brokers that do not tell."""

    name: str
    topic_id: UUID
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPartitions:
    """A topic's new partition count, and optionally the replicas of those that are added."""

    topic: str
    total: int
    assignment: Sequence[Sequence[int]] | None = None


class TopicCalls(Calls):
    """Topics come, grow and go."""

    async def metadata(self, topics: Sequence[str] | None = None) -> Cluster:
        """Brokers, and the given topics (None: all topics). Never creates a topic."""
        return await self._router.metadata(topics)

    async def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False
    ) -> dict[str, CreatedTopic | ApiError]:
        """Create topics, or only check whether they could be."""
        wanted = {topic.name: topic for topic in topics}

        async def attempt(names: list[str]) -> dict[str, CreatedTopic | ApiError]:
            request = CreateTopicsRequest(
                topics=[_creatable(wanted[name]) for name in names],
                timeout_ms=self._router.settings.request_timeout_ms,
                validate_only=validate_only,
            )
            reply = await self._router.call(
                request,
                CreateTopicsResponse,
                to=CONTROLLER,
                min_version=_DEFAULTS_SINCE if any(map(_uses_defaults, wanted.values())) else 0,
                repeatable=False,
            )
            return {
                topic.name: error_of(topic.error_code, topic.error_message)
                or CreatedTopic(
                    topic.name, topic.topic_id, topic.num_partitions, topic.replication_factor
                )
                for topic in reply.topics
            }

        return await self._router.call_each("CreateTopics", wanted, attempt)

    async def delete_topics(self, names: Iterable[str]) -> dict[str, ApiError | None]:
        """Delete topics with all their records."""

        async def attempt(pending: list[str]) -> dict[str, ApiError | None]:
            reply = await self._router.call(
                DeleteTopicsRequest(
                    topics=[DeleteTopicState(name=name) for name in pending],
                    timeout_ms=self._router.settings.request_timeout_ms,
                ),
                DeleteTopicsResponse,
                to=CONTROLLER,
                min_version=_STRUCTS_SINCE,
                repeatable=False,
            )
            return {
                topic.name: error_of(topic.error_code, topic.error_message)
                for topic in reply.responses
                if topic.name is not None
            }

        return await self._router.call_each("DeleteTopics", names, attempt)

    async def create_partitions(
        self, topics: Iterable[NewPartitions], *, validate_only: bool = False
    ) -> dict[str, ApiError | None]:
        """Grow topics to a new total count of partitions."""
        wanted = {topic.topic: topic for topic in topics}

        async def attempt(names: list[str]) -> dict[str, ApiError | None]:
            reply = await self._router.call(
                CreatePartitionsRequest(
                    topics=[_grown(wanted[name]) for name in names],
                    timeout_ms=self._router.settings.request_timeout_ms,
                    validate_only=validate_only,
                ),
                CreatePartitionsResponse,
                to=CONTROLLER,
                repeatable=False,
            )
            return {
                topic.name: error_of(topic.error_code, topic.error_message)
                for topic in reply.results
            }

        return await self._router.call_each("CreatePartitions", wanted, attempt)


def _uses_defaults(topic: NewTopic) -> bool:
    return not topic.assignment and BROKER_DEFAULT in (topic.partitions, topic.replication_factor)


def _creatable(topic: NewTopic) -> CreatableTopic:
    counts = (topic.partitions, topic.replication_factor)
    partitions, replication_factor = (
        (BROKER_DEFAULT, BROKER_DEFAULT) if topic.assignment else counts
    )
    return CreatableTopic(
        name=topic.name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
            for index, replicas in enumerate(topic.assignment)
        ],
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()
        ],
    )


def _grown(topic: NewPartitions) -> CreatePartitionsTopic:
    assignments = None
    if topic.assignment is not None:
        assignments = [
            CreatePartitionsAssignment(broker_ids=list(replicas)) for replicas in topic.assignment
        ]
    return CreatePartitionsTopic(name=topic.topic, count=topic.total, assignments=assignments)
