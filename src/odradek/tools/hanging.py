"""Which open transactions hang: what partitions have open against what coordinators know. Pure.

A coordinator names all partitions of an ongoing transaction, and those that still lack their marker
while one is being ended. A transaction that is open in a partition which its coordinator does not name
will never get a marker there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.client import TransactionDescription
from odradek.client.nodes import ActiveProducer
from odradek.types import NO_OFFSET, TopicPartition


class OpenTransaction(NamedTuple):
    """A producer's open transaction in one partition."""

    partition: TopicPartition
    producer: ActiveProducer


def open_for_longer(
    partition: TopicPartition, producers: Iterable[ActiveProducer], now_ms: int, longest_ms: int
) -> list[OpenTransaction]:
    """The transactions in a partition to which nothing was written for longer than allowed."""
    return [
        OpenTransaction(partition, producer)
        for producer in producers
        if producer.current_txn_start_offset != NO_OFFSET
        and now_ms - producer.last_timestamp > longest_ms
    ]


def hanging(
    found: Iterable[OpenTransaction], known: Mapping[int, TransactionDescription]
) -> list[OpenTransaction]:
    """Those that no coordinator will end; `known` is what coordinators know, by producer id."""
    return [
        each
        for each in found
        if each.producer.producer_id not in known
        or each.partition not in known[each.producer.producer_id].partitions
    ]
