"""DescribeGroups: classic groups with their members; other kinds have APIs of their own."""

from __future__ import annotations

from inspect import isawaitable
from typing import Final

from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.shard import GroupShard
from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from odradek.server.authorized_operations import GROUP_OPERATIONS
from odradek.server.context import Context
from odradek.server.registry import handles

# From this version on, a group that does not exist is an error; before, it is dead.
_NOT_FOUND_FROM: Final = 6
_DEAD: Final = "Dead"


@handles(ApiKey.DESCRIBE_GROUPS, versions=range(7))
async def describe_groups(
    context: Context, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    """One answer per group that was asked for."""
    described = [await _describe(context, group_id) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in described:
            if group.error_code == Err.NONE:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=described)


async def _describe(context: Context, group_id: str) -> DescribedGroup:
    def query(shard: GroupShard) -> DescribedGroup:
        group = shard.table.get(group_id)
        if group is None:
            raise ApiError(Err.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        if not isinstance(group, ClassicGroup):
            raise ApiError(Err.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")
        return group.describe()

    try:
        answer = context.services.groups.read(group_id, query)
        return await answer if isawaitable(answer) else answer
    except ApiError as error:
        if error.err is not Err.GROUP_ID_NOT_FOUND:
            return DescribedGroup(group_id=group_id, error_code=error.err)
        if context.api_version < _NOT_FOUND_FROM:
            return DescribedGroup(group_id=group_id, group_state=_DEAD)
        return DescribedGroup(
            group_id=group_id,
            group_state=_DEAD,
            error_code=error.err,
            error_message=error.message,
        )
