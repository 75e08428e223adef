"""The transactions of one partition of `__transaction_state` (pure; see `coordinators.shard`).

Handlers decide on requests about a transactional id, the log holds one record per step, `replay` keeps the
latest. The order of a transaction's end is what makes it atomic:

    1. Prepare record committed: the outcome is decided, whatever happens next.
    2. Every partition of the transaction gets its marker: `MarkerSink.send`, again after a restart, until
       all have it. A partition may get it twice; the second one changes nothing.
    3. Complete record: the id is free for the next transaction. Until then it answers
       CONCURRENT_TRANSACTIONS and clients come again.

Epochs fence: InitProducerId without a producer id takes an id over, and whoever had it is refused from
then on. A transaction that is open at that moment, or that exceeds its time-out, is aborted first.

Soft state: the epoch before the last init or end of each id, by which a repeated request is known
(KIP-360). After a restart it is gone, as with Apache Kafka, and such a request is fenced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

from odradek.config.broker import BrokerConfig
from odradek.coordinators.shard import CoordinatorRecord, Outcome, ShardTimers
from odradek.coordinators.transactions.endings import Ending, judge_v1, judge_v2
from odradek.coordinators.transactions.metadata import (
    EPOCH_BUMP_FROM,
    NO_PRODUCER,
    ProducerIdAndEpoch,
    TransactionMetadata,
    is_exhausted,
    tombstone,
)
from odradek.coordinators.transactions.queries import TransactionFilter
from odradek.coordinators.transactions.state import TransactionState
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.messages.internal.transaction_log import (
    TransactionLogKey,
    TransactionLogValue,
)
from odradek.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

log = logging.getLogger(__name__)
Reply = TypeVar("Reply")

FEATURE: Final = "transaction.version"
_ABORT_TIMER: Final = "abort timed-out transactions"
_EXPIRE_TIMER: Final = "expire transactional ids"


class Initialized(NamedTuple):
    """The answer to InitProducerId."""

    err: Err
    producer: ProducerIdAndEpoch = NO_PRODUCER


class MarkerSink(Protocol):
    """Who writes markers; it calls `TransactionShard.complete` once all of a transaction are written."""

    def send(self, txn: TransactionMetadata) -> None:
        """Write the markers of a decided transaction, now or soon."""
        ...


class TransactionShard:
    """The transactional ids that hash to one partition."""

    def __init__(
        self,
        *,
        config: Callable[[], BrokerConfig],
        now_ms: Callable[[], int],
        timers: ShardTimers,
        take_producer_id: Callable[[], int],
        markers: MarkerSink,
    ) -> None:
        """`take_producer_id` gives a fresh id, or raises ApiError when none is at hand right now."""
        self._config = config
        self._now_ms = now_ms
        self._timers = timers
        self._take_producer_id = take_producer_id
        self._markers = markers
        self._transactions: dict[str, TransactionMetadata] = {}
        self._ongoing: set[str] = set()
        self._last_epochs: dict[str, int] = {}
        self._version = 0

    # -- init ----------------------------------------------------------------------------------

    def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Outcome[Initialized]:
        """Take an id over, or (with what the producer believes to be) go on with it (KIP-360)."""
        if not transactional_id:
            raise ApiError(Err.INVALID_REQUEST, "the transactional id is empty")
        if not 0 < timeout_ms <= self._config().transaction_max_timeout_ms:
            raise ApiError(
                Err.INVALID_TRANSACTION_TIMEOUT,
                f"transaction.timeout.ms must be between 1 and transaction.max.timeout.ms "
                f"({self._config().transaction_max_timeout_ms}), not {timeout_ms}",
            )
        txn = self._transactions.get(transactional_id)
        if txn is None:
            txn = TransactionMetadata.new(transactional_id, self._take_producer_id(), timeout_ms)
        if expected is not None and not _may_go_on(txn, expected):
            raise ApiError(Err.PRODUCER_FENCED)
        if txn.state.is_decided:
            raise ApiError(Err.CONCURRENT_TRANSACTIONS)
        if txn.state is TransactionState.ONGOING:
            # This epoch is given to nobody: the client comes again and gets the next one.
            return self._decide(
                self._fence(txn), Initialized(Err.CONCURRENT_TRANSACTIONS), self._fenced_epoch(txn)
            )
        return self._initialize(txn, timeout_ms, expected)

    def _initialize(
        self, txn: TransactionMetadata, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Outcome[Initialized]:
        now_ms = self._now_ms()
        epoch = txn.producer_epoch
        last_epoch = epoch if expected is not None else NO_PRODUCER_EPOCH
        if txn.is_exhausted and (expected is None or expected.producer_epoch == epoch):
            updated = txn.with_new_producer_id(self._take_producer_id(), timeout_ms, now_ms)
        elif expected is None or epoch in (NO_PRODUCER_EPOCH, expected.producer_epoch):
            updated = txn.with_epoch(epoch + 1, timeout_ms, now_ms)
        elif expected.producer_epoch == self._last_epochs.get(txn.transactional_id):
            # Repeated: nobody else can have taken over, or the last epoch would be forgotten.
            last_epoch = expected.producer_epoch
            updated = txn.with_epoch(epoch, timeout_ms, now_ms)
        else:
            raise ApiError(Err.PRODUCER_FENCED)
        return self._write(updated, Initialized(Err.NONE, updated.producer), last_epoch)

    # -- partitions ----------------------------------------------------------------------------

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        client_version: int,
    ) -> Outcome[None]:
        """Make partitions part of the transaction, which begins if it has not; ApiError if not."""
        txn = self._open_to(transactional_id, producer)
        added = frozenset(partitions)
        if txn.state is TransactionState.ONGOING and added <= txn.partitions:
            return Outcome((), None)
        updated = txn.with_partitions(added, client_version, self._now_ms())
        return Outcome((updated.record(self._version),), None)

    def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
    ) -> dict[TopicPartition, Err]:
        """Which partitions are part of the open transaction; ApiError when all are refused."""
        txn = self._open_to(transactional_id, producer)
        return {
            partition: Err.NONE if partition in txn.partitions else Err.TRANSACTION_ABORTABLE
            for partition in partitions
        }

    def _open_to(self, transactional_id: str, producer: ProducerIdAndEpoch) -> TransactionMetadata:
        """The id, if this producer may write under it now."""
        txn = self._find(transactional_id)
        if txn.producer_id != producer.producer_id:
            raise ApiError(Err.INVALID_PRODUCER_ID_MAPPING)
        if txn.producer_epoch != producer.producer_epoch:
            raise ApiError(Err.PRODUCER_FENCED)
        if txn.state.is_decided:
            raise ApiError(Err.CONCURRENT_TRANSACTIONS)
        return txn

    def _find(self, transactional_id: str) -> TransactionMetadata:
        if not transactional_id:
            raise ApiError(Err.INVALID_REQUEST, "the transactional id is empty")
        txn = self._transactions.get(transactional_id)
        if txn is None:
            raise ApiError(Err.INVALID_PRODUCER_ID_MAPPING)
        return txn

    # -- the end -------------------------------------------------------------------------------

    def end_transaction(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        client_version: int,
    ) -> Outcome[ProducerIdAndEpoch]:
        """Commit or abort; the reply says with what the producer goes on. ApiError if refused."""
        txn = self._find(transactional_id)
        judge = judge_v2 if client_version >= EPOCH_BUMP_FROM else judge_v1
        if judge(txn, *producer, commit=commit) is Ending.REPEATED:
            return Outcome((), txn.producer)
        bumps = client_version >= EPOCH_BUMP_FROM
        updated = txn.ended(
            commit=commit,
            client_version=client_version,
            next_producer_id=self._next_producer_id(txn) if bumps else NO_PRODUCER_ID,
            now_ms=self._now_ms(),
        )
        last_epoch = self._last_epochs.get(transactional_id, NO_PRODUCER_EPOCH)
        return self._decide(
            updated, updated.producer_after_end, txn.producer_epoch if bumps else last_epoch
        )

    def complete(self, transactional_id: str, producer: ProducerIdAndEpoch) -> Outcome[None]:
        """All markers of the decided transaction of this producer are written."""
        txn = self._transactions.get(transactional_id)
        if txn is None or not txn.state.is_decided or txn.producer != producer:
            return Outcome((), None)  # told twice
        return Outcome((txn.completed(self._now_ms()).record(self._version),), None)

    def abort_timed_out(self) -> Outcome[None]:
        """Abort what has been open for longer than its producer asked for."""
        self._schedule_abort()
        now_ms = self._now_ms()
        late: list[TransactionMetadata] = []
        last_epochs: list[int] = []
        for transactional_id in sorted(self._ongoing):
            txn = self._transactions[transactional_id]
            if txn.start_timestamp_ms + txn.timeout_ms >= now_ms:
                continue
            try:
                late.append(self._fence(txn))
            except ApiError:
                continue  # no producer id at hand: the next round
            last_epochs.append(self._fenced_epoch(txn))
            log.info("%s is aborted: it has timed out", transactional_id)

        def then(err: Err) -> None:
            if err is Err.NONE:
                for txn, last_epoch in zip(late, last_epochs, strict=True):
                    self._remember(txn.transactional_id, last_epoch)
                    self._markers.send(txn)

        return Outcome(tuple(txn.record(self._version) for txn in late), None, then)

    def _fence(self, txn: TransactionMetadata) -> TransactionMetadata:
        bumps = self._version >= EPOCH_BUMP_FROM
        return txn.fenced(
            server_version=self._version,
            next_producer_id=self._next_producer_id(txn) if bumps else NO_PRODUCER_ID,
            now_ms=self._now_ms(),
        )

    def _fenced_epoch(self, txn: TransactionMetadata) -> int:
        """The last epoch after a fence: with version 2 the producer may abort late and go on."""
        return txn.producer_epoch if self._version >= EPOCH_BUMP_FROM else NO_PRODUCER_EPOCH

    def _next_producer_id(self, txn: TransactionMetadata) -> int:
        return self._take_producer_id() if txn.is_exhausted else NO_PRODUCER_ID

    def _decide(self, txn: TransactionMetadata, reply: Reply, last_epoch: int) -> Outcome[Reply]:
        return self._write(txn, reply, last_epoch, lambda: self._markers.send(txn))

    def _write(
        self,
        txn: TransactionMetadata,
        reply: Reply,
        last_epoch: int,
        committed: Callable[[], None] = lambda: None,
    ) -> Outcome[Reply]:
        def then(err: Err) -> None:
            if err is Err.NONE:
                self._remember(txn.transactional_id, last_epoch)
                committed()

        return Outcome((txn.record(self._version),), reply, then)

    def _remember(self, transactional_id: str, last_epoch: int) -> None:
        if last_epoch == NO_PRODUCER_EPOCH:
            self._last_epochs.pop(transactional_id, None)
        else:
            self._last_epochs[transactional_id] = last_epoch

    # -- expiry --------------------------------------------------------------------------------

    def expire(self) -> Outcome[None]:
        """Forget ids that have been silent for transactional.id.expiration.ms."""
        self._schedule_expire()
        until_ms = self._now_ms() - self._config().transactional_id_expiration_ms
        return Outcome(
            tuple(
                tombstone(txn.transactional_id)
                for txn in self._transactions.values()
                if txn.state.is_idle and txn.last_update_timestamp_ms <= until_ms
            ),
            None,
        )

    def _schedule_abort(self) -> None:
        delay_ms = self._config().transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._timers.schedule(_ABORT_TIMER, delay_ms, self.abort_timed_out)

    def _schedule_expire(self) -> None:
        delay_ms = self._config().transaction_remove_expired_transaction_cleanup_interval_ms
        self._timers.schedule(_EXPIRE_TIMER, delay_ms, self.expire)

    # -- asking --------------------------------------------------------------------------------

    def get(self, transactional_id: str) -> TransactionMetadata | None:
        """One id, for DescribeTransactions."""
        return self._transactions.get(transactional_id)

    def matching(self, wanted: TransactionFilter) -> list[TransactionMetadata]:
        """The ids that ListTransactions asks for."""
        now_ms = self._now_ms()
        return [txn for txn in self._transactions.values() if wanted.matches(txn, now_ms)]

    # -- replay --------------------------------------------------------------------------------

    def replay(
        self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord
    ) -> None:
        """The latest record of an id is its state."""
        assert isinstance(record.key, TransactionLogKey)
        transactional_id = record.key.transactional_id
        if record.value is None:
            self._transactions.pop(transactional_id, None)
            self._ongoing.discard(transactional_id)
            self._last_epochs.pop(transactional_id, None)
            return
        assert isinstance(record.value, TransactionLogValue)
        txn = TransactionMetadata.of(transactional_id, record.value)
        self._transactions[transactional_id] = txn
        if txn.state is TransactionState.ONGOING:
            self._ongoing.add(transactional_id)
        else:
            self._ongoing.discard(transactional_id)

    def replay_end_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """Nobody writes transactionally to the coordinator's own log; a stray marker means nothing."""

    def on_loaded(self, image: MetadataImage) -> Outcome[None]:
        """Set up the timers; finish what was decided before the restart."""
        self._version = image.features.get(FEATURE, 0)
        self._schedule_abort()
        self._schedule_expire()
        decided = [txn for txn in self._transactions.values() if txn.state.is_decided]

        def then(err: Err) -> None:
            for txn in decided:
                self._markers.send(txn)

        return Outcome((), None, then)

    def on_metadata(self, image: MetadataImage) -> Outcome[None]:
        """The finalised transaction.version may have changed."""
        self._version = image.features.get(FEATURE, 0)
        return Outcome((), None)

    def on_unloaded(self) -> None:
        """Nobody waits here: replies wait in the runtime, markers in their sink."""


def _may_go_on(txn: TransactionMetadata, expected: ProducerIdAndEpoch) -> bool:
    """Whether a producer that believes to be `expected` may init this id."""
    if txn.producer_epoch == NO_PRODUCER_EPOCH:
        return True  # the id had expired: any producer may begin again
    if expected.producer_id == txn.producer_id:
        return True  # its epoch is looked at later
    # Repeated after its epochs were used up and it got a new producer id.
    return expected.producer_id == txn.previous_producer_id and is_exhausted(
        expected.producer_epoch
    )
