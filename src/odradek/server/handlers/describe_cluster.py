"""DescribeCluster: the cluster's id, its brokers as this listener's clients reach them, and who leads it."""

from __future__ import annotations

from typing import Final

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.server.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from odradek.server.context import Context
from odradek.server.registry import handles

BROKERS: Final = 1
CONTROLLERS: Final = 2


@handles(ApiKey.DESCRIBE_CLUSTER, versions=range(3))
def describe_cluster(context: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """Answer from the image."""
    try:
        _require_brokers(request.endpoint_type)
    except ApiError as error:
        return DescribeClusterResponse(
            error_code=error.err,
            error_message=error.message,
            endpoint_type=request.endpoint_type,
            cluster_id="",
            brokers=[],
        )
    image = context.image
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        error_code=Err.NONE,
        endpoint_type=BROKERS,
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.id,
                host=broker.endpoints[context.listener].host,
                port=broker.endpoints[context.listener].port,
                rack=broker.rack,
            )
            for broker in image.brokers.values()
            if context.listener in broker.endpoints
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else NOT_ASKED,
    )


def _require_brokers(endpoint_type: int) -> None:
    if endpoint_type == CONTROLLERS:
        raise ApiError(
            Err.MISMATCHED_ENDPOINT_TYPE,
            "This is a broker's listener; ask for brokers (endpoint type 1).",
        )
    if endpoint_type != BROKERS:
        raise ApiError(
            Err.UNSUPPORTED_ENDPOINT_TYPE, f"Endpoint type {endpoint_type} is unknown; use 1."
        )
