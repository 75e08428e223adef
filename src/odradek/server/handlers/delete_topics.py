"""DeleteTopics: by name, and from v6 on by name or id."""

from __future__ import annotations

from typing import Final

from odradek.controller.topics import TopicRef
from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles

_IDS_FROM: Final = 6
_DISABLED_FROM: Final = 3  # older clients do not know TOPIC_DELETION_DISABLED


@handles(ApiKey.DELETE_TOPICS, versions=range(1, 7))
async def delete_topics(context: Context, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete each topic that is there."""
    if context.api_version >= _IDS_FROM:
        refs = [TopicRef(topic.name, topic.topic_id) for topic in request.topics]
    else:
        refs = [TopicRef(name) for name in request.topic_names]
    deleted = await context.controller.delete_topics(refs)
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=topic.name,
                topic_id=topic.id,
                error_code=_known_error(topic.verdict.err, context.api_version),
                error_message=topic.verdict.message,
            )
            for topic in deleted
        ]
    )


def _known_error(err: Err, version: int) -> Err:
    if err is Err.TOPIC_DELETION_DISABLED and version < _DISABLED_FROM:
        return Err.INVALID_REQUEST
    return err
