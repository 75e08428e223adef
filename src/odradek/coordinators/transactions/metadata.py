"""What the coordinator knows of one transactional id, and how each step changes it (pure).

A `TransactionMetadata` is immutable: a step gives a new one, which becomes the truth when its record is
replayed. Producer epochs (KIP-890): with transaction.version 2 every end of a transaction raises the
epoch by one, and its markers carry the raised epoch, so nothing of an earlier transaction, neither data
nor a delayed EndTxn, can be taken for a part of a later one. When the epochs of a producer id are used
up, the transaction ends with the last epoch, 32,767, and the id goes on with a new producer id:

    Ongoing (id 7, 32766) ─► PrepareCommit (id 7, 32767, next 8) ─► CompleteCommit (id 8, 0, previous 7)

With older clients the epoch stays the same until InitProducerId or a time-out raises it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from odradek.coordinators.shard import CoordinatorRecord
from odradek.coordinators.transactions.state import PREVIOUS, TransactionState
from odradek.protocol.messages.internal.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from odradek.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

EPOCH_MAX: Final = 32_767
#: Levels of the feature transaction.version: 1 writes flexible records, 2 raises epochs (KIP-890).
FLEXIBLE_RECORDS_FROM: Final = 1
EPOCH_BUMP_FROM: Final = 2


class ProducerIdAndEpoch(NamedTuple):
    """What a producer puts into its batches."""

    producer_id: int
    producer_epoch: int


NO_PRODUCER: Final = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def is_exhausted(epoch: int) -> bool:
    """Whether a producer with this epoch needs a new id: the last epoch is kept for fencing."""
    return epoch >= EPOCH_MAX - 1


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """One transactional id."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    start_timestamp_ms: int
    last_update_timestamp_ms: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = 0  # transaction.version as the client of the last step spoke it

    @classmethod
    def new(cls, transactional_id: str, producer_id: int, timeout_ms: int) -> TransactionMetadata:
        """An id that nobody has used yet; its first init gives it epoch 0."""
        return cls(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=NO_PRODUCER_EPOCH,
            timeout_ms=timeout_ms,
            state=TransactionState.EMPTY,
            partitions=frozenset(),
            start_timestamp_ms=NO_TIMESTAMP,
            last_update_timestamp_ms=NO_TIMESTAMP,
        )

    @property
    def is_exhausted(self) -> bool:
        """Whether the epochs of the producer id are used up."""
        return is_exhausted(self.producer_epoch)

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """Producer id and epoch."""
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    @property
    def is_committed(self) -> bool:
        """How a decided transaction ends."""
        assert self.state.is_decided
        return self.state is TransactionState.PREPARE_COMMIT

    # -- steps ---------------------------------------------------------------------------------

    def with_epoch(self, epoch: int, timeout_ms: int, now_ms: int) -> TransactionMetadata:
        """Init: the producer goes on, or is taken over, with this epoch."""
        return self._initialized(self.producer_id, epoch, timeout_ms, now_ms)

    def with_new_producer_id(
        self, producer_id: int, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        """Init when the epochs are used up."""
        return self._initialized(producer_id, 0, timeout_ms, now_ms)

    def _initialized(
        self, producer_id: int, epoch: int, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        return self._step(
            TransactionState.EMPTY,
            now_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_timestamp_ms=NO_TIMESTAMP,
        )

    def with_partitions(
        self, partitions: Iterable[TopicPartition], client_version: int, now_ms: int
    ) -> TransactionMetadata:
        """The transaction begins with, or grows by, these partitions."""
        begins = self.state.is_idle
        return self._step(
            TransactionState.ONGOING,
            now_ms,
            partitions=self.partitions.union(partitions),
            start_timestamp_ms=now_ms if begins else self.start_timestamp_ms,
            client_version=client_version,
        )

    def ended(
        self, *, commit: bool, client_version: int, next_producer_id: int, now_ms: int
    ) -> TransactionMetadata:
        """The outcome is decided; with version 2 under a raised epoch."""
        epoch = self.producer_epoch
        if client_version >= EPOCH_BUMP_FROM:
            epoch = min(epoch + 1, EPOCH_MAX)
        return self._decided(commit, epoch, client_version, next_producer_id, now_ms)

    def fenced(
        self, *, server_version: int, next_producer_id: int, now_ms: int
    ) -> TransactionMetadata:
        """The coordinator aborts the transaction; its producer has an old epoch from now on."""
        epoch = min(self.producer_epoch + 1, EPOCH_MAX)
        version = server_version if server_version >= EPOCH_BUMP_FROM else 0
        return self._decided(False, epoch, version, next_producer_id, now_ms)

    def _decided(
        self, commit: bool, epoch: int, client_version: int, next_producer_id: int, now_ms: int
    ) -> TransactionMetadata:
        return self._step(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            now_ms,
            producer_epoch=epoch,
            next_producer_id=next_producer_id,
            # Version 2 may abort what never began; it then began now.
            start_timestamp_ms=now_ms if self.state.is_idle else self.start_timestamp_ms,
            client_version=client_version,
        )

    def completed(self, now_ms: int) -> TransactionMetadata:
        """All partitions have their marker."""
        producer = self.producer_after_end
        return self._step(
            TransactionState.COMPLETE_COMMIT
            if self.is_committed
            else TransactionState.COMPLETE_ABORT,
            now_ms,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
        )

    @property
    def producer_after_end(self) -> ProducerIdAndEpoch:
        """What a client goes on with after a decided transaction."""
        if self.client_version >= EPOCH_BUMP_FROM and self.next_producer_id != NO_PRODUCER_ID:
            return ProducerIdAndEpoch(self.next_producer_id, 0)
        return self.producer

    def _step(self, state: TransactionState, now_ms: int, **changes: Any) -> TransactionMetadata:
        assert self.state in PREVIOUS[state], f"from {self.state.label} to {state.label}"
        return replace(
            self,
            state=state,
            last_update_timestamp_ms=now_ms,
            previous_producer_id=self.producer_id,
            **changes,
        )

    # -- the log -------------------------------------------------------------------------------

    def record(self, transaction_version: int) -> CoordinatorRecord:
        """The record that makes this the truth, in the format of the finalised version."""
        flexible = max(transaction_version, self.client_version) >= FLEXIBLE_RECORDS_FROM
        by_topic: dict[str, list[int]] = {}
        for topic, partition in sorted(self.partitions):
            by_topic.setdefault(topic, []).append(partition)
        partitions = [
            PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()
        ]
        value = TransactionLogValue(
            producer_id=self.producer_id,
            previous_producer_id=self.previous_producer_id if flexible else NO_PRODUCER_ID,
            next_producer_id=self.next_producer_id if flexible else NO_PRODUCER_ID,
            producer_epoch=self.producer_epoch,
            transaction_timeout_ms=self.timeout_ms,
            transaction_status=self.state,
            # Null where no transaction is open, as Apache Kafka writes it.
            transaction_partitions=None if self.state is TransactionState.EMPTY else partitions,
            transaction_last_update_timestamp_ms=self.last_update_timestamp_ms,
            transaction_start_timestamp_ms=self.start_timestamp_ms,
            client_transaction_version=self.client_version,
        )
        return CoordinatorRecord(_key(self.transactional_id), value, int(flexible))

    @classmethod
    def of(cls, transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
        """What a record says."""
        return cls(
            transactional_id=transactional_id,
            producer_id=value.producer_id,
            producer_epoch=value.producer_epoch,
            timeout_ms=value.transaction_timeout_ms,
            state=TransactionState(value.transaction_status),
            partitions=frozenset(
                TopicPartition(schema.topic, partition)
                for schema in value.transaction_partitions or ()
                for partition in schema.partition_ids
            ),
            start_timestamp_ms=value.transaction_start_timestamp_ms,
            last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
            previous_producer_id=value.previous_producer_id,
            next_producer_id=value.next_producer_id,
            client_version=value.client_transaction_version,
        )


def tombstone(transactional_id: str) -> CoordinatorRecord:
    """The record that makes an id go away."""
    return CoordinatorRecord(_key(transactional_id), None)


def _key(transactional_id: str) -> TransactionLogKey:
    return TransactionLogKey(transactional_id=transactional_id)
