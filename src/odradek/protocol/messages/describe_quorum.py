"""DescribeQuorum (55). Shows the state of a metadata quorum."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int16,
    int32,
    int64,
    message,
    nullable_string,
    string,
    uint16,
    uuid,
)


class DescribeQuorumRequestPartitionData(Struct):
    partition_index: int = int32()


class DescribeQuorumRequestTopicData(Struct):
    topic_name: str = string()
    partitions: list[DescribeQuorumRequestPartitionData] = array_of(
        DescribeQuorumRequestPartitionData
    )


@message(key=55, versions=range(3), flexible_from=0)
class DescribeQuorumRequest(Message):
    """Partitions of the quorum."""

    topics: list[DescribeQuorumRequestTopicData] = array_of(DescribeQuorumRequestTopicData)


class ReplicaState(Struct):
    replica_id: int = int32()
    replica_directory_id: UUID = uuid(since=2)
    log_end_offset: int = int64()
    last_fetch_timestamp: int = int64(since=1, default=-1, ignorable=True)
    last_caught_up_timestamp: int = int64(since=1, default=-1, ignorable=True)


class DescribeQuorumResponsePartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(since=2, ignorable=True)
    leader_id: int = int32()
    leader_epoch: int = int32()
    high_watermark: int = int64()
    current_voters: list[ReplicaState] = array_of(ReplicaState)
    observers: list[ReplicaState] = array_of(ReplicaState)


class DescribeQuorumResponseTopicData(Struct):
    topic_name: str = string()
    partitions: list[DescribeQuorumResponsePartitionData] = array_of(
        DescribeQuorumResponsePartitionData
    )


class Listener(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class Node(Struct):
    node_id: int = int32()
    listeners: list[Listener] = array_of(Listener)


@message(key=55, versions=range(3), flexible_from=0)
class DescribeQuorumResponse(Message):
    """Leader, voters and observers with their lags.

    v1 adds last_fetch_timestamp, last_caught_up_timestamp. v2 adds error_message,
    replica_directory_id, nodes.
    """

    error_code: int = int16()
    error_message: str | None = nullable_string(since=2, ignorable=True)
    topics: list[DescribeQuorumResponseTopicData] = array_of(DescribeQuorumResponseTopicData)
    nodes: list[Node] = array_of(Node, since=2)
