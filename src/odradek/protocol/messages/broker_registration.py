"""BrokerRegistration (62). Registers a broker with the controller."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    int64,
    message,
    nullable_string,
    string,
    uint16,
    uuid,
)


class Listener(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class Feature(Struct):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@message(key=62, versions=range(5), flexible_from=0)
class BrokerRegistrationRequest(Message):
    """Listeners, features and log directories of the broker.

    v1 adds is_migrating_zk_broker. v2 adds log_dirs. v3 adds previous_broker_epoch.
    """

    broker_id: int = int32()
    cluster_id: str = string()
    incarnation_id: UUID = uuid()
    listeners: list[Listener] = array_of(Listener)
    features: list[Feature] = array_of(Feature)
    rack: str | None = nullable_string()
    is_migrating_zk_broker: bool = boolean(since=1)
    log_dirs: list[UUID] = array_of(uuid, since=2, ignorable=True)
    previous_broker_epoch: int = int64(since=3, default=-1, ignorable=True)


@message(key=62, versions=range(5), flexible_from=0)
class BrokerRegistrationResponse(Message):
    """The broker's epoch."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    broker_epoch: int = int64(default=-1)
