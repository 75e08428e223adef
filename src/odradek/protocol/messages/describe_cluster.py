"""DescribeCluster (60). Shows the brokers or controllers of the cluster."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int8,
    int16,
    int32,
    message,
    nullable_string,
    string,
)


@message(key=60, versions=range(3), flexible_from=0)
class DescribeClusterRequest(Message):
    """Which kind of endpoint.

    v1 adds endpoint_type. v2 adds include_fenced_brokers.
    """

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8(since=1, default=1)
    include_fenced_brokers: bool = boolean(since=2)


class DescribeClusterBroker(Struct):
    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string(default=None)
    is_fenced: bool = boolean(since=2)


@message(key=60, versions=range(3), flexible_from=0)
class DescribeClusterResponse(Message):
    """Cluster id, controller and nodes.

    v1 adds endpoint_type. v2 adds is_fenced.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    endpoint_type: int = int8(since=1, default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array_of(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=-2147483648)
