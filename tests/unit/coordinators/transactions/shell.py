"""A transaction shard on a virtual clock: outcomes are written to a list, replayed, and released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from odradek.config.broker import BrokerConfig
from odradek.coordinators.record_format import TRANSACTION_RECORDS, encode_record
from odradek.coordinators.shard import Outcome
from odradek.coordinators.transactions.metadata import ProducerIdAndEpoch, TransactionMetadata
from odradek.coordinators.transactions.shard import FEATURE, Initialized, TransactionShard
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.types import TopicPartition

T = TypeVar("T")
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class Shell:
    """What the runtime and the marker sink are to a shard, in a few lines."""

    version: int = 2
    config: BrokerConfig = field(default_factory=lambda: BrokerConfig.from_strings({})[0])
    now_ms: int = 1_000_000
    next_producer_id: int = 100
    out_of_ids: bool = False
    hold_markers: bool = False
    fail_writes: bool = False
    log: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    sent: list[TransactionMetadata] = field(default_factory=list)
    timers: dict[str, tuple[float, Callable[[], Outcome[None]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shard = self._new_shard()

    def _new_shard(self) -> TransactionShard:
        return TransactionShard(
            config=lambda: self.config,
            now_ms=lambda: self.now_ms,
            timers=self,
            take_producer_id=self._take,
            markers=self,
        )

    def start(self) -> None:
        self.run(self.shard.on_loaded(self.image()))

    def image(self) -> MetadataImage:
        return MetadataImage(features={FEATURE: self.version} if self.version else {})

    def _take(self) -> int:
        if self.out_of_ids:
            raise ApiError(Err.COORDINATOR_LOAD_IN_PROGRESS)
        self.next_producer_id += 1
        return self.next_producer_id

    # ShardTimers

    def schedule(self, key: str, delay_ms: float, operation: Callable[[], Outcome[None]]) -> None:
        self.timers[key] = (self.now_ms + delay_ms, operation)

    def cancel(self, key: str) -> None:
        self.timers.pop(key, None)

    # MarkerSink

    def send(self, txn: TransactionMetadata) -> None:
        self.sent.append(txn)
        if not self.hold_markers:
            self.complete(txn)

    def complete(self, txn: TransactionMetadata) -> None:
        self.run(self.shard.complete(txn.transactional_id, txn.producer))

    # The runtime

    def run(self, outcome: Outcome[T]) -> T:
        if outcome.records and self.fail_writes:
            outcome.then(Err.COORDINATOR_NOT_AVAILABLE)
            raise ApiError(Err.COORDINATOR_NOT_AVAILABLE)
        for record in outcome.records:
            written = encode_record(record)
            self.log.append(written)
            decoded = TRANSACTION_RECORDS.decode(*written)
            assert decoded == record
            self.shard.replay(len(self.log) - 1, -1, -1, decoded)
        outcome.then(Err.NONE)
        return outcome.reply

    def reload(self) -> None:
        """The broker restarts."""
        self.timers.clear()
        self.sent.clear()
        self.shard.on_unloaded()
        self.shard = self._new_shard()
        for offset, written in enumerate(self.log):
            record = TRANSACTION_RECORDS.decode(*written)
            assert record is not None
            self.shard.replay(offset, -1, -1, record)
        self.start()

    def advance(self, milliseconds: int) -> None:
        """Time passes; what was due happens in order."""
        until = self.now_ms + milliseconds
        while True:
            due = sorted((at, key) for key, (at, _) in self.timers.items() if at <= until)
            if not due:
                break
            at, key = due[0]
            self.now_ms = max(self.now_ms, int(at))
            operation = self.timers.pop(key)[1]
            self.run(operation())
        self.now_ms = until

    # A producer

    def init(
        self,
        transactional_id: str = "x",
        expected: ProducerIdAndEpoch | None = None,
        timeout_ms: int = 60_000,
    ) -> ProducerIdAndEpoch:
        reply = self.ask_init(transactional_id, expected, timeout_ms)
        assert reply.err is Err.NONE
        return reply.producer

    def ask_init(
        self,
        transactional_id: str = "x",
        expected: ProducerIdAndEpoch | None = None,
        timeout_ms: int = 60_000,
    ) -> Initialized:
        return self.run(self.shard.init_producer_id(transactional_id, timeout_ms, expected))

    def add(
        self,
        producer: ProducerIdAndEpoch,
        *partitions: TopicPartition,
        transactional_id: str = "x",
        version: int | None = None,
    ) -> None:
        self.run(
            self.shard.add_partitions(
                transactional_id, producer, partitions or (P0,), self._client(version)
            )
        )

    def end(
        self,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool = True,
        transactional_id: str = "x",
        version: int | None = None,
    ) -> ProducerIdAndEpoch:
        return self.run(
            self.shard.end_transaction(
                transactional_id, producer, commit=commit, client_version=self._client(version)
            )
        )

    def _client(self, version: int | None) -> int:
        if version is not None:
            return version
        return 2 if self.version >= 2 else 0

    def txn(self, transactional_id: str = "x") -> TransactionMetadata:
        found = self.shard.get(transactional_id)
        assert found is not None
        return found

    def state(self, transactional_id: str = "x") -> str:
        return self.txn(transactional_id).state.label

    def set_epoch(self, epoch: int, transactional_id: str = "x") -> ProducerIdAndEpoch:
        """As if the id had been used that often."""
        updated = replace(self.txn(transactional_id), producer_epoch=epoch)
        self.run(Outcome((updated.record(self.version),), None))
        return updated.producer
