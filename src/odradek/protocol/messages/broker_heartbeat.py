"""BrokerHeartbeat (63). Keeps a broker's registration alive."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    array_of,
    boolean,
    int16,
    int32,
    int64,
    message,
    nullable_array_of,
    uuid,
)


@message(key=63, versions=range(3), flexible_from=0)
class BrokerHeartbeatRequest(Message):
    """The broker's state and wishes.

    v1 adds offline_log_dirs. v2 adds cordoned_log_dirs.
    """

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    current_metadata_offset: int = int64()
    want_fence: bool = boolean()
    want_shut_down: bool = boolean()
    offline_log_dirs: list[UUID] = array_of(uuid, since=1, tag=0)
    cordoned_log_dirs: list[UUID] | None = nullable_array_of(uuid, since=2, default=None, tag=1)


@message(key=63, versions=range(3), flexible_from=0)
class BrokerHeartbeatResponse(Message):
    """Whether it is fenced, caught up, or may shut down."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    is_caught_up: bool = boolean()
    is_fenced: bool = boolean(default=True)
    should_shut_down: bool = boolean()
