"""The ``.snapshot`` file of a partition: what it remembers of its producers."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, int64, message, uint32


class ProducerEntry(Struct):
    producer_id: int = int64()
    epoch: int = int16()
    last_sequence: int = int32()
    last_offset: int = int64()
    offset_delta: int = int32()
    timestamp: int = int64()
    coordinator_epoch: int = int32()
    current_txn_first_offset: int = int64()


@message(versions=range(1, 2))
class ProducerSnapshot(Message):
    """The file after its int16 version. The CRC covers what follows it."""

    crc: int = uint32()
    producer_entries: list[ProducerEntry] = array_of(ProducerEntry)
