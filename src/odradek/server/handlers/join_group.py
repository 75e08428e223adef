"""JoinGroup: enters a classic group; the answer may wait for the other members."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from odradek.coordinators.groups.classic_members import join_error
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from odradek.server.context import Context
from odradek.server.group_answers import ask_group, client_host
from odradek.server.registry import handles

_NULL_PROTOCOL_FROM: Final = 7


@handles(ApiKey.JOIN_GROUP, versions=range(10))
def join_group(
    context: Context, request: JoinGroupRequest
) -> JoinGroupResponse | Coroutine[Any, Any, JoinGroupResponse]:
    """Let the group's shard decide."""
    version = context.api_version
    response = ask_group(
        context,
        request.group_id,
        lambda shard, respond: shard.classic.join(
            request, context.client_id or "", client_host(context), version, respond
        ),
        lambda err: join_error(request.member_id, err),
    )
    if isinstance(response, JoinGroupResponse):
        return _fit(response, version)
    return _fit_later(response, version)


async def _fit_later(
    response: Coroutine[Any, Any, JoinGroupResponse], version: int
) -> JoinGroupResponse:
    return _fit(await response, version)


def _fit(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    if version < _NULL_PROTOCOL_FROM and response.protocol_name is None:
        response.protocol_name = ""
    return response
