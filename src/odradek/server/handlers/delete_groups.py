"""DeleteGroups: groups without members, with their offsets."""

from __future__ import annotations

from inspect import isawaitable

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.DELETE_GROUPS, versions=range(3))
async def delete_groups(context: Context, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """One verdict per group."""
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        err = await _delete(context, group_id)
        results.append(DeletableGroupResult(group_id=group_id, error_code=err))
    return DeleteGroupsResponse(results=results)


async def _delete(context: Context, group_id: str) -> Err:
    groups = context.services.groups
    try:
        done = groups.write(group_id, lambda shard: shard.delete_group(group_id))
        if isawaitable(done):
            await done
    except ApiError as error:
        return error.err
    return Err.NONE
