"""Metadata: brokers, topics and who leads what, as seen from the listener that was asked.

The bytes of a topic are encoded once per image and version and reused, so that a client that asks for
two thousand partitions costs a join. An unknown topic is created on the way when both the client and
`auto.create.topics.enable` allow it, and is already there in the same answer.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, Final
from uuid import UUID

from odradek.controller.topics import NewTopic
from odradek.errors import Err
from odradek.metadata.image import MetadataImage, TopicImage
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.server.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from odradek.server.context import Context
from odradek.server.internal_topics import is_internal
from odradek.server.registry import handles
from odradek.types import ZERO_UUID

# The first version whose requests may name topics by id; v0 has no way to ask for "no topics".
_IDS_FROM: Final = 12
_AUTO_CREATE_FROM: Final = 4


@handles(ApiKey.METADATA, versions=range(14))
def metadata(
    context: Context, request: MetadataRequest
) -> MetadataResponse | Coroutine[Any, Any, MetadataResponse]:
    """Answer from the image; wait only when topics are to be created."""
    image = context.image
    missing = _to_create(context, request, image)
    if missing:
        return _create_and_answer(context, request, missing)
    return _answer(context, request, image, {})


def _to_create(context: Context, request: MetadataRequest, image: MetadataImage) -> list[str]:
    if request.topics is None or not context.config.auto_create_topics_enable:
        return []
    if context.api_version >= _AUTO_CREATE_FROM and not request.allow_auto_topic_creation:
        return []
    return [t.name for t in request.topics if t.name is not None and t.name not in image.topics]


async def _create_and_answer(
    context: Context, request: MetadataRequest, names: Iterable[str]
) -> MetadataResponse:
    errors: dict[str, Err] = {}
    for created in await context.controller.create_topics(
        [NewTopic(n) for n in dict.fromkeys(names)]
    ):
        if created.verdict.err not in (Err.NONE, Err.TOPIC_ALREADY_EXISTS):
            errors[created.name] = created.verdict.err
    return _answer(context, request, context.image, errors)


def _answer(
    context: Context, request: MetadataRequest, image: MetadataImage, errors: dict[str, Err]
) -> MetadataResponse:
    version = context.api_version
    everything = request.topics is None or (version == 0 and not request.topics)
    if everything:
        topics = [_describe(topic, image) for topic in image.topics.values()]
    else:
        assert request.topics is not None
        topics = [_look_up(wanted, image, errors) for wanted in request.topics]
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.error_code == Err.NONE:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    asked_cluster = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=broker.id,
                host=broker.endpoints[context.listener].host,
                port=broker.endpoints[context.listener].port,
                rack=broker.rack,
            )
            for broker in image.brokers.values()
            if context.listener in broker.endpoints
        ],
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked_cluster else NOT_ASKED,
    )


def _look_up(
    wanted: MetadataRequestTopic, image: MetadataImage, errors: dict[str, Err]
) -> MetadataResponseTopic:
    if wanted.name is None:
        by_id = image.topics_by_id.get(wanted.topic_id)
        if by_id is None:
            return _unknown(None, wanted.topic_id, Err.UNKNOWN_TOPIC_ID)
        return _describe(by_id, image)
    topic = image.topics.get(wanted.name)
    if topic is None:
        err = errors.get(wanted.name, Err.UNKNOWN_TOPIC_OR_PARTITION)
        return _unknown(wanted.name, ZERO_UUID, err)
    return _describe(topic, image)


def _unknown(name: str | None, topic_id: UUID, err: Err) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=err, name=name, topic_id=topic_id, partitions=[])


def _describe(topic: TopicImage, image: MetadataImage) -> MetadataResponseTopic:
    alive = image.brokers
    return MetadataResponseTopic(
        error_code=Err.NONE,
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=[
            MetadataResponsePartition(
                error_code=Err.NONE if partition.leader in alive else Err.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                offline_replicas=[r for r in partition.replicas if r not in alive],
            )
            for index, partition in enumerate(topic.partitions)
        ],
    )
