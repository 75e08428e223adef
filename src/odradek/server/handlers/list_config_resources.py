"""ListConfigResources: what has, or can have, settings (KIP-714 for v0, KIP-1142 for v1)."""

from __future__ import annotations

from collections.abc import Iterable

from odradek.errors import Err
from odradek.metadata.image import MetadataImage, ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles


@handles(ApiKey.LIST_CONFIG_RESOURCES, versions=range(2))
def list_config_resources(
    context: Context, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """The names of each kind asked for; v0 knows metric subscriptions only."""
    wanted: Iterable[int] = dict.fromkeys(request.resource_types) or list(ResourceType)
    if context.api_version == 0:
        wanted = (ResourceType.CLIENT_METRICS,)
    elif not set(wanted) <= set(ResourceType):
        return ListConfigResourcesResponse(error_code=Err.UNSUPPORTED_VERSION, config_resources=[])
    return ListConfigResourcesResponse(
        error_code=Err.NONE,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in wanted
            for name in _names(context.image, ResourceType(kind))
        ],
    )


def _names(image: MetadataImage, kind: ResourceType) -> Iterable[str]:
    match kind:
        case ResourceType.TOPIC:
            return image.topics
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return map(str, image.brokers)
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            return [r.name for r in image.resource_overrides if r.type is kind]
