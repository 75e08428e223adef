"""DeleteGroups (42). Deletes empty groups."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, message, string


@message(key=42, versions=range(3), flexible_from=2)
class DeleteGroupsRequest(Message):
    """Group ids."""

    groups_names: list[str] = array_of(string)


class DeletableGroupResult(Struct):
    group_id: str = string()
    error_code: int = int16()


@message(key=42, versions=range(3), flexible_from=2)
class DeleteGroupsResponse(Message):
    """The result per group."""

    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array_of(DeletableGroupResult)
