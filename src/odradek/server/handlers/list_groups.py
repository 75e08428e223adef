"""ListGroups: the groups that this broker coordinates, by state and type."""

from __future__ import annotations

from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.LIST_GROUPS, versions=range(6))
def list_groups(context: Context, request: ListGroupsRequest) -> ListGroupsResponse:
    """All groups that pass the filters; an error while some are still being loaded."""
    runtime = context.services.groups.runtime
    states = {state.lower() for state in request.states_filter}
    types = {type_.lower() for type_ in request.types_filter}
    return ListGroupsResponse(
        error_code=Err.COORDINATOR_LOAD_IN_PROGRESS if runtime.is_loading() else Err.NONE,
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.type,
            )
            for _, shard in runtime.shards()
            for group in shard.list_groups(states, types)
        ],
    )
