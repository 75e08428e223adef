"""ShareAcknowledge (79). Accepts, releases or rejects acquired records."""

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
    int64,
    message,
    nested,
    nullable_string,
    string,
    uuid,
)


class AcknowledgementBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    acknowledge_types: list[int] = array_of(int8)


class AcknowledgePartition(Struct):
    partition_index: int = int32()
    acknowledgement_batches: list[AcknowledgementBatch] = array_of(AcknowledgementBatch)


class AcknowledgeTopic(Struct):
    topic_id: UUID = uuid()
    partitions: list[AcknowledgePartition] = array_of(AcknowledgePartition)


@message(key=79, versions=range(1, 3), flexible_from=0)
class ShareAcknowledgeRequest(Message):
    """Acknowledgements per partition.

    v2 adds is_renew_ack.
    """

    group_id: str | None = nullable_string(default=None)
    member_id: str | None = nullable_string()
    share_session_epoch: int = int32()
    is_renew_ack: bool = boolean(since=2)
    topics: list[AcknowledgeTopic] = array_of(AcknowledgeTopic)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32()
    leader_epoch: int = int32()


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch)


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array_of(PartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string(default=None)


@message(key=79, versions=range(1, 3), flexible_from=0)
class ShareAcknowledgeResponse(Message):
    """The result per partition.

    v2 adds acquisition_lock_timeout_ms.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    acquisition_lock_timeout_ms: int = int32(since=2, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = array_of(ShareAcknowledgeTopicResponse)
    node_endpoints: list[NodeEndpoint] = array_of(NodeEndpoint)
