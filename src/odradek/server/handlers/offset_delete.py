"""OffsetDelete: positions of topics that a group no longer reads."""

from __future__ import annotations

from inspect import isawaitable

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.types import TopicPartition

Verdicts = list[tuple[str, list[tuple[int, Err]]]]


@handles(ApiKey.OFFSET_DELETE, versions=range(1))
async def offset_delete(context: Context, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """One verdict per partition; none of them when the group as a whole refuses."""
    if not request.group_id:
        raise ApiError(Err.INVALID_GROUP_ID)
    image = context.image
    wanted: list[tuple[str, list[int]]] = []
    unknown: Verdicts = []
    for topic in request.topics:
        there: list[int] = []
        missing: list[tuple[int, Err]] = []
        for partition in topic.partitions:
            index = partition.partition_index
            if image.partition(TopicPartition(topic.name, index)) is not None:
                there.append(index)
            else:
                missing.append((index, Err.UNKNOWN_TOPIC_OR_PARTITION))
        if there:
            wanted.append((topic.name, there))
        if missing:
            unknown.append((topic.name, missing))
    answer = context.services.groups.write(
        request.group_id, lambda shard: shard.offsets.delete(request.group_id, wanted)
    )
    verdicts = (await answer) if isawaitable(answer) else answer
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=name,
                partitions=[
                    OffsetDeleteResponsePartition(partition_index=index, error_code=err)
                    for index, err in partitions
                ],
            )
            for name, partitions in _by_topic(unknown, verdicts).items()
        ]
    )


def _by_topic(*answers: Verdicts) -> dict[str, list[tuple[int, Err]]]:
    merged: dict[str, list[tuple[int, Err]]] = {}
    for verdicts in answers:
        for topic, partitions in verdicts:
            merged.setdefault(topic, []).extend(partitions)
    return merged
