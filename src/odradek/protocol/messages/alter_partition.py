"""AlterPartition (56).

Changes the in-sync replicas of partitions; sent by leaders to the controller.
"""

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
    uuid,
)


class BrokerState(Struct):
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)


class AlterPartitionRequestPartitionData(Struct):
    partition_index: int = int32()
    leader_epoch: int = int32()
    new_isr: list[int] = array_of(int32, until=2)
    new_isr_with_epochs: list[BrokerState] = array_of(BrokerState, since=3)
    leader_recovery_state: int = int8()
    partition_epoch: int = int32()


class AlterPartitionRequestTopicData(Struct):
    topic_id: UUID = uuid()
    partitions: list[AlterPartitionRequestPartitionData] = array_of(
        AlterPartitionRequestPartitionData
    )


@message(key=56, versions=range(2, 4), flexible_from=0)
class AlterPartitionRequest(Message):
    """The wanted in-sync sets.

    v3 adds new_isr_with_epochs; drops new_isr.
    """

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    topics: list[AlterPartitionRequestTopicData] = array_of(AlterPartitionRequestTopicData)


class AlterPartitionResponsePartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = array_of(int32)
    leader_recovery_state: int = int8()
    partition_epoch: int = int32()


class AlterPartitionResponseTopicData(Struct):
    topic_id: UUID = uuid()
    partitions: list[AlterPartitionResponsePartitionData] = array_of(
        AlterPartitionResponsePartitionData
    )


@message(key=56, versions=range(2, 4), flexible_from=0)
class AlterPartitionResponse(Message):
    """The partitions' new state."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[AlterPartitionResponseTopicData] = array_of(AlterPartitionResponseTopicData)
