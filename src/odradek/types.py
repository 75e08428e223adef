"""Small typed values that every layer shares.

Kafka writes a 16-byte id (topic, cluster, directory) as URL-safe base64 without padding; inside the
program it is a ``uuid.UUID``.
"""

from __future__ import annotations

import base64
from typing import Final, NamedTuple, NewType
from uuid import UUID

BrokerId = NewType("BrokerId", int)
ProducerId = NewType("ProducerId", int)

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
NO_LEADER_EPOCH: Final = -1
NO_OFFSET: Final = -1
ZERO_UUID: Final = UUID(int=0)


class TopicPartition(NamedTuple):
    """One partition of a named topic; prints as its folder is called."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndEpoch(NamedTuple):
    """A position in a log and the leader epoch under which it was written."""

    offset: int
    leader_epoch: int


class TimestampAndOffset(NamedTuple):
    """An answer to a look-up by time: a record's timestamp, offset and leader epoch."""

    timestamp: int
    offset: int
    leader_epoch: int


def uuid_to_text(value: UUID) -> str:
    """Kafka's spelling of an id: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(value.bytes).decode("ascii").rstrip("=")


def uuid_from_text(text: str) -> UUID:
    """Parse Kafka's spelling of an id; ValueError when it is not 16 bytes."""
    return UUID(bytes=base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
