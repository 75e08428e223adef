"""AlterClientQuotas (49). Changes quotas."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    float64,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


class AlterClientQuotasRequestEntityData(Struct):
    entity_type: str = string()
    entity_name: str | None = nullable_string()


class OpData(Struct):
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class AlterClientQuotasRequestEntryData(Struct):
    entity: list[AlterClientQuotasRequestEntityData] = array_of(AlterClientQuotasRequestEntityData)
    ops: list[OpData] = array_of(OpData)


@message(key=49, versions=range(2), flexible_from=1)
class AlterClientQuotasRequest(Message):
    """Operations per entity."""

    entries: list[AlterClientQuotasRequestEntryData] = array_of(AlterClientQuotasRequestEntryData)
    validate_only: bool = boolean()


class AlterClientQuotasResponseEntityData(Struct):
    entity_type: str = string()
    entity_name: str | None = nullable_string()


class AlterClientQuotasResponseEntryData(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string()
    entity: list[AlterClientQuotasResponseEntityData] = array_of(
        AlterClientQuotasResponseEntityData
    )


@message(key=49, versions=range(2), flexible_from=1)
class AlterClientQuotasResponse(Message):
    """The result per entity."""

    throttle_time_ms: int = int32()
    entries: list[AlterClientQuotasResponseEntryData] = array_of(AlterClientQuotasResponseEntryData)
