"""Producer ids go to brokers in blocks, so that no two producers ever share one (KIP-98)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from odradek.controller.outcome import Outcome
from odradek.metadata.image import MetadataImage
from odradek.metadata.records import ProducerIdsAllocated

BLOCK_IDS: Final = 1000  # as Kafka: one store write per thousand producers, few ids lost by a crash


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """The ids from `first` up to, not including, `first + count` belong to whoever asked."""

    first: int
    count: int


def allocate_producer_ids(image: MetadataImage, broker_id: int) -> Outcome[ProducerIdBlock]:
    """The next block, for a broker."""
    block = ProducerIdBlock(image.next_producer_id, BLOCK_IDS)
    return Outcome((ProducerIdsAllocated(broker_id, block.first, block.count),), block)
