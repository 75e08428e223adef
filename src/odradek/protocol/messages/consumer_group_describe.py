"""ConsumerGroupDescribe (69). Shows groups of the consumer protocol."""

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
    nested,
    nullable_string,
    string,
    uuid,
)


@message(key=69, versions=range(2), flexible_from=0)
class ConsumerGroupDescribeRequest(Message):
    """Group ids."""

    group_ids: list[str] = array_of(string)
    include_authorized_operations: bool = boolean()


class TopicPartitions(Struct):
    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: list[int] = array_of(int32)


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = array_of(TopicPartitions)


class Member(Struct):
    member_id: str = string()
    instance_id: str | None = nullable_string(default=None)
    rack_id: str | None = nullable_string(default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array_of(string)
    subscribed_topic_regex: str | None = nullable_string(default=None)
    assignment: Assignment = nested(Assignment)
    target_assignment: Assignment = nested(Assignment)
    member_type: int = int8(since=1, default=-1, ignorable=True)


class DescribedGroup(Struct):
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array_of(Member)
    authorized_operations: int = int32(default=-2147483648)


@message(key=69, versions=range(2), flexible_from=0)
class ConsumerGroupDescribeResponse(Message):
    """Epochs, members and assignments per group.

    v1 adds member_type.
    """

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array_of(DescribedGroup)
