"""AlterConfigs: replace all overrides of a resource (the older of the two requests)."""

from __future__ import annotations

from odradek.controller.outcome import Verdict
from odradek.errors import ApiError, Err
from odradek.metadata.image import ConfigResource, ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.server.resources import resource_of


@handles(ApiKey.ALTER_CONFIGS, versions=range(3))
async def alter_configs(context: Context, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Replace, resource by resource; or with validate_only say what would happen."""
    responses = []
    changes = []
    for wanted in request.resources:
        try:
            changes.append((_resource(wanted), [(c.name, c.value) for c in wanted.configs]))
        except ApiError as error:
            responses.append(_response(wanted.resource_type, wanted.resource_name, error))
    verdicts = await context.controller.alter_configs(changes, validate_only=request.validate_only)
    responses += [_response(r.type, r.name, verdict) for r, verdict in verdicts]
    return AlterConfigsResponse(responses=responses)


def _resource(wanted: AlterConfigsResource) -> ConfigResource:
    resource = resource_of(wanted.resource_type, wanted.resource_name)
    if resource.type is ResourceType.BROKER_LOGGER:
        raise ApiError(
            Err.INVALID_REQUEST, "Levels of loggers are changed by IncrementalAlterConfigs."
        )
    return resource


def _response(
    resource_type: int, name: str, verdict: Verdict | ApiError
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=verdict.err,
        error_message=verdict.message,
        resource_type=resource_type,
        resource_name=name,
    )
