"""IncrementalAlterConfigs: set, delete, append to or subtract from single settings (KIP-339).

Levels of loggers are changed here too, on this broker and in memory only (KIP-412).
"""

from __future__ import annotations

from odradek.config.alter import AlterOp, OpType
from odradek.controller.loggers import alter_loggers
from odradek.controller.outcome import Verdict
from odradek.errors import ApiError, Err
from odradek.metadata.image import ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.server.resources import require_this_broker, resource_of


@handles(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=range(2))
async def incremental_alter_configs(
    context: Context, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change, resource by resource; or with validate_only say what would happen."""
    responses = []
    changes = []
    for wanted in request.resources:
        try:
            resource = resource_of(wanted.resource_type, wanted.resource_name)
            ops = [_op(config) for config in wanted.configs]
            if resource.type is not ResourceType.BROKER_LOGGER:
                changes.append((resource, ops))
                continue
            require_this_broker(context, resource.name)
            alter_loggers(ops, validate_only=request.validate_only)
        except ApiError as error:
            verdict = Verdict.of(error)
        else:
            verdict = Verdict()
        responses.append(_response(wanted.resource_type, wanted.resource_name, verdict))
    verdicts = await context.controller.incremental_alter_configs(
        changes, validate_only=request.validate_only
    )
    responses += [_response(r.type, r.name, verdict) for r, verdict in verdicts]
    return IncrementalAlterConfigsResponse(responses=responses)


def _op(config: AlterableConfig) -> AlterOp:
    try:
        op = OpType(config.config_operation)
    except ValueError:
        raise ApiError(
            Err.INVALID_REQUEST, f"{config.name}: operation {config.config_operation} is unknown."
        ) from None
    return AlterOp(config.name, op, config.value)


def _response(resource_type: int, name: str, verdict: Verdict) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=verdict.err,
        error_message=verdict.message,
        resource_type=resource_type,
        resource_name=name,
    )
