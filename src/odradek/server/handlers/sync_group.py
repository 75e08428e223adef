"""SyncGroup: brings or fetches the assignment of a classic group's generation."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from odradek.coordinators.groups.classic_members import sync_error
from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.server.context import Context
from odradek.server.group_answers import ask_group
from odradek.server.registry import handles

_PROTOCOL_FROM: Final = 5


@handles(ApiKey.SYNC_GROUP, versions=range(6))
def sync_group(
    context: Context, request: SyncGroupRequest
) -> SyncGroupResponse | Coroutine[Any, Any, SyncGroupResponse]:
    """Let the group's shard decide."""
    if context.api_version >= _PROTOCOL_FROM and (
        request.protocol_type is None or request.protocol_name is None
    ):
        # From v5 on both must be said (KIP-559).
        return sync_error(Err.INCONSISTENT_GROUP_PROTOCOL)
    return ask_group(
        context,
        request.group_id,
        lambda shard, respond: shard.classic.sync(request, respond),
        sync_error,
    )
