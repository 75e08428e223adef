"""IncrementalAlterConfigs (44).

Sets, deletes, appends to or subtracts from single settings (KIP-339).
"""

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
    config_operation: int = int8()
    value: str | None = nullable_string()


class AlterConfigsResource(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array_of(AlterableConfig)


@message(key=44, versions=range(2), flexible_from=1)
class IncrementalAlterConfigsRequest(Message):
    """Operations per resource and key."""

    resources: list[AlterConfigsResource] = array_of(AlterConfigsResource)
    validate_only: bool = boolean()


class AlterConfigsResourceResponse(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string()
    resource_type: int = int8()
    resource_name: str = string()


@message(key=44, versions=range(2), flexible_from=1)
class IncrementalAlterConfigsResponse(Message):
    """The result per resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array_of(AlterConfigsResourceResponse)
