"""DescribeTopicPartitions: topics in order of name, a page of partitions at a time (KIP-966).

A page ends after as many partitions as the client and `max.request.partition.size.limit` allow; the
cursor names the first partition that did not fit.
"""

from __future__ import annotations

from typing import Final

from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage, TopicImage
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.server.authorized_operations import TOPIC_OPERATIONS
from odradek.server.context import Context
from odradek.server.internal_topics import is_internal
from odradek.server.registry import handles
from odradek.types import ZERO_UUID

_FIRST_TOPIC: Final = ""


@handles(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=range(1))
def describe_topic_partitions(
    context: Context, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """One page; no topics in the request means all of them."""
    image = context.image
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        raise ApiError(Err.INVALID_REQUEST, "The cursor's partition index must not be negative.")
    first = cursor.topic_name if cursor is not None else _FIRST_TOPIC
    asked = {topic.name for topic in request.topics} or image.topics.keys()
    left = max(
        1, min(request.response_partition_limit, context.config.max_request_partition_size_limit)
    )
    response = DescribeTopicPartitionsResponse(topics=[])
    for name in sorted(name for name in asked if name >= first):
        start = cursor.partition_index if cursor is not None and name == first else 0
        if left == 0:
            response.next_cursor = _cursor(name, start)
            break
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        page = _page(topic, image, start, left)
        response.topics.append(page)
        left -= len(page.partitions)
        if start + len(page.partitions) < len(topic.partitions):
            response.next_cursor = _cursor(name, start + len(page.partitions))
            break
    return response


def _cursor(topic: str, partition_index: int) -> DescribeTopicPartitionsResponseCursor:
    return DescribeTopicPartitionsResponseCursor(topic_name=topic, partition_index=partition_index)


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=Err.UNKNOWN_TOPIC_OR_PARTITION, name=name, topic_id=ZERO_UUID, partitions=[]
    )


def _page(
    topic: TopicImage, image: MetadataImage, start: int, left: int
) -> DescribeTopicPartitionsResponseTopic:
    alive = image.brokers
    return DescribeTopicPartitionsResponseTopic(
        error_code=Err.NONE,
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=Err.NONE if partition.leader in alive else Err.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=[r for r in partition.replicas if r not in alive],
            )
            for index, partition in enumerate(topic.partitions[start : start + left], start)
        ],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
