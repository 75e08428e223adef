"""LeaveGroup: members leave a classic group, several at a time from v3 on."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from odradek.errors import ApiError
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from odradek.server.context import Context
from odradek.server.registry import handles

_BATCHED_FROM: Final = 3


@handles(ApiKey.LEAVE_GROUP, versions=range(6))
def leave_group(
    context: Context, request: LeaveGroupRequest
) -> LeaveGroupResponse | Coroutine[Any, Any, LeaveGroupResponse]:
    """Let the group's shard decide, member by member."""
    version = context.api_version
    if version < _BATCHED_FROM:
        request.members = [MemberIdentity(member_id=request.member_id)]
    try:
        response = context.services.groups.write(
            request.group_id, lambda shard: shard.classic.leave(request)
        )
    except ApiError as error:
        return LeaveGroupResponse(error_code=error.err)
    if isinstance(response, LeaveGroupResponse):
        return _fit(response, version)
    return _wait(response, version)


async def _wait(
    coming: Coroutine[Any, Any, LeaveGroupResponse], version: int
) -> LeaveGroupResponse:
    try:
        return _fit(await coming, version)
    except ApiError as error:
        return LeaveGroupResponse(error_code=error.err)


def _fit(response: LeaveGroupResponse, version: int) -> LeaveGroupResponse:
    """Before v3 there is one member, and its error is that of the whole."""
    if version < _BATCHED_FROM and response.members:
        response.error_code = response.error_code or response.members[0].error_code
        response.members = []
    return response
