"""RemoveRaftVoter (81). Removes a voter from the metadata quorum."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import Message, int16, int32, message, nullable_string, uuid


@message(key=81, versions=range(1), flexible_from=0)
class RemoveRaftVoterRequest(Message):
    """The voter."""

    cluster_id: str | None = nullable_string()
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()


@message(key=81, versions=range(1), flexible_from=0)
class RemoveRaftVoterResponse(Message):
    """Whether it was removed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
