"""AllocateProducerIds (67). Hands a block of producer ids to a broker."""

from __future__ import annotations

from odradek.protocol.fields import Message, int16, int32, int64, message


@message(key=67, versions=range(1), flexible_from=0)
class AllocateProducerIdsRequest(Message):
    """The broker that asks."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)


@message(key=67, versions=range(1), flexible_from=0)
class AllocateProducerIdsResponse(Message):
    """The block."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id_start: int = int64()
    producer_id_len: int = int32()
