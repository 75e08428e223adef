"""UpdateFeatures (57). Changes feature levels of the cluster."""

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


class FeatureUpdateKey(Struct):
    feature: str = string()
    max_version_level: int = int16()
    allow_downgrade: bool = boolean(until=0)
    upgrade_type: int = int8(since=1, default=1)


@message(key=57, versions=range(3), flexible_from=0)
class UpdateFeaturesRequest(Message):
    """Features and the levels wanted.

    v1 adds upgrade_type, validate_only; drops allow_downgrade.
    """

    timeout_ms: int = int32(default=60000)
    feature_updates: list[FeatureUpdateKey] = array_of(FeatureUpdateKey)
    validate_only: bool = boolean(since=1)


class UpdatableFeatureResult(Struct):
    feature: str = string()
    error_code: int = int16()
    error_message: str | None = nullable_string()


@message(key=57, versions=range(3), flexible_from=0)
class UpdateFeaturesResponse(Message):
    """The result per feature.

    v2 drops results.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    results: list[UpdatableFeatureResult] = array_of(
        UpdatableFeatureResult, until=1, ignorable=True
    )
