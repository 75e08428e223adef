"""Metadata (3). Tells who leads which partition, and where brokers listen."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_string,
    string,
    uuid,
)


class MetadataRequestTopic(Struct):
    topic_id: UUID = uuid(since=10, ignorable=True)
    name: str | None = nullable_string(nullable_since=10)


@message(key=3, versions=range(14), flexible_from=9)
class MetadataRequest(Message):
    """Topics by name or id; null asks for all of them.

    v4 adds allow_auto_topic_creation. v8 adds include_cluster_authorized_operations,
    include_topic_authorized_operations. v10 adds topic_id. v11 drops
    include_cluster_authorized_operations.
    """

    topics: list[MetadataRequestTopic] | None = nullable_array_of(
        MetadataRequestTopic, nullable_since=1
    )
    allow_auto_topic_creation: bool = boolean(since=4, default=True)
    include_cluster_authorized_operations: bool = boolean(since=8, until=10)
    include_topic_authorized_operations: bool = boolean(since=8)


class MetadataResponseBroker(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string(since=1, default=None, ignorable=True)


class MetadataResponsePartition(Struct):
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(since=7, default=-1, ignorable=True)
    replica_nodes: list[int] = array_of(int32)
    isr_nodes: list[int] = array_of(int32)
    offline_replicas: list[int] = array_of(int32, since=5, ignorable=True)


class MetadataResponseTopic(Struct):
    error_code: int = int16()
    name: str | None = nullable_string(nullable_since=12)
    topic_id: UUID = uuid(since=10, ignorable=True)
    is_internal: bool = boolean(since=1, ignorable=True)
    partitions: list[MetadataResponsePartition] = array_of(MetadataResponsePartition)
    topic_authorized_operations: int = int32(since=8, default=-2147483648)


@message(key=3, versions=range(14), flexible_from=9)
class MetadataResponse(Message):
    """Brokers, controller, topics and their partitions.

    v1 adds rack, controller_id, is_internal. v2 adds cluster_id. v3 adds throttle_time_ms. v5
    adds offline_replicas. v7 adds leader_epoch. v8 adds topic_authorized_operations,
    cluster_authorized_operations. v10 adds topic_id. v11 drops cluster_authorized_operations.
    v13 adds error_code.
    """

    throttle_time_ms: int = int32(since=3, ignorable=True)
    brokers: list[MetadataResponseBroker] = array_of(MetadataResponseBroker)
    cluster_id: str | None = nullable_string(since=2, default=None, ignorable=True)
    controller_id: int = int32(since=1, default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = array_of(MetadataResponseTopic)
    cluster_authorized_operations: int = int32(since=8, until=10, default=-2147483648)
    error_code: int = int16(since=13, ignorable=True)
