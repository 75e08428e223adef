"""CreatePartitions: let topics grow."""

from __future__ import annotations

from odradek.controller.partitions import MorePartitions
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.CREATE_PARTITIONS, versions=range(4))
async def create_partitions(
    context: Context, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """Grow each topic, or with validate_only say what would happen."""
    verdicts = await context.controller.create_partitions(
        [_wanted(topic) for topic in request.topics], validate_only=request.validate_only
    )
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=name, error_code=verdict.err, error_message=verdict.message
            )
            for name, verdict in verdicts
        ]
    )


def _wanted(topic: CreatePartitionsTopic) -> MorePartitions:
    assignments = topic.assignments
    return MorePartitions(
        topic.name,
        topic.count,
        None if assignments is None else [tuple(a.broker_ids) for a in assignments],
    )
