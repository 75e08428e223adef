"""CreateTopics (19). Creates topics."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int8,
    int16,
    int32,
    message,
    nullable_array_of,
    nullable_string,
    string,
    uuid,
)


class CreatableReplicaAssignment(Struct):
    partition_index: int = int32()
    broker_ids: list[int] = array_of(int32)


class CreatableTopicConfig(Struct):
    name: str = string()
    value: str | None = nullable_string()


class CreatableTopic(Struct):
    name: str = string()
    num_partitions: int = int32()
    replication_factor: int = int16()
    assignments: list[CreatableReplicaAssignment] = array_of(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array_of(CreatableTopicConfig)


@message(key=19, versions=range(2, 8), flexible_from=5)
class CreateTopicsRequest(Message):
    """Topics with partition counts or placements, and settings."""

    topics: list[CreatableTopic] = array_of(CreatableTopic)
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean()


class CreatableTopicConfigs(Struct):
    name: str = string()
    value: str | None = nullable_string()
    read_only: bool = boolean()
    config_source: int = int8(default=-1)
    is_sensitive: bool = boolean()


class CreatableTopicResult(Struct):
    name: str = string()
    topic_id: UUID = uuid(since=7, ignorable=True)
    error_code: int = int16()
    error_message: str | None = nullable_string()
    topic_config_error_code: int = int16(since=5, tag=0, ignorable=True)
    num_partitions: int = int32(since=5, default=-1, ignorable=True)
    replication_factor: int = int16(since=5, default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = nullable_array_of(
        CreatableTopicConfigs, since=5, ignorable=True
    )


@message(key=19, versions=range(2, 8), flexible_from=5)
class CreateTopicsResponse(Message):
    """The result per topic.

    v5 adds topic_config_error_code, num_partitions, replication_factor, configs. v7 adds
    topic_id.
    """

    throttle_time_ms: int = int32()
    topics: list[CreatableTopicResult] = array_of(CreatableTopicResult)
