"""DescribeConfigs: settings of topics, brokers, loggers, groups and metric subscriptions.

Each value comes with the place it comes from and, if asked, every other place that has one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from odradek.config.describe import (
    ConfigEntry,
    ConfigSource,
    describe_broker,
    describe_cluster,
    describe_group,
    describe_topic,
)
from odradek.config.kinds import Type
from odradek.controller.loggers import describe_loggers
from odradek.controller.names import check_name
from odradek.errors import ApiError, Err
from odradek.metadata.image import ConfigResource, ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.server.resources import broker_layers, require_this_broker, resource_of


@handles(ApiKey.DESCRIBE_CONFIGS, versions=range(1, 5))
def describe_configs(context: Context, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Answer resource by resource."""
    return DescribeConfigsResponse(
        results=[_result(context, request, wanted) for wanted in request.resources]
    )


def _result(
    context: Context, request: DescribeConfigsRequest, wanted: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_code=Err.NONE,
        error_message=None,
        resource_type=wanted.resource_type,
        resource_name=wanted.resource_name,
        configs=[],
    )
    try:
        resource = resource_of(wanted.resource_type, wanted.resource_name)
        entries = _entries(context, resource, wanted.configuration_keys or None)
    except ApiError as error:
        result.error_code, result.error_message = error.err, error.message
    else:
        result.configs = [_config(request, entry) for entry in entries]
    return result


def _entries(
    context: Context, resource: ConfigResource, names: Collection[str] | None
) -> Iterable[ConfigEntry]:
    image = context.image
    match resource.type:
        case ResourceType.TOPIC:
            check_name(resource.name)
            topic = image.topics.get(resource.name)
            if topic is None:
                raise ApiError(
                    Err.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist."
                )
            return describe_topic(broker_layers(context), topic.overrides, names)
        case ResourceType.BROKER:
            if not resource.name:
                return describe_cluster(image.overrides(resource), names)
            require_this_broker(context, resource.name)
            return describe_broker(broker_layers(context), names)
        case ResourceType.BROKER_LOGGER:
            require_this_broker(context, resource.name)
            return _loggers(names)
        case ResourceType.GROUP:
            return describe_group(broker_layers(context), image.overrides(resource), names)
        case ResourceType.CLIENT_METRICS:
            return _subscription(image.overrides(resource).items(), names)


def _loggers(names: Collection[str] | None) -> Iterable[ConfigEntry]:
    for name, level in describe_loggers():
        if names is None or name in names:
            source = ConfigSource.DYNAMIC_BROKER_LOGGER
            yield ConfigEntry(name, level, source, False, False, (), Type.STRING, "")


def _subscription(
    overrides: Iterable[tuple[str, str]], names: Collection[str] | None
) -> Iterable[ConfigEntry]:
    types = {"metrics": Type.LIST, "interval.ms": Type.INT, "match": Type.LIST}
    for name, value in overrides:
        if names is None or name in names:
            source = ConfigSource.CLIENT_METRICS
            yield ConfigEntry(name, value, source, False, False, (), types[name], "")


def _config(request: DescribeConfigsRequest, entry: ConfigEntry) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source)
            for s in entry.synonyms
        ]
        if request.include_synonyms
        else [],
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )
