"""DeleteShareGroupOffsets (92). Deletes a share group's offsets by topic."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    message,
    nullable_string,
    string,
    uuid,
)


class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = string()


@message(key=92, versions=range(1), flexible_from=0)
class DeleteShareGroupOffsetsRequest(Message):
    """The topics."""

    group_id: str = string()
    topics: list[DeleteShareGroupOffsetsRequestTopic] = array_of(
        DeleteShareGroupOffsetsRequestTopic
    )


class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = string()
    topic_id: UUID = uuid()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)


@message(key=92, versions=range(1), flexible_from=0)
class DeleteShareGroupOffsetsResponse(Message):
    """The result per topic."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = array_of(
        DeleteShareGroupOffsetsResponseTopic
    )
