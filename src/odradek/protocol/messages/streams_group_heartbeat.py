"""StreamsGroupHeartbeat (88). Carries all of a member's life in a streams group (KIP-1071)."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int8,
    int16,
    int32,
    int64,
    message,
    nested,
    nullable_array_of,
    nullable_nested,
    nullable_string,
    string,
    uint16,
)


class KeyValue(Struct):
    key: str = string()
    value: str = string()


class TopicInfo(Struct):
    name: str = string()
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: list[KeyValue] = array_of(KeyValue)


class CopartitionGroup(Struct):
    source_topics: list[int] = array_of(int16)
    source_topic_regex: list[int] = array_of(int16)
    repartition_source_topics: list[int] = array_of(int16)


class Subtopology(Struct):
    subtopology_id: str = string()
    source_topics: list[str] = array_of(string)
    source_topic_regex: list[str] = array_of(string)
    state_changelog_topics: list[TopicInfo] = array_of(TopicInfo)
    repartition_sink_topics: list[str] = array_of(string)
    repartition_source_topics: list[TopicInfo] = array_of(TopicInfo)
    copartition_groups: list[CopartitionGroup] = array_of(CopartitionGroup)


class Topology(Struct):
    epoch: int = int32()
    subtopologies: list[Subtopology] = array_of(Subtopology)


class StreamsGroupHeartbeatRequestTaskIds(Struct):
    subtopology_id: str = string()
    partitions: list[int] = array_of(int32)


class StreamsGroupHeartbeatRequestEndpoint(Struct):
    host: str = string()
    port: int = uint16()


class TaskOffset(Struct):
    subtopology_id: str = string()
    partition: int = int32()
    offset: int = int64()


@message(key=88, versions=range(1), flexible_from=0)
class StreamsGroupHeartbeatRequest(Message):
    """What changed for the member since the last beat."""

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    endpoint_information_epoch: int = int32()
    instance_id: str | None = nullable_string(default=None)
    rack_id: str | None = nullable_string(default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    topology: Topology | None = nullable_nested(Topology, default=None)
    active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = nullable_array_of(
        StreamsGroupHeartbeatRequestTaskIds, default=None
    )
    standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = nullable_array_of(
        StreamsGroupHeartbeatRequestTaskIds, default=None
    )
    warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = nullable_array_of(
        StreamsGroupHeartbeatRequestTaskIds, default=None
    )
    process_id: str | None = nullable_string(default=None)
    user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None = nullable_nested(
        StreamsGroupHeartbeatRequestEndpoint, default=None
    )
    client_tags: list[KeyValue] | None = nullable_array_of(KeyValue, default=None)
    task_offsets: list[TaskOffset] | None = nullable_array_of(TaskOffset, default=None)
    task_end_offsets: list[TaskOffset] | None = nullable_array_of(TaskOffset, default=None)
    shutdown_application: bool = boolean()


class Status(Struct):
    status_code: int = int8()
    status_detail: str = string()


class StreamsGroupHeartbeatResponseTaskIds(Struct):
    subtopology_id: str = string()
    partitions: list[int] = array_of(int32)


class StreamsGroupHeartbeatResponseEndpoint(Struct):
    host: str = string()
    port: int = uint16()


class TopicPartition(Struct):
    topic: str = string()
    partitions: list[int] = array_of(int32)


class EndpointToPartitions(Struct):
    user_endpoint: StreamsGroupHeartbeatResponseEndpoint = nested(
        StreamsGroupHeartbeatResponseEndpoint
    )
    active_partitions: list[TopicPartition] = array_of(TopicPartition)
    standby_partitions: list[TopicPartition] = array_of(TopicPartition)


@message(key=88, versions=range(1), flexible_from=0)
class StreamsGroupHeartbeatResponse(Message):
    """Epoch, tasks, and the state of the group's topology."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    member_id: str = string()
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    acceptable_recovery_lag: int = int32()
    task_offset_interval_ms: int = int32()
    status: list[Status] | None = nullable_array_of(Status)
    active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = nullable_array_of(
        StreamsGroupHeartbeatResponseTaskIds, default=None
    )
    standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = nullable_array_of(
        StreamsGroupHeartbeatResponseTaskIds, default=None
    )
    warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = nullable_array_of(
        StreamsGroupHeartbeatResponseTaskIds, default=None
    )
    endpoint_information_epoch: int = int32()
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = nullable_array_of(
        EndpointToPartitions, default=None
    )
