"""DescribeClientQuotas (48). Shows quotas."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    float64,
    int8,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_string,
    string,
)


class ComponentData(Struct):
    entity_type: str = string()
    match_type: int = int8()
    match: str | None = nullable_string()


@message(key=48, versions=range(2), flexible_from=1)
class DescribeClientQuotasRequest(Message):
    """Which users, clients and addresses."""

    components: list[ComponentData] = array_of(ComponentData)
    strict: bool = boolean()


class EntityData(Struct):
    entity_type: str = string()
    entity_name: str | None = nullable_string()


class ValueData(Struct):
    key: str = string()
    value: float = float64()


class EntryData(Struct):
    entity: list[EntityData] = array_of(EntityData)
    values: list[ValueData] = array_of(ValueData)


@message(key=48, versions=range(2), flexible_from=1)
class DescribeClientQuotasResponse(Message):
    """Quota values per entity."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    entries: list[EntryData] | None = nullable_array_of(EntryData)
