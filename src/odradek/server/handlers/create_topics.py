"""CreateTopics: new topics, with the broker's defaults or as asked."""

from __future__ import annotations

from odradek.config.describe import describe_topic
from odradek.controller.topics import CreatedTopic, NewTopic
from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.server.resources import broker_layers


@handles(ApiKey.CREATE_TOPICS, versions=range(2, 8))
async def create_topics(context: Context, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Create, or with validate_only say what would happen."""
    created = await context.controller.create_topics(
        [_wanted(topic) for topic in request.topics], validate_only=request.validate_only
    )
    return CreateTopicsResponse(topics=[_result(context, topic) for topic in created])


def _wanted(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((a.partition_index, tuple(a.broker_ids)) for a in topic.assignments),
        {config.name: config.value for config in topic.configs},
    )


def _result(context: Context, topic: CreatedTopic) -> CreatableTopicResult:
    if topic.verdict.err is not Err.NONE:
        return CreatableTopicResult(
            name=topic.name, error_code=topic.verdict.err, error_message=topic.verdict.message
        )
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.id,
        error_code=Err.NONE,
        error_message=None,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        configs=[
            CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in describe_topic(broker_layers(context), topic.overrides)
        ],
    )
