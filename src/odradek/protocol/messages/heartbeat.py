"""Heartbeat (12). Tells the coordinator of a classic group that a member is alive."""

from __future__ import annotations

from odradek.protocol.fields import Message, int16, int32, message, nullable_string, string


@message(key=12, versions=range(5), flexible_from=4)
class HeartbeatRequest(Message):
    """Who beats, and in which generation.

    v3 adds group_instance_id.
    """

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = nullable_string(since=3, default=None)


@message(key=12, versions=range(5), flexible_from=4)
class HeartbeatResponse(Message):
    """Whether to go on or to join again.

    v1 adds throttle_time_ms.
    """

    throttle_time_ms: int = int32(since=1, ignorable=True)
    error_code: int = int16()
