"""DescribeConfigs (32). Shows settings with their origins."""

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
    nullable_array_of,
    nullable_string,
    string,
)


class DescribeConfigsResource(Struct):
    resource_type: int = int8()
    resource_name: str = string()
    configuration_keys: list[str] | None = nullable_array_of(string)


@message(key=32, versions=range(1, 5), flexible_from=4)
class DescribeConfigsRequest(Message):
    """Resources, and which of their keys; null asks for all.

    v3 adds include_documentation.
    """

    resources: list[DescribeConfigsResource] = array_of(DescribeConfigsResource)
    include_synonyms: bool = boolean()
    include_documentation: bool = boolean(since=3)


class DescribeConfigsSynonym(Struct):
    name: str = string()
    value: str | None = nullable_string()
    source: int = int8()


class DescribeConfigsResourceResult(Struct):
    name: str = string()
    value: str | None = nullable_string()
    read_only: bool = boolean()
    config_source: int = int8(default=-1)
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = array_of(DescribeConfigsSynonym)
    config_type: int = int8(since=3, ignorable=True)
    documentation: str | None = nullable_string(since=3, ignorable=True)


class DescribeConfigsResult(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string()
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[DescribeConfigsResourceResult] = array_of(DescribeConfigsResourceResult)


@message(key=32, versions=range(1, 5), flexible_from=4)
class DescribeConfigsResponse(Message):
    """Values, sources and synonyms per key.

    v3 adds config_type, documentation.
    """

    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResult] = array_of(DescribeConfigsResult)
