"""OffsetCommit: a group's positions, stored once the offsets topic has them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final
from uuid import UUID

from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage, TopicImage
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.server.context import Context
from odradek.server.registry import handles

_TOPIC_IDS_FROM: Final = 10


@handles(ApiKey.OFFSET_COMMIT, versions=range(2, 11))
def offset_commit(
    context: Context, request: OffsetCommitRequest
) -> OffsetCommitResponse | Coroutine[Any, Any, OffsetCommitResponse]:
    """Commit what exists; say per partition what does not."""
    version = context.api_version
    refused: list[OffsetCommitResponseTopic] = []
    by_id = version >= _TOPIC_IDS_FROM
    request.topics = _existing(context.image, request.topics, refused, by_id=by_id)
    if not request.topics:
        return OffsetCommitResponse(topics=refused)
    try:
        response = context.services.groups.write(
            request.group_id, lambda shard: shard.offsets.commit(request, version)
        )
    except ApiError as error:
        return _all_failed(request, refused, error.err)
    if isinstance(response, OffsetCommitResponse):
        return response if not refused else _merged(refused, response)
    return _wait(request, refused, response)


async def _wait(
    request: OffsetCommitRequest,
    refused: list[OffsetCommitResponseTopic],
    response: Coroutine[Any, Any, OffsetCommitResponse],
) -> OffsetCommitResponse:
    try:
        return _merged(refused, await response)
    except ApiError as error:
        return _all_failed(request, refused, error.err)


def _existing(
    image: MetadataImage,
    topics: list[OffsetCommitRequestTopic],
    refused: list[OffsetCommitResponseTopic],
    *,
    by_id: bool,
) -> list[OffsetCommitRequestTopic]:
    """The topics and partitions that exist, with name and id filled in; the others go to `refused`."""
    existing = []
    for topic in topics:
        known = image.topics_by_id.get(topic.topic_id) if by_id else image.topics.get(topic.name)
        if known is None:
            err = Err.UNKNOWN_TOPIC_ID if by_id else Err.UNKNOWN_TOPIC_OR_PARTITION
            refused.append(_failed(topic, err))
            continue
        topic.name, topic.topic_id = known.name, known.id
        missing = [p for p in topic.partitions if not _has(known, p.partition_index)]
        if missing:
            there = [p for p in topic.partitions if _has(known, p.partition_index)]
            topic.partitions = missing
            refused.append(_failed(topic, Err.UNKNOWN_TOPIC_OR_PARTITION))
            topic.partitions = there
        if topic.partitions:
            existing.append(topic)
    return existing


def _has(topic: TopicImage, partition: int) -> bool:
    return 0 <= partition < len(topic.partitions)


def _failed(topic: OffsetCommitRequestTopic, err: Err) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=p.partition_index, error_code=err)
            for p in topic.partitions
        ],
    )


def _all_failed(
    request: OffsetCommitRequest, refused: list[OffsetCommitResponseTopic], err: Err
) -> OffsetCommitResponse:
    failed = OffsetCommitResponse(topics=[_failed(topic, err) for topic in request.topics])
    return _merged(refused, failed)


def _merged(
    refused: list[OffsetCommitResponseTopic], response: OffsetCommitResponse
) -> OffsetCommitResponse:
    """One entry per topic, the refused partitions first."""
    by_topic: dict[tuple[str, UUID], OffsetCommitResponseTopic] = {}
    for topic in (*refused, *response.topics):
        earlier = by_topic.setdefault((topic.name, topic.topic_id), topic)
        if earlier is not topic:
            earlier.partitions += topic.partitions
    return OffsetCommitResponse(topics=list(by_topic.values()))
