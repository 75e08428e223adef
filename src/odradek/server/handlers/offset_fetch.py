"""OffsetFetch: the positions that groups have committed; one group, or (from v8) several.

Up to v7 there is one group and its error stands at the top, in v1 in every partition. From v10 topics
are named by id; an id that is unknown here answers UNKNOWN_TOPIC_ID for its partitions.
"""

from __future__ import annotations

from collections.abc import Coroutine
from inspect import iscoroutine
from typing import Any, Final

from odradek.coordinators.groups.offsets import NOT_COMMITTED, FetchedOffset
from odradek.coordinators.groups.shard import GroupShard
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.types import ZERO_UUID

_GROUPS_FROM: Final = 8
_TOP_ERROR_FROM: Final = 2
_TOPIC_IDS_FROM: Final = 10

_Answer = OffsetFetchResponseGroup | Coroutine[Any, Any, OffsetFetchResponseGroup]


@handles(ApiKey.OFFSET_FETCH, versions=range(1, 11))
def offset_fetch(
    context: Context, request: OffsetFetchRequest
) -> OffsetFetchResponse | Coroutine[Any, Any, OffsetFetchResponse]:
    """Answer each group from its shard."""
    groups = request.groups if context.api_version >= _GROUPS_FROM else [_as_group(request)]
    answers = [_fetch_group(context, group, request.require_stable) for group in groups]
    if any(iscoroutine(answer) for answer in answers):
        return _wait(context, request, groups, answers)
    return _respond(context, groups, answers)  # type: ignore[arg-type]


async def _wait(
    context: Context,
    request: OffsetFetchRequest,
    groups: list[OffsetFetchRequestGroup],
    answers: list[_Answer],
) -> OffsetFetchResponse:
    done: list[OffsetFetchResponseGroup] = []
    for group, answer in zip(groups, answers, strict=True):
        if isinstance(answer, OffsetFetchResponseGroup):
            done.append(answer)
            continue
        try:
            done.append(await answer)
        except ApiError as error:
            done.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.err))
    return _respond(context, groups, done)


def _as_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes)
            for t in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _fetch_group(context: Context, group: OffsetFetchRequestGroup, require_stable: bool) -> _Answer:
    image, by_id = context.image, context.api_version >= _TOPIC_IDS_FROM
    try:
        return context.services.groups.read(
            group.group_id, lambda shard: _fetch(shard, group, image, require_stable, by_id)
        )
    except ApiError as error:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.err)


def _fetch(
    shard: GroupShard,
    group: OffsetFetchRequestGroup,
    image: MetadataImage,
    require_stable: bool,
    by_id: bool,
) -> OffsetFetchResponseGroup:
    offsets, group_id = shard.offsets, group.group_id
    exists = offsets.check_fetch(group_id, group.member_id, group.member_epoch)
    wanted = group.topics
    if wanted is None:
        wanted = _all_topics(shard, group_id, image, by_id)
    topics = []
    for topic in wanted:
        name, topic_id = topic.name, topic.topic_id
        err = Err.NONE
        if by_id:
            known = image.topics_by_id.get(topic_id)
            if known is None:
                err = Err.UNKNOWN_TOPIC_ID
            else:
                name = known.name
        partitions = []
        for index in topic.partition_indexes:
            if err:
                found = FetchedOffset(err=err)
            elif exists:
                found = offsets.fetch(
                    group_id, name, index, require_stable=require_stable, topic_id=topic_id
                )
            else:
                found = NOT_COMMITTED
            partitions.append(
                OffsetFetchResponsePartitions(
                    partition_index=index,
                    committed_offset=found.offset,
                    committed_leader_epoch=found.leader_epoch,
                    metadata=found.metadata,
                    error_code=found.err,
                )
            )
        topics.append(
            OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions)
        )
    return OffsetFetchResponseGroup(group_id=group_id, topics=topics)


def _all_topics(
    shard: GroupShard, group_id: str, image: MetadataImage, by_id: bool
) -> list[OffsetFetchRequestTopics]:
    """Everything a group has committed; by id, only what can be named by one."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition, _ in shard.offsets.of_group(group_id):
        by_topic.setdefault(topic, []).append(partition)
    topics = []
    for name, partitions in by_topic.items():
        known = image.topics.get(name)
        if by_id and known is None:
            continue
        topics.append(
            OffsetFetchRequestTopics(
                name=name,
                topic_id=known.id if by_id and known is not None else ZERO_UUID,
                partition_indexes=partitions,
            )
        )
    return topics


def _respond(
    context: Context,
    groups: list[OffsetFetchRequestGroup],
    answers: list[OffsetFetchResponseGroup],
) -> OffsetFetchResponse:
    version = context.api_version
    if version >= _GROUPS_FROM:
        return OffsetFetchResponse(groups=answers)
    (asked,), (answer,) = groups, answers
    err = answer.error_code
    if err and version < _TOP_ERROR_FROM:
        answer.topics = [
            OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartitions(
                        partition_index=index, committed_offset=-1, metadata="", error_code=err
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in asked.topics or ()
        ]
    return OffsetFetchResponse(
        error_code=err,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=p.partition_index,
                        committed_offset=p.committed_offset,
                        committed_leader_epoch=p.committed_leader_epoch,
                        metadata=p.metadata,
                        error_code=p.error_code,
                    )
                    for p in topic.partitions
                ],
            )
            for topic in answer.topics
        ],
    )
