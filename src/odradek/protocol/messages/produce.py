"""Produce (0). Appends record batches to partitions."""

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
    nested,
    nullable_records,
    nullable_string,
    string,
    uuid,
)
from odradek.protocol.primitives import Buffer


class PartitionProduceData(Struct):
    index: int = int32()
    records: Buffer | None = nullable_records()


class TopicProduceData(Struct):
    name: str = string(until=12, ignorable=True)
    topic_id: UUID = uuid(since=13, ignorable=True)
    partition_data: list[PartitionProduceData] = array_of(PartitionProduceData)


@message(key=0, versions=range(3, 14), flexible_from=9)
class ProduceRequest(Message):
    """A producer's batches, per topic and partition. With acks=0 no answer is sent.

    v13 adds topic_id; drops name.
    """

    transactional_id: str | None = nullable_string(default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array_of(TopicProduceData)


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = int32()
    batch_index_error_message: str | None = nullable_string(default=None)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


class PartitionProduceResponse(Struct):
    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64(default=-1)
    log_start_offset: int = int64(since=5, default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = array_of(
        BatchIndexAndErrorMessage, since=8, ignorable=True
    )
    error_message: str | None = nullable_string(since=8, default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, since=10, tag=0)


class TopicProduceResponse(Struct):
    name: str = string(until=12, ignorable=True)
    topic_id: UUID = uuid(since=13, ignorable=True)
    partition_responses: list[PartitionProduceResponse] = array_of(PartitionProduceResponse)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string(default=None)


@message(key=0, versions=range(3, 14), flexible_from=9)
class ProduceResponse(Message):
    """Where each batch was written, or why not.

    v5 adds log_start_offset. v8 adds record_errors, error_message. v10 adds current_leader,
    node_endpoints. v13 adds topic_id; drops name.
    """

    responses: list[TopicProduceResponse] = array_of(TopicProduceResponse)
    throttle_time_ms: int = int32()
    node_endpoints: list[NodeEndpoint] = array_of(NodeEndpoint, since=10, tag=0)
