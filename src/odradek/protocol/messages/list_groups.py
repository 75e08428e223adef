"""ListGroups (16). Lists the groups that a broker coordinates."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, message, string


@message(key=16, versions=range(6), flexible_from=3)
class ListGroupsRequest(Message):
    """Filters on state and type.

    v4 adds states_filter. v5 adds types_filter.
    """

    states_filter: list[str] = array_of(string, since=4)
    types_filter: list[str] = array_of(string, since=5)


class ListedGroup(Struct):
    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string(since=4, ignorable=True)
    group_type: str = string(since=5, ignorable=True)


@message(key=16, versions=range(6), flexible_from=3)
class ListGroupsResponse(Message):
    """Group ids with state and type.

    v1 adds throttle_time_ms. v4 adds group_state. v5 adds group_type.
    """

    throttle_time_ms: int = int32(since=1, ignorable=True)
    error_code: int = int16()
    groups: list[ListedGroup] = array_of(ListedGroup)
