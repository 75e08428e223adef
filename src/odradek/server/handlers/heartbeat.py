"""Heartbeat: a member of a classic group lives."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.HEARTBEAT, versions=range(5))
def heartbeat(
    context: Context, request: HeartbeatRequest
) -> HeartbeatResponse | Coroutine[Any, Any, HeartbeatResponse]:
    """Tell the member whether to go on."""
    try:
        err = context.services.groups.write(
            request.group_id, lambda shard: shard.classic.heartbeat(request)
        )
    except ApiError as error:
        return HeartbeatResponse(error_code=_told(error.err))
    return HeartbeatResponse(error_code=err) if isinstance(err, Err) else _wait(err)


async def _wait(coming: Coroutine[Any, Any, Err]) -> HeartbeatResponse:
    try:
        return HeartbeatResponse(error_code=await coming)
    except ApiError as error:
        return HeartbeatResponse(error_code=_told(error.err))


def _told(err: Err) -> Err:
    # While groups are loaded nobody's session ends: a member need not worry, and is not told to.
    return Err.NONE if err is Err.COORDINATOR_LOAD_IN_PROGRESS else err
