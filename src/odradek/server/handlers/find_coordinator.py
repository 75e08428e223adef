"""FindCoordinator: the broker that leads the partition which a group or transactional id hashes to.

The internal topic is created when somebody asks for the first time, and the answer is right at once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

from odradek.coordinators.group_coordinator import partition_for
from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.server.context import Context
from odradek.server.internal_topics import (
    CONSUMER_OFFSETS,
    TRANSACTION_STATE,
    ensure_internal_topic,
)
from odradek.server.registry import handles
from odradek.types import TopicPartition

_BATCHED_FROM: Final = 4
# By key type; share groups (2) are not coordinated here.
_TOPICS: Final = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE}


@handles(ApiKey.FIND_COORDINATOR, versions=range(7))
def find_coordinator(
    context: Context, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[Any, Any, FindCoordinatorResponse]:
    """Answer from the image; wait only when the internal topic is to be created."""
    topic = _TOPICS.get(request.key_type)
    if topic is None:
        words = f"there are no coordinators of type {request.key_type} here"
        return _respond(context, request, lambda key: _none(key, Err.INVALID_REQUEST, words))
    if topic in context.image.topics:
        return _answer(context, request, topic)
    return _create_and_answer(context, request, topic)


async def _create_and_answer(
    context: Context, request: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    try:
        await ensure_internal_topic(context.controller, context.config, topic)
    except ApiError as error:
        failure = error
        return _respond(context, request, lambda key: _none(key, failure.err, failure.message))
    return _answer(context, request, topic)


def _answer(
    context: Context, request: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    return _respond(context, request, lambda key: _find(context, topic, key))


def _respond(
    context: Context, request: FindCoordinatorRequest, find: Callable[[str], Coordinator]
) -> FindCoordinatorResponse:
    if context.api_version >= _BATCHED_FROM:
        return FindCoordinatorResponse(coordinators=[find(key) for key in request.coordinator_keys])
    found = find(request.key)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or Err(found.error_code).name,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(context: Context, topic: str, key: str) -> Coordinator:
    image = context.image
    index = partition_for(key, len(image.topics[topic].partitions))
    partition = image.partition(TopicPartition(topic, index))
    leader = image.brokers.get(partition.leader) if partition is not None else None
    endpoint = leader.endpoints.get(context.listener) if leader is not None else None
    if leader is None or endpoint is None:
        words = f"{topic}-{index} has no leader that listens on {context.listener}"
        return _none(key, Err.COORDINATOR_NOT_AVAILABLE, words)
    return Coordinator(key=key, node_id=leader.id, host=endpoint.host, port=endpoint.port)


def _none(key: str, err: Err, words: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, port=-1, error_code=err, error_message=words)
