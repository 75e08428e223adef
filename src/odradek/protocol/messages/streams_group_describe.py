"""StreamsGroupDescribe (89). Shows streams groups."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
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


@message(key=89, versions=range(1), flexible_from=0)
class StreamsGroupDescribeRequest(Message):
    """Group ids."""

    group_ids: list[str] = array_of(string)
    include_authorized_operations: bool = boolean()


class KeyValue(Struct):
    key: str = string()
    value: str = string()


class TopicInfo(Struct):
    name: str = string()
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: list[KeyValue] = array_of(KeyValue)


class Subtopology(Struct):
    subtopology_id: str = string()
    source_topics: list[str] = array_of(string)
    repartition_sink_topics: list[str] = array_of(string)
    state_changelog_topics: list[TopicInfo] = array_of(TopicInfo)
    repartition_source_topics: list[TopicInfo] = array_of(TopicInfo)


class Topology(Struct):
    epoch: int = int32()
    subtopologies: list[Subtopology] | None = nullable_array_of(Subtopology, default=None)


class Endpoint(Struct):
    host: str = string()
    port: int = uint16()


class TaskOffset(Struct):
    subtopology_id: str = string()
    partition: int = int32()
    offset: int = int64()


class TaskIds(Struct):
    subtopology_id: str = string()
    partitions: list[int] = array_of(int32)


class Assignment(Struct):
    active_tasks: list[TaskIds] = array_of(TaskIds)
    standby_tasks: list[TaskIds] = array_of(TaskIds)
    warmup_tasks: list[TaskIds] = array_of(TaskIds)


class Member(Struct):
    member_id: str = string()
    member_epoch: int = int32()
    instance_id: str | None = nullable_string(default=None)
    rack_id: str | None = nullable_string(default=None)
    client_id: str = string()
    client_host: str = string()
    topology_epoch: int = int32()
    process_id: str = string()
    user_endpoint: Endpoint | None = nullable_nested(Endpoint, default=None)
    client_tags: list[KeyValue] = array_of(KeyValue)
    task_offsets: list[TaskOffset] = array_of(TaskOffset)
    task_end_offsets: list[TaskOffset] = array_of(TaskOffset)
    assignment: Assignment = nested(Assignment)
    target_assignment: Assignment = nested(Assignment)
    is_classic: bool = boolean()


class DescribedGroup(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    topology: Topology | None = nullable_nested(Topology, default=None)
    members: list[Member] = array_of(Member)
    authorized_operations: int = int32(default=-2147483648)


@message(key=89, versions=range(1), flexible_from=0)
class StreamsGroupDescribeResponse(Message):
    """Topology, members and tasks per group."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array_of(DescribedGroup)
