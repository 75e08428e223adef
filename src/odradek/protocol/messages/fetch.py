"""Fetch (1). Reads record batches of partitions, for consumers and followers."""

from __future__ import annotations

from uuid import UUID

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    int8,
    int16,
    int32,
    int64,
    message,
    nested,
    nullable_array_of,
    nullable_records,
    nullable_string,
    string,
    uuid,
)
from odradek.protocol.primitives import Buffer


class ReplicaState(Struct):
    replica_id: int = int32(default=-1)
    replica_epoch: int = int64(default=-1)


class FetchPartition(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32(since=9, default=-1, ignorable=True)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32(since=12, default=-1)
    log_start_offset: int = int64(since=5, default=-1, ignorable=True)
    partition_max_bytes: int = int32()
    replica_directory_id: UUID = uuid(since=17, tag=0, ignorable=True)
    high_watermark: int = int64(since=18, default=0x7FFFFFFFFFFFFFFF, tag=1, ignorable=True)


class FetchTopic(Struct):
    topic: str = string(until=12, ignorable=True)
    topic_id: UUID = uuid(since=13, ignorable=True)
    partitions: list[FetchPartition] = array_of(FetchPartition)


class ForgottenTopic(Struct):
    topic: str = string(until=12, ignorable=True)
    topic_id: UUID = uuid(since=13, ignorable=True)
    partitions: list[int] = array_of(int32)


@message(key=1, versions=range(4, 19), flexible_from=12)
class FetchRequest(Message):
    """Positions to read from; in a fetch session (KIP-227) only what changed.

    v5 adds log_start_offset. v7 adds session_id, session_epoch, forgotten_topics_data. v9 adds
    current_leader_epoch. v11 adds rack_id. v12 adds cluster_id, last_fetched_epoch. v13 adds
    topic_id; drops topic. v15 adds replica_state; drops replica_id. v17 adds
    replica_directory_id. v18 adds high_watermark.
    """

    cluster_id: str | None = nullable_string(since=12, default=None, tag=0, ignorable=True)
    replica_id: int = int32(until=14, default=-1)
    replica_state: ReplicaState = nested(ReplicaState, since=15, tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(default=2147483647)
    isolation_level: int = int8()
    session_id: int = int32(since=7, ignorable=True)
    session_epoch: int = int32(since=7, default=-1, ignorable=True)
    topics: list[FetchTopic] = array_of(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array_of(ForgottenTopic, since=7)
    rack_id: str = string(since=11, ignorable=True)


class EpochEndOffset(Struct):
    epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


class SnapshotId(Struct):
    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


class AbortedTransaction(Struct):
    producer_id: int = int64()
    first_offset: int = int64()


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64(default=-1)
    log_start_offset: int = int64(since=5, default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = nested(EpochEndOffset, since=12, tag=0)
    current_leader: LeaderIdAndEpoch = nested(LeaderIdAndEpoch, since=12, tag=1)
    snapshot_id: SnapshotId = nested(SnapshotId, since=12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = nullable_array_of(AbortedTransaction)
    preferred_read_replica: int = int32(since=11, default=-1)
    records: Buffer | None = nullable_records()


class FetchableTopicResponse(Struct):
    topic: str = string(until=12, ignorable=True)
    topic_id: UUID = uuid(since=13, ignorable=True)
    partitions: list[PartitionData] = array_of(PartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = nullable_string(default=None)


@message(key=1, versions=range(4, 19), flexible_from=12)
class FetchResponse(Message):
    """Batches, high watermarks and aborted transactions per partition.

    v5 adds log_start_offset. v7 adds error_code, session_id. v11 adds preferred_read_replica.
    v12 adds diverging_epoch, current_leader, snapshot_id. v13 adds topic_id; drops topic. v16
    adds node_endpoints.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16(since=7, ignorable=True)
    session_id: int = int32(since=7)
    responses: list[FetchableTopicResponse] = array_of(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array_of(NodeEndpoint, since=16, tag=0)
