"""Records of ``__consumer_offsets`` that hold streams groups (KIP-1071)."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    int64,
    message,
    nullable_array_of,
    nullable_nested,
    nullable_string,
    string,
    uint16,
)


@message(key=17, versions=range(1))
class StreamsGroupMetadataKey(Message):
    """The group."""

    group_id: str = string()


class LastAssignmentConfig(Struct):
    key: str = string()
    value: str = string()


@message(key=17, versions=range(1), flexible_from=0)
class StreamsGroupMetadataValue(Message):
    """The group's epoch."""

    epoch: int = int32()
    metadata_hash: int = int64()
    validated_topology_epoch: int = int32(default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = nullable_array_of(
        LastAssignmentConfig, tag=1
    )


@message(key=19, versions=range(1))
class StreamsGroupMemberMetadataKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class Endpoint(Struct):
    host: str = string()
    port: int = uint16()


class KeyValue(Struct):
    key: str = string()
    value: str = string()


@message(key=19, versions=range(1), flexible_from=0)
class StreamsGroupMemberMetadataValue(Message):
    """A member's client and endpoint."""

    instance_id: str | None = nullable_string()
    rack_id: str | None = nullable_string()
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout_ms: int = int32(default=-1)
    topology_epoch: int = int32()
    process_id: str = string()
    user_endpoint: Endpoint | None = nullable_nested(Endpoint, default=None)
    client_tags: list[KeyValue] = array_of(KeyValue)


@message(key=20, versions=range(1))
class StreamsGroupTargetAssignmentMetadataKey(Message):
    """The group."""

    group_id: str = string()


@message(key=20, versions=range(1), flexible_from=0)
class StreamsGroupTargetAssignmentMetadataValue(Message):
    """The epoch of the target assignment."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


@message(key=21, versions=range(1))
class StreamsGroupTargetAssignmentMemberKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class StreamsGroupTargetAssignmentMemberValueTaskIds(Struct):
    subtopology_id: str = string()
    partitions: list[int] = array_of(int32)


@message(key=21, versions=range(1), flexible_from=0)
class StreamsGroupTargetAssignmentMemberValue(Message):
    """The tasks the member shall run."""

    active_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = array_of(
        StreamsGroupTargetAssignmentMemberValueTaskIds
    )
    standby_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = array_of(
        StreamsGroupTargetAssignmentMemberValueTaskIds
    )
    warmup_tasks: list[StreamsGroupTargetAssignmentMemberValueTaskIds] = array_of(
        StreamsGroupTargetAssignmentMemberValueTaskIds
    )


@message(key=22, versions=range(1))
class StreamsGroupCurrentMemberAssignmentKey(Message):
    """A member of a group."""

    group_id: str = string()
    member_id: str = string()


class StreamsGroupCurrentMemberAssignmentValueTaskIds(Struct):
    subtopology_id: str = string()
    partitions: list[int] = array_of(int32)
    assignment_epochs: list[int] | None = nullable_array_of(int32, tag=0)


@message(key=22, versions=range(1), flexible_from=0)
class StreamsGroupCurrentMemberAssignmentValue(Message):
    """The tasks the member runs now."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    active_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = array_of(
        StreamsGroupCurrentMemberAssignmentValueTaskIds
    )
    standby_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = array_of(
        StreamsGroupCurrentMemberAssignmentValueTaskIds
    )
    warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = array_of(
        StreamsGroupCurrentMemberAssignmentValueTaskIds
    )
    active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = (
        array_of(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    )
    standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = (
        array_of(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    )
    warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValueTaskIds] = (
        array_of(StreamsGroupCurrentMemberAssignmentValueTaskIds)
    )


@message(key=23, versions=range(1))
class StreamsGroupTopologyKey(Message):
    """The group."""

    group_id: str = string()


class TopicConfig(Struct):
    key: str = string()
    value: str = string()


class TopicInfo(Struct):
    name: str = string()
    partitions: int = int32()
    replication_factor: int = int16()
    topic_configs: list[TopicConfig] = array_of(TopicConfig)


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


@message(key=23, versions=range(1), flexible_from=0)
class StreamsGroupTopologyValue(Message):
    """The topology that the group runs."""

    epoch: int = int32()
    subtopologies: list[Subtopology] = array_of(Subtopology)
