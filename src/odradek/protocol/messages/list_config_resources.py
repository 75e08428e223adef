"""ListConfigResources (74). Lists resources that have settings of their own."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int8, int16, int32, message, string


@message(key=74, versions=range(2), flexible_from=0)
class ListConfigResourcesRequest(Message):
    """Kinds of resources.

    v1 adds resource_types.
    """

    resource_types: list[int] = array_of(int8, since=1)


class ConfigResource(Struct):
    resource_name: str = string()
    resource_type: int = int8(since=1, default=16, ignorable=True)


@message(key=74, versions=range(2), flexible_from=0)
class ListConfigResourcesResponse(Message):
    """Names and kinds.

    v1 adds resource_type.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array_of(ConfigResource)
