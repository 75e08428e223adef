"""FindCoordinator (10).

Finds the broker that coordinates a group, a transactional id or a share partition.
"""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


@message(key=10, versions=range(7), flexible_from=3)
class FindCoordinatorRequest(Message):
    """Keys to look up, and their type.

    v1 adds key_type. v4 adds coordinator_keys; drops key.
    """

    key: str = string(until=3)
    key_type: int = int8(since=1)
    coordinator_keys: list[str] = array_of(string, since=4)


class Coordinator(Struct):
    key: str = string()
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()


@message(key=10, versions=range(7), flexible_from=3)
class FindCoordinatorResponse(Message):
    """The coordinator of each key.

    v1 adds throttle_time_ms, error_message. v4 adds coordinators; drops error_code,
    error_message, node_id, host, port.
    """

    throttle_time_ms: int = int32(since=1, ignorable=True)
    error_code: int = int16(until=3)
    error_message: str | None = nullable_string(since=1, until=3, ignorable=True)
    node_id: int = int32(until=3)
    host: str = string(until=3)
    port: int = int32(until=3)
    coordinators: list[Coordinator] = array_of(Coordinator, since=4)
