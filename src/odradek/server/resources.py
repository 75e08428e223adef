"""Configuration resources as requests name them: shared by the handlers that show or change settings."""

from __future__ import annotations

from odradek.config.describe import BrokerLayers
from odradek.errors import ApiError, Err
from odradek.metadata.image import ConfigResource, ResourceType
from odradek.server.context import Context


def resource_of(resource_type: int, name: str) -> ConfigResource:
    """The resource that a request means, or ApiError(INVALID_REQUEST)."""
    try:
        known = ResourceType(resource_type)
    except ValueError:
        raise ApiError(Err.INVALID_REQUEST, f"Resource type {resource_type} is unknown.") from None
    if not name and known is not ResourceType.BROKER:
        raise ApiError(Err.INVALID_REQUEST, f"A {known.name} resource needs a name.")
    return ConfigResource(known, name)


def require_this_broker(context: Context, name: str) -> None:
    """ApiError unless the name is this broker's number: others know their own settings best."""
    node_id = context.services.node_id
    if name != str(node_id):
        raise ApiError(
            Err.INVALID_REQUEST,
            f"This is broker {node_id}; ask broker '{name}' itself, if there is one.",
        )


def broker_layers(context: Context) -> BrokerLayers:
    """This broker's settings in the places they come from."""
    overrides = context.image.broker_overrides
    return BrokerLayers(
        context.controller.static_config,
        overrides.get(None, {}),
        overrides.get(context.services.node_id, {}),
    )
