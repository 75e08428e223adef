"""ConsumerGroupDescribe: consumer groups with their members, what they own and what they shall own."""

from __future__ import annotations

from inspect import isawaitable

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from odradek.server.authorized_operations import GROUP_OPERATIONS
from odradek.server.consumer_protocol import check_enabled
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.CONSUMER_GROUP_DESCRIBE, versions=range(2))
async def consumer_group_describe(
    context: Context, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    """One answer per group that was asked for."""
    check_enabled(context)
    described = [await _describe(context, group_id) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in described:
            if group.error_code == Err.NONE:
                group.authorized_operations = GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(groups=described)


async def _describe(context: Context, group_id: str) -> DescribedGroup:
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=Err.INVALID_GROUP_ID)
    try:
        answer = context.services.groups.read(
            group_id, lambda shard: shard.consumer.describe(group_id)
        )
        return await answer if isawaitable(answer) else answer
    except ApiError as error:
        return DescribedGroup(group_id=group_id, error_code=error.err, error_message=error.message)
