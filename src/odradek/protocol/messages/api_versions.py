"""ApiVersions (18). Tells which APIs and versions a broker serves, and its feature levels."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    int64,
    message,
    string,
)


@message(key=18, versions=range(5), flexible_from=3)
class ApiVersionsRequest(Message):
    """The client's software, for the logs.

    v3 adds client_software_name, client_software_version.
    """

    client_software_name: str = string(since=3, ignorable=True)
    client_software_version: str = string(since=3, ignorable=True)


class ApiVersion(Struct):
    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


class SupportedFeatureKey(Struct):
    name: str = string()
    min_version: int = int16()
    max_version: int = int16()


class FinalizedFeatureKey(Struct):
    name: str = string()
    max_version_level: int = int16()
    min_version_level: int = int16()


@message(key=18, versions=range(5), flexible_from=3)
class ApiVersionsResponse(Message):
    """Version ranges per API; features and their levels. Its header is always the oldest one.

    v1 adds throttle_time_ms. v3 adds supported_features, finalized_features_epoch,
    finalized_features, zk_migration_ready.
    """

    error_code: int = int16()
    api_keys: list[ApiVersion] = array_of(ApiVersion)
    throttle_time_ms: int = int32(since=1, ignorable=True)
    supported_features: list[SupportedFeatureKey] = array_of(
        SupportedFeatureKey, since=3, tag=0, ignorable=True
    )
    finalized_features_epoch: int = int64(since=3, default=-1, tag=1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = array_of(
        FinalizedFeatureKey, since=3, tag=2, ignorable=True
    )
    zk_migration_ready: bool = boolean(since=3, tag=3, ignorable=True)
