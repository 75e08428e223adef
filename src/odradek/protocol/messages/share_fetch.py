"""ShareFetch (78). Acquires records for a member of a share group."""

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
    records_,
    string,
    uuid,
)
from odradek.protocol.primitives import Buffer


class AcknowledgementBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    acknowledge_types: list[int] = array_of(int8)


class FetchPartition(Struct):
    partition_index: int = int32()
    acknowledgement_batches: list[AcknowledgementBatch] = array_of(AcknowledgementBatch)


class FetchTopic(Struct):
    topic_id: UUID = uuid()
    partitions: list[FetchPartition] = array_of(FetchPartition)


class ForgottenTopic(Struct):
    topic_id: UUID = uuid()
    partitions: list[int] = array_of(int32)


@message(key=78, versions=range(1, 3), flexible_from=0)
class ShareFetchRequest(Message):
    """Partitions, and acknowledgements that ride along.

    v2 adds share_acquire_mode, is_renew_ack.
    """

    group_id: str | None = nullable_string(default=None)
    member_id: str | None = nullable_string()
    share_session_epoch: int = int32()
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(default=2147483647)
    max_records: int = int32()
    batch_size: int = int32()
    share_acquire_mode: int = int8(since=2, ignorable=True)
    is_renew_ack: bool = boolean(since=2)
    topics: list[FetchTopic] = array_of(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array_of(ForgottenTopic)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32()
    leader_epoch: int = int32()


class AcquiredRecords(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_count: int = int16()


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    acknowledge_error_code: int = int16()
    acknowledge_error_message: str | None = nullable_string(default=None)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch)
    records: Buffer = records_()
    acquired_records: list[AcquiredRecords] = array_of(AcquiredRecords)


class ShareFetchableTopicResponse(Struct):
    topic_id: UUID = uuid()
    partitions: list[PartitionData] = array_of(PartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string(default=None)


@message(key=78, versions=range(1, 3), flexible_from=0)
class ShareFetchResponse(Message):
    """Batches and what of them was acquired."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string(default=None)
    acquisition_lock_timeout_ms: int = int32()
    responses: list[ShareFetchableTopicResponse] = array_of(ShareFetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array_of(NodeEndpoint)
