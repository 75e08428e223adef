"""AddRaftVoter (80). Adds a voter to the metadata quorum."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
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


@message(key=80, versions=range(2), flexible_from=0)
class AddRaftVoterRequest(Message):
    """The voter and its endpoints.

    v1 adds ack_when_committed.
    """

    cluster_id: str | None = nullable_string()
    timeout_ms: int = int32()
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    listeners: list[Listener] = array_of(Listener)
    ack_when_committed: bool = boolean(since=1, default=True)


@message(key=80, versions=range(2), flexible_from=0)
class AddRaftVoterResponse(Message):
    """Whether it was added."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
