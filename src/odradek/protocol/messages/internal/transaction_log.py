"""Records of ``__transaction_state``."""

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
    string,
)


@message(key=0, versions=range(1))
class TransactionLogKey(Message):
    """The transactional id."""

    transactional_id: str = string()


class PartitionsSchema(Struct):
    topic: str = string()
    partition_ids: list[int] = array_of(int32)


@message(key=0, versions=range(2), flexible_from=1)
class TransactionLogValue(Message):
    """A transaction's state, producer and partitions.

    v1 adds previous_producer_id, next_producer_id, next_producer_epoch,
    client_transaction_version.
    """

    producer_id: int = int64()
    previous_producer_id: int = int64(since=1, default=-1, tag=0)
    next_producer_id: int = int64(since=1, default=-1, tag=1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16(since=1, default=-1, tag=3)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[PartitionsSchema] | None = nullable_array_of(PartitionsSchema)
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16(since=1, tag=2)
