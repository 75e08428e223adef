"""AlterConfigs (33). Replaces all settings of a resource."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int8,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


class AlterableConfig(Struct):
    name: str = string()
    value: str | None = nullable_string()


class AlterConfigsResource(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array_of(AlterableConfig)


@message(key=33, versions=range(3), flexible_from=2)
class AlterConfigsRequest(Message):
    """The complete set of overrides per resource."""

    resources: list[AlterConfigsResource] = array_of(AlterConfigsResource)
    validate_only: bool = boolean()


class AlterConfigsResourceResponse(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string()
    resource_type: int = int8()
    resource_name: str = string()


@message(key=33, versions=range(3), flexible_from=2)
class AlterConfigsResponse(Message):
    """The result per resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array_of(AlterConfigsResourceResponse)
