"""Metadata: brokers, topics and who leads what, as seen from the listener that was asked.

A reply with all topics is joined from bytes that were encoded before (`topic_bytes`). An unknown topic
is created on the way when both the client and `auto.create.topics.enable` allow it, and is already there
in the same answer.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, Final

from odradek.controller.names import check_name
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from odradek.server.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from odradek.server.context import Context
from odradek.server.internal_topics import new_topic
from odradek.server.registry import handles
from odradek.server.topic_bytes import describe_topic
from odradek.types import ZERO_UUID

# The first version in which a topic may have no name.
_NAMELESS_FROM: Final = 12
_AUTO_CREATE_FROM: Final = 4


@handles(ApiKey.METADATA, versions=range(14))
def metadata(
    context: Context, request: MetadataRequest
) -> MetadataResponse | bytes | Coroutine[Any, Any, MetadataResponse | bytes]:
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
    return [
        t.name
        for t in request.topics
        if t.name is not None and t.topic_id == ZERO_UUID and t.name not in image.topics
    ]


async def _create_and_answer(
    context: Context, request: MetadataRequest, names: Iterable[str]
) -> MetadataResponse | bytes:
    errors: dict[str, Err] = {}
    for created in await context.controller.create_topics(
        [new_topic(name, context.config) for name in dict.fromkeys(names)]
    ):
        if created.verdict.err not in (Err.NONE, Err.TOPIC_ALREADY_EXISTS):
            errors[created.name] = created.verdict.err
    return _answer(context, request, context.image, errors)


def _answer(
    context: Context, request: MetadataRequest, image: MetadataImage, errors: dict[str, Err]
) -> MetadataResponse | bytes:
    version = context.api_version
    asked_cluster = request.include_cluster_authorized_operations
    response = MetadataResponse(
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
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked_cluster else NOT_ASKED,
    )
    everything = request.topics is None or (version == 0 and not request.topics)
    asked_topics = request.include_topic_authorized_operations
    if everything and not asked_topics:
        return context.services.topic_bytes.encode_all(response, image, version)
    if everything:
        topics = [describe_topic(topic, image) for topic in image.topics.values()]
    else:
        assert request.topics is not None
        topics = [_look_up(wanted, image, errors, version) for wanted in request.topics]
    if asked_topics:
        for topic in topics:
            if topic.error_code == Err.NONE:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    response.topics = topics
    return response


def _look_up(
    wanted: MetadataRequestTopic, image: MetadataImage, errors: dict[str, Err], version: int
) -> MetadataResponseTopic:
    if wanted.name is None or wanted.topic_id != ZERO_UUID:  # Java sends an id and an empty name
        by_id = image.topics_by_id.get(wanted.topic_id)
        if by_id is not None:
            return describe_topic(by_id, image)
        no_name = None if version >= _NAMELESS_FROM else ""
        return MetadataResponseTopic(
            error_code=Err.UNKNOWN_TOPIC_ID, name=no_name, topic_id=wanted.topic_id
        )
    topic = image.topics.get(wanted.name)
    if topic is not None:
        return describe_topic(topic, image)
    err = errors.get(wanted.name) or _why_unknown(wanted.name)
    return MetadataResponseTopic(error_code=err, name=wanted.name)


def _why_unknown(name: str) -> Err:
    """A name that no topic can have is worth more than "unknown": the client need not ask again."""
    try:
        check_name(name)
    except ApiError as error:
        return error.err
    return Err.UNKNOWN_TOPIC_OR_PARTITION
