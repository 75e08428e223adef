"""ConsumerGroupHeartbeat: all of a member's life in a consumer group (KIP-848)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from odradek.errors import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.server.consumer_protocol import check_enabled
from odradek.server.context import Context
from odradek.server.group_answers import client_host
from odradek.server.registry import handles


@handles(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=range(2))
def consumer_group_heartbeat(
    context: Context, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | Coroutine[Any, Any, ConsumerGroupHeartbeatResponse]:
    """Let the group's shard decide."""
    try:
        check_enabled(context)
        reply = context.services.groups.write(
            request.group_id,
            lambda shard: shard.consumer.heartbeat(
                request, context.client_id or "", client_host(context), context.api_version
            ),
        )
    except ApiError as error:
        return _refused(error)
    return reply if isinstance(reply, ConsumerGroupHeartbeatResponse) else _wait(reply)


async def _wait(
    coming: Coroutine[Any, Any, ConsumerGroupHeartbeatResponse],
) -> ConsumerGroupHeartbeatResponse:
    try:
        return await coming
    except ApiError as error:
        return _refused(error)


def _refused(error: ApiError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.err, error_message=error.message)
