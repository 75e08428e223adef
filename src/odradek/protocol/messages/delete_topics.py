"""DeleteTopics (20). Deletes topics, by name or id."""

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


class DeleteTopicState(Struct):
    name: str | None = nullable_string(default=None)
    topic_id: UUID = uuid()


@message(key=20, versions=range(1, 7), flexible_from=4)
class DeleteTopicsRequest(Message):
    """The topics to delete.

    v6 adds topics; drops topic_names.
    """

    topics: list[DeleteTopicState] = array_of(DeleteTopicState, since=6)
    topic_names: list[str] = array_of(string, until=5, ignorable=True)
    timeout_ms: int = int32()


class DeletableTopicResult(Struct):
    name: str | None = nullable_string(nullable_since=6)
    topic_id: UUID = uuid(since=6, ignorable=True)
    error_code: int = int16()
    error_message: str | None = nullable_string(since=5, default=None, ignorable=True)


@message(key=20, versions=range(1, 7), flexible_from=4)
class DeleteTopicsResponse(Message):
    """The result per topic.

    v5 adds error_message. v6 adds topic_id.
    """

    throttle_time_ms: int = int32()
    responses: list[DeletableTopicResult] = array_of(DeletableTopicResult)
