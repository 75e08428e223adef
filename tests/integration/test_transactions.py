"""Transactions over the wire and with real clients: atomic, fenced, timed out, and alive after a restart.

What takes `broker` also holds for Apache Kafka (`ODRADEK_TEST_BOOTSTRAP`). Scenarios S-5.1 to S-5.4.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from odradek.coordinators.record_format import TRANSACTION_RECORDS, encode_record
from odradek.coordinators.shard import Outcome
from odradek.coordinators.transactions.state import TransactionState
from odradek.errors import Err
from odradek.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.messages.describe_transactions import DescribeTransactionsRequest
from odradek.protocol.messages.end_txn import EndTxnRequest
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.internal.transaction_log import TransactionLogValue
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.list_transactions import ListTransactionsRequest
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.records.builder import build_batch
from odradek.records.record import Record

SECONDS_MAX = 30.0
READ_COMMITTED = 1
TV1, TV2 = {"end": 4, "produce": 11}, {"end": 5, "produce": 12}


class RawProducer:
    """A transactional producer in which every request is the test's own."""

    def __init__(self, wire: Any, transactional_id: str | None = None, timeout_ms: int = 60_000):
        self.wire = wire
        self.id = transactional_id or f"x-{uuid4().hex[:8]}"
        self.timeout_ms = timeout_ms
        self.producer_id, self.epoch = -1, -1
        self.sequences = count()

    def init(self, version: int = 5, **known: int) -> Any:
        """InitProducerId until the coordinator is ready; what it says in the end."""
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            find = FindCoordinatorRequest(key_type=1, coordinator_keys=[self.id])
            self.wire.ask(find, 4)
            request = InitProducerIdRequest(
                transactional_id=self.id, transaction_timeout_ms=self.timeout_ms, **known
            )
            answer = self.wire.ask(request, version)
            if answer.error_code not in (
                Err.CONCURRENT_TRANSACTIONS, Err.NOT_COORDINATOR, Err.COORDINATOR_NOT_AVAILABLE,
                Err.COORDINATOR_LOAD_IN_PROGRESS,
            ):  # fmt: skip
                break
            assert time.monotonic() < deadline
            time.sleep(0.02)
        if answer.error_code == 0:
            self._goes_on(answer.producer_id, answer.producer_epoch)
        return answer

    def _goes_on(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.sequences = count()
        self.producer_id, self.epoch = producer_id, epoch

    def add(self, topic: str, *partitions: int, version: int = 3) -> Err:
        topics = [AddPartitionsToTxnTopic(name=topic, partitions=list(partitions or (0,)))]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )
        answer = self.again(lambda: self.wire.ask(request, version), _first_add_error)
        return _first_add_error(answer)

    def again(self, ask: Any, error_of: Any) -> Any:
        """What Apache Kafka answers while it still writes markers is asked again."""
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            answer = ask()
            if error_of(answer) != Err.CONCURRENT_TRANSACTIONS or time.monotonic() > deadline:
                return answer
            time.sleep(0.02)

    def batch(self, value: bytes, **fields: Any) -> bytes:
        given = {
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "base_sequence": next(self.sequences) if "base_sequence" not in fields else 0,
            "transactional": True,
        }
        now_ms = int(time.time() * 1000)
        return bytes(build_batch([Record(0, now_ms, None, value)], **{**given, **fields}))

    def produce(
        self, topic: str, value: bytes, *, version: int = 12, partition: int = 0, **fields: Any
    ) -> Any:
        transactional_id = fields.pop("transactional_id", self.id)
        batch = self.batch(value, **fields)
        data = PartitionProduceData(index=partition, records=batch)
        topic_data = TopicProduceData(name=topic, partition_data=[data])
        request = ProduceRequest(
            transactional_id=transactional_id, acks=-1, timeout_ms=30_000, topic_data=[topic_data]
        )

        def error_of(answer: Any) -> int:
            return int(answer.responses[0].partition_responses[0].error_code)

        answer = self.again(lambda: self.wire.ask(request, version), error_of)
        return answer.responses[0].partition_responses[0]

    def end(self, *, commit: bool = True, version: int = 5, epoch: int | None = None) -> Any:
        request = EndTxnRequest(
            transactional_id=self.id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            committed=commit,
        )
        answer = self.again(lambda: self.wire.ask(request, version), lambda a: a.error_code)
        if version >= 5 and answer.error_code == 0 and epoch is None:
            self._goes_on(answer.producer_id, answer.producer_epoch)
        return answer

    def describe(self) -> Any:
        request = DescribeTransactionsRequest(transactional_ids=[self.id])
        return self.wire.ask(request, 0).transaction_states[0]


def _first_add_error(answer: Any) -> Err:
    (topic,) = answer.results_by_topic_v3_and_below
    return Err(topic.results_by_partition[0].partition_error_code)


def offset_of(wire: Any, topic: str, *, committed: bool, partition: int = 0) -> int:
    """The last stable offset, or the high watermark."""
    asked = ListOffsetsPartition(partition_index=partition, timestamp=-1)
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=READ_COMMITTED if committed else 0,
        topics=[ListOffsetsTopic(name=topic, partitions=[asked])],
    )
    return int(wire.ask(request, 7).topics[0].partitions[0].offset)


def wait_until_stable(wire: Any, topic: str) -> None:
    """Apache Kafka writes markers after it has answered."""
    deadline = time.monotonic() + SECONDS_MAX
    while offset_of(wire, topic, committed=True) < offset_of(wire, topic, committed=False):
        assert time.monotonic() < deadline, "a transaction is still open"
        time.sleep(0.02)


def wait_until_loaded(raw: RawProducer) -> None:
    """A coordinator that has just started reads its log first."""
    deadline = time.monotonic() + SECONDS_MAX
    while raw.describe().error_code:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def values(servers: str, topic: str, isolation: str = "read_committed", partitions: int = 1) -> Any:
    """All values that a consumer gets to see."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"g-{uuid4().hex[:8]}",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        found, ends = [], 0
        while ends < partitions:
            message = consumer.poll(SECONDS_MAX)
            assert message is not None
            if message.error() is None:
                found.append(message.value())
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF
                ends += 1
        return found
    finally:
        consumer.close()


@pytest.fixture
def raw(wire):
    """A transactional producer on `broker`."""
    producer = RawProducer(wire)
    assert producer.init().error_code == 0
    return producer


# -- the life of a transaction ---------------------------------------------------------------------


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("speaks", [TV1, TV2], ids=["v1", "v2"])
def test_a_transaction_is_seen_as_a_whole_or_not_at_all(raw, broker, topic, commit, speaks):
    """S-5.1, S-5.2: what is committed is read, what is aborted is read by read_uncommitted only."""
    if speaks is TV1:
        assert raw.add(topic) is Err.NONE
    for value in (b"a", b"b"):
        assert raw.produce(topic, value, version=speaks["produce"]).error_code == 0
    assert offset_of(raw.wire, topic, committed=True) == 0
    assert offset_of(raw.wire, topic, committed=False) == 2
    assert raw.end(commit=commit, version=speaks["end"]).error_code == 0
    wait_until_stable(raw.wire, topic)
    assert offset_of(raw.wire, topic, committed=True) == 3  # two records and a marker
    assert values(broker.bootstrap_servers, topic) == ([b"a", b"b"] if commit else [])
    assert values(broker.bootstrap_servers, topic, "read_uncommitted") == [b"a", b"b"]


def test_fetch_lists_aborted_transactions(raw, connect, topic):
    """A read_committed consumer skips by these: producer id and first offset of each."""
    raw.produce(topic, b"aborted")
    aborted = raw.producer_id
    raw.end(commit=False)
    raw.produce(topic, b"committed")
    raw.end()
    wait_until_stable(raw.wire, topic)
    part = connect().fetch(topic, isolation_level=READ_COMMITTED)
    assert part.last_stable_offset == part.high_watermark == 4
    assert [(a.producer_id, a.first_offset) for a in part.aborted_transactions] == [(aborted, 0)]


def test_the_last_stable_offset_is_the_oldest_open_transaction(wire, connect, topic):
    first, second = RawProducer(wire), RawProducer(wire)
    first.init()
    second.init()
    first.produce(topic, b"1")
    second.produce(topic, b"2")
    second.end()
    time.sleep(0.1)
    assert offset_of(wire, topic, committed=True) == 0
    first.end()
    wait_until_stable(wire, topic)
    assert offset_of(wire, topic, committed=True) == 4


def test_version_2_raises_the_epoch_with_every_end(raw, topic):
    """KIP-890: the response says with which producer id and epoch the producer goes on."""
    epoch = raw.epoch
    for commit in (True, False, True):
        assert raw.produce(topic, b"x").error_code == 0
        answer = raw.end(commit=commit)
        epoch += 1
        assert (answer.producer_id, answer.producer_epoch) == (raw.producer_id, epoch)


def test_version_1_keeps_the_epoch(raw, topic):
    epoch = raw.epoch
    for _ in range(2):
        assert raw.add(topic) is Err.NONE
        assert raw.produce(topic, b"x", version=11).error_code == 0
        assert raw.end(version=4).error_code == 0
    assert raw.epoch == epoch
    assert raw.describe().producer_epoch == epoch


def test_an_end_may_be_repeated(raw, topic):
    """The answer was lost: the same request gets the same answer, the opposite one is refused."""
    raw.produce(topic, b"x")
    used = raw.epoch
    first = raw.end()
    again = raw.end(epoch=used)
    assert (again.error_code, again.producer_epoch) == (0, first.producer_epoch)
    assert raw.end(commit=False, epoch=used).error_code == Err.INVALID_TXN_STATE


def test_a_delayed_end_never_decides_a_later_transaction(raw, broker, topic):
    """KAFKA-17754 with transaction.version 2: an EndTxn from before is fenced."""
    raw.produce(topic, b"first")
    old = raw.epoch
    raw.end()
    raw.produce(topic, b"second")
    assert raw.end(commit=False, epoch=old).error_code == Err.PRODUCER_FENCED
    assert raw.end().error_code == 0
    wait_until_stable(raw.wire, topic)
    assert values(broker.bootstrap_servers, topic) == [b"first", b"second"]


def test_with_version_1_a_delayed_end_does_decide_a_later_transaction(raw, broker, topic):
    """KAFKA-17754: the older protocol cannot tell them apart, with Apache Kafka neither."""
    for value in (b"first", b"second"):
        raw.add(topic)
        raw.produce(topic, value, version=11)
        assert raw.end(commit=False, version=4).error_code == 0
    raw.add(topic)
    raw.produce(topic, b"third", version=11)
    assert raw.end(commit=False, version=4).error_code == 0  # the second one's, delivered again
    assert raw.end(commit=True, version=4).error_code == Err.INVALID_TXN_STATE


def test_old_and_new_epochs_are_fenced(raw, wire, topic):
    """S-5.4: a second instance takes over; the first one is told by every request, in its version."""
    raw.produce(topic, b"zombie")
    successor = RawProducer(wire, raw.id)
    assert successor.init().error_code == 0
    assert (successor.producer_id, successor.epoch > raw.epoch) == (raw.producer_id, True)
    assert raw.add(topic) is Err.PRODUCER_FENCED
    assert raw.add(topic, version=1) is Err.INVALID_PRODUCER_EPOCH
    for version in range(6):
        expected = Err.PRODUCER_FENCED if version >= 2 else Err.INVALID_PRODUCER_EPOCH
        assert raw.end(version=version, epoch=raw.epoch).error_code == expected
    for version in (11, 12):
        refused = raw.produce(topic, b"zombie", version=version)
        assert refused.error_code == Err.INVALID_PRODUCER_EPOCH
    known = {"producer_id": raw.producer_id, "producer_epoch": raw.epoch}
    assert raw.init(4, **known).error_code == Err.PRODUCER_FENCED
    assert raw.init(3, **known).error_code == Err.INVALID_PRODUCER_EPOCH
    successor.produce(topic, b"good")
    successor.end()
    wait_until_stable(wire, topic)


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_init(wire, version):
    producer = RawProducer(wire)
    assert producer.init(version).error_code == 0
    assert producer.epoch == 0
    assert producer.init(version).producer_epoch == 1


def test_a_producer_goes_on_after_an_error(raw):
    """KIP-360: it names itself and gets the next epoch; the same again when it repeats."""
    known = {"producer_id": raw.producer_id, "producer_epoch": raw.epoch}
    assert raw.init(4, **known).producer_epoch == 1
    assert raw.init(4, **known).producer_epoch == 1
    known["producer_epoch"] = 7
    assert raw.init(4, **known).error_code == Err.PRODUCER_FENCED
    half = raw.init(4, producer_id=3, producer_epoch=-1)
    assert half.error_code == Err.INVALID_REQUEST


def test_init_refuses_what_cannot_be(wire):
    assert RawProducer(wire, timeout_ms=0).init().error_code == Err.INVALID_TRANSACTION_TIMEOUT
    too_long = RawProducer(wire, timeout_ms=900_001)
    assert too_long.init().error_code == Err.INVALID_TRANSACTION_TIMEOUT
    empty = InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000)
    assert wire.ask(empty, 4).error_code == Err.INVALID_REQUEST


def test_ends_that_cannot_be(raw, wire, topic):
    assert raw.end(commit=True).error_code == Err.INVALID_TXN_STATE
    assert raw.end(commit=False, version=4).error_code == Err.INVALID_TXN_STATE
    stranger = RawProducer(wire)
    stranger.producer_id, stranger.epoch = 1, 0
    assert stranger.end().error_code == Err.INVALID_PRODUCER_ID_MAPPING
    # With version 2 there may be nothing to abort.
    assert raw.end(commit=False).error_code == 0


# -- partitions ------------------------------------------------------------------------------------


def test_a_write_without_its_partition_is_refused(raw, topic):
    """KIP-890: it would open a transaction that nobody ends. The words depend on the version."""
    told = raw.produce(topic, b"x", version=9, base_sequence=0).error_code
    assert told == Err.INVALID_TXN_STATE
    told = raw.produce(topic, b"x", version=11, base_sequence=0).error_code
    assert told == Err.TRANSACTION_ABORTABLE
    assert offset_of(raw.wire, topic, committed=False) == 0


def test_a_write_without_the_transactional_id_is_refused(raw, topic):
    refused = raw.produce(topic, b"x", transactional_id=None)
    assert refused.error_code == Err.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_a_write_of_a_stranger_is_refused(raw, topic):
    refused = raw.produce(topic, b"x", producer_id=raw.producer_id + 1000)
    assert refused.error_code == Err.INVALID_PRODUCER_ID_MAPPING
    refused = raw.produce(topic, b"x", producer_epoch=raw.epoch + 1)
    assert refused.error_code == Err.INVALID_PRODUCER_EPOCH


def test_a_new_partition_begins_with_sequence_0(raw, topic):
    """With version 2 an earlier batch that was lost is noticed."""
    next(raw.sequences)
    assert raw.produce(topic, b"x").error_code == Err.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_unknown_partitions_are_not_added(raw, topic):
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=raw.id,
        v3_and_below_producer_id=raw.producer_id,
        v3_and_below_producer_epoch=raw.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0, 9])],
    )
    (answer,) = raw.wire.ask(request, 3).results_by_topic_v3_and_below
    assert {r.partition_index: r.partition_error_code for r in answer.results_by_partition} == {
        0: Err.OPERATION_NOT_ATTEMPTED,
        9: Err.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert raw.describe().transaction_state == "Empty"


def test_the_batched_form_adds_and_verifies(raw, wire, topic):
    """Between brokers: several transactions at once, each added or only verified."""
    other = RawProducer(wire)
    other.init()

    def ask(producer: RawProducer, *, verify_only: bool) -> AddPartitionsToTxnTransaction:
        return AddPartitionsToTxnTransaction(
            transactional_id=producer.id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        )

    request = AddPartitionsToTxnRequest(
        transactions=[ask(raw, verify_only=False), ask(other, verify_only=True)]
    )
    answer = wire.ask(request, 5)
    told = {
        r.transactional_id: r.topic_results[0].results_by_partition[0].partition_error_code
        for r in answer.results_by_transaction
    }
    assert told == {raw.id: Err.NONE, other.id: Err.TRANSACTION_ABORTABLE}
    verified = wire.ask(AddPartitionsToTxnRequest(transactions=[ask(raw, verify_only=True)]), 4)
    (result,) = verified.results_by_transaction
    assert result.topic_results[0].results_by_partition[0].partition_error_code == 0
    raw.end(commit=False)


# -- offsets in transactions -----------------------------------------------------------------------


def committed_offset(wire: Any, group: str, topic: str, *, stable: bool = False) -> Any:
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)], require_stable=stable
    )
    return wire.ask(request, 8).groups[0].topics[0].partitions[0]


def commit_offset(raw: RawProducer, group: str, topic: str, offset: int, version: int) -> Err:
    partition = TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    request = TxnOffsetCommitRequest(
        transactional_id=raw.id,
        group_id=group,
        producer_id=raw.producer_id,
        producer_epoch=raw.epoch,
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )

    def error_of(answer: Any) -> int:
        return int(answer.topics[0].partitions[0].error_code)

    return Err(error_of(raw.again(lambda: raw.wire.ask(request, version), error_of)))


def find_group(wire: Any, group: str) -> None:
    """Have the offsets topic made, and wait until its coordinator serves."""
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        wire.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=[])])
        if wire.ask(request, 8).groups[0].error_code == 0:
            return
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("speaks", [TV1, TV2], ids=["v1", "v2"])
def test_offsets_count_once_the_transaction_commits(raw, topic, commit, speaks):
    """S-5.3: consume, transform, produce."""
    group = f"g-{uuid4().hex[:8]}"
    find_group(raw.wire, group)
    if speaks is TV1:
        request = AddOffsetsToTxnRequest(
            transactional_id=raw.id,
            producer_id=raw.producer_id,
            producer_epoch=raw.epoch,
            group_id=group,
        )
        assert raw.wire.ask(request, 3).error_code == 0
    version = 3 if speaks is TV1 else 5
    assert commit_offset(raw, group, topic, 42, version) is Err.NONE
    assert committed_offset(raw.wire, group, topic).committed_offset == -1
    unstable = committed_offset(raw.wire, group, topic, stable=True)
    assert unstable.error_code == Err.UNSTABLE_OFFSET_COMMIT
    assert raw.end(commit=commit, version=speaks["end"]).error_code == 0
    deadline = time.monotonic() + SECONDS_MAX
    while committed_offset(raw.wire, group, topic, stable=True).error_code:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    expected = 42 if commit else -1
    assert committed_offset(raw.wire, group, topic).committed_offset == expected


def test_offsets_of_a_group_that_was_not_added_are_refused(raw, topic):
    group = f"g-{uuid4().hex[:8]}"
    find_group(raw.wire, group)
    assert commit_offset(raw, group, topic, 1, 3) is Err.INVALID_TXN_STATE
    assert commit_offset(raw, group, topic, 1, 4) is Err.TRANSACTION_ABORTABLE
    assert commit_offset(raw, "", topic, 1, 5) is Err.INVALID_GROUP_ID
    assert commit_offset(raw, group, "missing", 1, 5) is Err.UNKNOWN_TOPIC_OR_PARTITION
    raw.epoch += 1
    assert commit_offset(raw, group, topic, 1, 5) is Err.INVALID_PRODUCER_EPOCH


# -- looking at transactions -----------------------------------------------------------------------


def test_transactions_are_described(raw, wire, make_topic):
    topic = make_topic(3)
    raw.add(topic, 0, 2)
    told = raw.describe()
    assert (told.error_code, told.transaction_state) == (0, "Ongoing")
    assert (told.producer_id, told.producer_epoch) == (raw.producer_id, raw.epoch)
    assert told.transaction_timeout_ms == 60_000
    assert abs(told.transaction_start_time_ms - time.time() * 1000) < 60_000
    assert [(t.topic, sorted(t.partitions)) for t in told.topics] == [(topic, [0, 2])]
    raw.end(version=4)
    unknown = RawProducer(wire).describe()
    assert unknown.error_code == Err.TRANSACTIONAL_ID_NOT_FOUND


def test_transactions_are_listed_by_filters(raw, topic):
    def listed(version: int = 2, **filters: Any) -> set[str]:
        fields = {"state_filters": [], "producer_id_filters": [], **filters}
        answer = raw.wire.ask(ListTransactionsRequest(**fields), version)
        assert answer.error_code == 0
        return {s.transactional_id for s in answer.transaction_states}

    raw.add(topic)
    assert raw.id in listed()
    assert raw.id in listed(state_filters=["Ongoing"])
    assert raw.id not in listed(state_filters=["Empty", "CompleteCommit"])
    assert listed(producer_id_filters=[raw.producer_id]) == {raw.id}
    assert raw.id in listed(duration_filter=0)
    assert raw.id not in listed(duration_filter=3_600_000)
    assert listed(transactional_id_pattern=f"{raw.id[:5]}.*", version=2) >= {raw.id}
    assert raw.id not in listed(transactional_id_pattern="nothing")
    odd = raw.wire.ask(ListTransactionsRequest(state_filters=["Odd"], producer_id_filters=[]), 0)
    assert odd.unknown_state_filters == ["Odd"]
    assert odd.transaction_states == []
    broken = ListTransactionsRequest(
        state_filters=[], producer_id_filters=[], transactional_id_pattern="("
    )
    assert raw.wire.ask(broken, 2).error_code == Err.INVALID_REGULAR_EXPRESSION
    raw.end(version=4)


def test_an_operator_ends_a_hanging_transaction(raw, topic):
    """KIP-664: a marker written from outside moves the last stable offset."""
    raw.produce(topic, b"hangs")

    def write(epoch: int, version: int, transaction_version: int = 0) -> int:
        marker = WritableTxnMarker(
            producer_id=raw.producer_id,
            producer_epoch=epoch,
            transaction_result=False,
            coordinator_epoch=0,
            transaction_version=transaction_version,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0, 7])],
        )
        answer = raw.wire.ask(WriteTxnMarkersRequest(markers=[marker]), version)
        known, unknown = sorted(
            answer.markers[0].topics[0].partitions, key=lambda p: p.partition_index
        )
        assert unknown.error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
        return int(known.error_code)

    # A coordinator of version 2 ends a transaction with a higher epoch than that of its records.
    assert write(raw.epoch, 2, transaction_version=2) == Err.INVALID_PRODUCER_EPOCH
    assert offset_of(raw.wire, topic, committed=True) == 0
    assert write(raw.epoch, 1) == 0
    assert offset_of(raw.wire, topic, committed=True) == 2


def records_of(servers: str, transactional_id: str) -> list[TransactionLogValue]:
    """What the coordinator has written about an id, in its order."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    try:
        topic = "__transaction_state"
        partitions = consumer.list_topics(topic, SECONDS_MAX).topics[topic].partitions
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        found, ends = [], 0
        while ends < len(partitions):
            message = consumer.poll(SECONDS_MAX)
            assert message is not None
            if message.error() is not None:
                ends += 1
                continue
            record = TRANSACTION_RECORDS.decode(message.key(), message.value())
            assert record is not None
            if record.key.transactional_id == transactional_id:  # type: ignore[attr-defined]
                assert record.value_version == 1
                assert encode_record(record) == (message.key(), message.value())
                found.append(record.value)
        return found  # type: ignore[return-value]
    finally:
        consumer.close()


def test_the_log_of_the_coordinator(raw, broker, topic):
    """The state topic holds the same records as Apache Kafka's, byte for byte but for the times."""
    raw.produce(topic, b"x")
    raw.end()
    raw.again(lambda: raw.end(commit=False, epoch=raw.epoch), lambda answer: answer.error_code)
    raw.init()
    deadline = time.monotonic() + SECONDS_MAX
    while raw.describe().transaction_state != "Empty":
        assert time.monotonic() < deadline
    raw.add(topic)
    raw.end(version=4)
    deadline = time.monotonic() + SECONDS_MAX
    while raw.describe().transaction_state != "CompleteCommit":
        assert time.monotonic() < deadline
    told = [
        (
            TransactionState(value.transaction_status).label,
            value.producer_epoch,
            value.previous_producer_id == raw.producer_id,
            value.next_producer_id,
            value.client_transaction_version,
            None
            if value.transaction_partitions is None
            else [(p.topic, p.partition_ids) for p in value.transaction_partitions],
            value.transaction_start_timestamp_ms >= 0,
        )
        for value in records_of(broker.bootstrap_servers, raw.id)
    ]
    its = [(topic, [0])]
    assert told == [
        ("Empty", 0, True, -1, 0, None, False),
        ("Ongoing", 0, True, -1, 2, its, True),
        ("PrepareCommit", 1, True, -1, 2, its, True),
        ("CompleteCommit", 1, True, -1, 2, [], True),
        ("PrepareAbort", 2, True, -1, 2, [], True),
        ("CompleteAbort", 2, True, -1, 2, [], True),
        ("Empty", 3, True, -1, 2, None, False),
        ("Ongoing", 3, True, -1, 0, its, True),
        ("PrepareCommit", 3, True, -1, 0, its, True),
        ("CompleteCommit", 3, True, -1, 0, [], True),
    ]


def test_produce_by_topic_id(raw, topic):
    """Produce v13 names topics by their ids; transactions know them by name."""
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    topic_id: UUID = raw.wire.ask(asked, 12).topics[0].topic_id
    data = PartitionProduceData(index=0, records=raw.batch(b"x"))
    request = ProduceRequest(
        transactional_id=raw.id,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[data])],
    )
    assert raw.wire.ask(request, 13).responses[0].partition_responses[0].error_code == 0
    assert raw.describe().topics[0].topic == topic
    assert raw.end().error_code == 0


# -- clients ---------------------------------------------------------------------------------------


def confluent_producer(servers: str, transactional_id: str, **settings: Any) -> Producer:
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": transactional_id, **settings}
    )
    producer.init_transactions(SECONDS_MAX)
    return producer


def test_confluent_kafka_commits_and_aborts(broker, make_topic):
    """S-5.1: several partitions, commits and aborts in turn; consumers see whole transactions."""
    topic = make_topic(2)
    producer = confluent_producer(broker.bootstrap_servers, f"x-{uuid4().hex[:8]}")
    for number in range(6):
        producer.begin_transaction()
        for i in range(10):
            producer.produce(topic, b"%d-%d" % (number, i), partition=i % 2)
        producer.flush(SECONDS_MAX)
        if number % 2 == 0:
            producer.commit_transaction(SECONDS_MAX)
        else:
            producer.abort_transaction(SECONDS_MAX)
    seen = values(broker.bootstrap_servers, topic, partitions=2)
    assert sorted(seen) == sorted(b"%d-%d" % (n, i) for n in (0, 2, 4) for i in range(10))
    everything = values(broker.bootstrap_servers, topic, "read_uncommitted", partitions=2)
    assert len(everything) == 60


def test_confluent_kafka_is_fenced_by_a_second_instance(broker, topic):
    """S-5.4: the older instance cannot commit, and what it wrote is not seen."""
    transactional_id = f"x-{uuid4().hex[:8]}"
    zombie = confluent_producer(broker.bootstrap_servers, transactional_id)
    zombie.begin_transaction()
    zombie.produce(topic, b"zombie")
    zombie.flush(SECONDS_MAX)
    successor = confluent_producer(broker.bootstrap_servers, transactional_id)
    with pytest.raises(KafkaException) as raised:
        zombie.commit_transaction(SECONDS_MAX)
    assert raised.value.args[0].code() == KafkaError._FENCED
    successor.begin_transaction()
    successor.produce(topic, b"successor")
    successor.commit_transaction(SECONDS_MAX)
    assert values(broker.bootstrap_servers, topic) == [b"successor"]


def test_confluent_kafka_consumes_transforms_and_produces(broker, make_topic):
    """S-5.3: positions and results are committed together, or neither."""
    source, target = make_topic(), make_topic()
    feed = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for i in range(20):
        feed.produce(source, b"%d" % i)
    feed.flush(SECONDS_MAX)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"g-{uuid4().hex[:8]}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(source, 0, 0)])
    producer = confluent_producer(broker.bootstrap_servers, f"x-{uuid4().hex[:8]}")
    place = TopicPartition(source, 0)
    for attempt in range(3):  # the second one is thrown away and done again
        producer.begin_transaction()
        for message in consumer.consume(10, SECONDS_MAX):
            producer.produce(target, b"<" + message.value() + b">")
        position = consumer.position([place])
        producer.send_offsets_to_transaction(
            position, consumer.consumer_group_metadata(), SECONDS_MAX
        )
        if attempt == 1:
            producer.abort_transaction(SECONDS_MAX)
            (committed,) = consumer.committed([place], SECONDS_MAX)
            assert committed.offset == 10
            consumer.seek(TopicPartition(source, 0, committed.offset))
        else:
            producer.commit_transaction(SECONDS_MAX)
    assert consumer.committed([place], SECONDS_MAX)[0].offset == 20
    consumer.close()
    assert values(broker.bootstrap_servers, target) == [b"<%d>" % i for i in range(20)]


def test_aiokafka_transactions(broker, topic):
    """aiokafka: commit and abort through its context manager."""
    from aiokafka import AIOKafkaProducer

    async def run() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers, transactional_id=f"x-{uuid4().hex[:8]}"
        ) as producer:
            async with producer.transaction():
                await producer.send_and_wait(topic, b"kept")
            with suppress(ZeroDivisionError):
                async with producer.transaction():
                    await producer.send_and_wait(topic, b"dropped")
                    raise ZeroDivisionError
            async with producer.transaction():
                await producer.send_and_wait(topic, b"kept too")

    asyncio.run(run())
    assert values(broker.bootstrap_servers, topic) == [b"kept", b"kept too"]


# -- time, restarts --------------------------------------------------------------------------------


def test_a_transaction_that_takes_too_long_is_aborted(embedded, make_topic_on):
    """S-5.4b: the producer is gone; consumers go on when its time is up."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    producer = confluent_producer(
        embedded.bootstrap_servers, "slow", **{"transaction.timeout.ms": 20_000}
    )
    producer.begin_transaction()
    producer.produce(topic, b"late")
    producer.flush(SECONDS_MAX)

    def last_stable_offset(broker: Any) -> int:
        return int(broker.services.replicas.find(topic, 0).log.last_stable_offset)

    assert embedded.call(last_stable_offset) == 0
    embedded.clock.advance(19_000)
    assert embedded.call(last_stable_offset) == 0
    embedded.clock.advance(12_000)
    deadline = time.monotonic() + SECONDS_MAX
    while embedded.call(last_stable_offset) != 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(KafkaException):
        producer.commit_transaction(SECONDS_MAX)
    assert values(embedded.bootstrap_servers, topic) == []


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_goes_on_after_a_restart(embedded, make_topic_on, clean, commit):
    """S-5.4c: the broker restarts in the middle; the producer ends the transaction afterwards."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    producer = confluent_producer(embedded.bootstrap_servers, "x")
    producer.begin_transaction()
    producer.produce(topic, b"before")
    producer.flush(SECONDS_MAX)
    embedded.restart(clean=clean)
    producer.produce(topic, b"after")
    producer.flush(SECONDS_MAX)
    if commit:
        producer.commit_transaction(SECONDS_MAX)
    else:
        producer.abort_transaction(SECONDS_MAX)
    seen = values(embedded.bootstrap_servers, topic)
    assert seen == ([b"before", b"after"] if commit else [])
    producer.begin_transaction()
    producer.produce(topic, b"next")
    producer.commit_transaction(SECONDS_MAX)
    assert values(embedded.bootstrap_servers, topic)[-1] == b"next"


@pytest.mark.parametrize("clean", [True, False])
def test_a_decided_transaction_is_finished_after_a_restart(embedded, make_topic_on, connect, clean):
    """The broker stops between the decision and the markers: they are written at the next start."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    raw = RawProducer(connect(embedded.bootstrap_servers), "x")
    raw.init()
    raw.produce(topic, b"decided")

    def decide_only(broker: Any) -> None:
        """What a crash right after the Prepare record leaves behind."""
        coordinator = broker.services.transactions
        index = coordinator.partition_for("x")
        (shard,) = [s for i, s in coordinator.runtime.shards() if i == index]
        shard._markers = type("Nobody", (), {"send": lambda self, txn: None})()
        coordinator.end_transaction("x", shard.get("x").producer, commit=True, client_version=2)
        assert shard.get("x").state.label == "PrepareCommit"

    embedded.call(decide_only)
    embedded.restart(clean=clean)
    wire = connect(embedded.bootstrap_servers)
    wait_until_stable(wire, topic)
    assert values(embedded.bootstrap_servers, topic) == [b"decided"]
    raw.wire = wire
    wait_until_loaded(raw)
    assert raw.end(epoch=raw.epoch).error_code == 0  # the client asks again
    assert raw.describe().transaction_state == "CompleteCommit"


@pytest.mark.parametrize("speaks", [TV1, TV2], ids=["v1", "v2"])
def test_epochs_are_used_up(embedded, make_topic_on, connect, speaks):
    """S-5.4c: after epoch 32,766 an id goes on with a new producer id, and nothing is lost."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    raw = RawProducer(connect(embedded.bootstrap_servers), "x")
    raw.init()

    def use_up(broker: Any) -> None:
        coordinator = broker.services.transactions
        used = replace(coordinator.describe_transaction("x"), producer_epoch=32_762)
        coordinator.runtime.write(
            coordinator.partition_for("x"), lambda shard: Outcome((used.record(2),), None)
        )

    embedded.call(use_up)
    first_id = raw.producer_id
    raw.init()
    epochs = []
    for number in range(8):
        if speaks is TV1:
            assert raw.init().error_code == 0
            assert raw.add(topic) is Err.NONE
        epochs.append((raw.producer_id == first_id, raw.epoch))
        assert raw.produce(topic, b"%d" % number, version=speaks["produce"]).error_code == 0
        assert raw.end(version=speaks["end"]).error_code == 0
        if number == 3:
            embedded.restart(clean=False)
            raw.wire = connect(embedded.bootstrap_servers)
            wait_until_loaded(raw)
    start = 32_764 if speaks is TV1 else 32_763
    old = [(True, epoch) for epoch in range(start, 32_767)]
    assert epochs == (old + [(False, epoch) for epoch in range(8)])[:8]
    assert values(embedded.bootstrap_servers, topic) == [b"%d" % n for n in range(8)]


@pytest.mark.odradek({"transaction.partition.verification.enable": "false"})
def test_a_hanging_transaction_is_found_and_ended(embedded, make_topic_on, connect):
    """Without verification a late batch opens a transaction that no coordinator knows."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    raw = RawProducer(connect(embedded.bootstrap_servers), "x")
    raw.init()
    assert raw.produce(topic, b"late", version=11).error_code == 0
    assert raw.describe().transaction_state == "Empty"
    assert offset_of(raw.wire, topic, committed=True) == 0
    marker = WritableTxnMarker(
        producer_id=raw.producer_id,
        producer_epoch=raw.epoch,
        transaction_result=False,
        coordinator_epoch=0,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
    )
    raw.wire.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    assert offset_of(raw.wire, topic, committed=True) == 2


def test_a_deleted_topic_does_not_hold_up_the_end(embedded, make_topic_on, connect):
    make = make_topic_on(embedded.bootstrap_servers)
    kept, deleted = make(), make()
    raw = RawProducer(connect(embedded.bootstrap_servers), "x")
    raw.init()
    raw.produce(kept, b"x")
    raw.produce(deleted, b"x", base_sequence=0)
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": embedded.bootstrap_servers})
    admin.delete_topics([deleted])[deleted].result(SECONDS_MAX)
    assert raw.end().error_code == 0
    assert raw.describe().transaction_state == "CompleteCommit"
    assert offset_of(raw.wire, kept, committed=True) == 2


def test_a_transaction_over_many_partitions(embedded, make_topic_on, connect):
    """More markers than one turn of the loop writes."""
    topic = make_topic_on(embedded.bootstrap_servers)(300)
    raw = RawProducer(connect(embedded.bootstrap_servers), "x")
    raw.init()
    assert raw.add(topic, *range(300)) is Err.NONE
    assert raw.end(version=4).error_code == 0
    assert raw.add(topic, 0) is Err.NONE
    for partition in (0, 299):
        assert offset_of(raw.wire, topic, committed=False, partition=partition) == 1


# -- Apache Kafka's own client ---------------------------------------------------------------------


JAVA = Path(__file__).with_name("Transactions.java")
CHECKS = re.findall(r'check\("([^"]+)"', JAVA.read_text())


def run_java(jars: Path, servers: str, epoch_step: int) -> dict[str, str]:
    """What each check of the program says: `ok`, or why not."""
    command = ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", str(JAVA)]
    done = subprocess.run(
        [*command, servers, str(epoch_step)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    found = re.findall(r"^(ok|not ok) \d+ - ([^#\n]*?)(?: # (.*))?$", done.stdout, re.MULTILINE)
    return {name.strip(): why if verdict == "not ok" else "ok" for verdict, name, why in found}


@pytest.mark.peer
@pytest.mark.parametrize("level", [2, 1])
def test_the_java_client(embedded, kafka_jars, connect, level):
    """With transaction.version 2 it uses the new protocol: the epoch rises with every transaction."""
    if level < 2:
        wire = connect(embedded.bootstrap_servers)
        update = FeatureUpdateKey(
            feature="transaction.version", max_version_level=level, upgrade_type=2
        )
        answer = wire.ask(UpdateFeaturesRequest(feature_updates=[update]), 1)
        assert answer.error_code == 0
    report = run_java(kafka_jars, embedded.bootstrap_servers, 1 if level == 2 else 0)
    assert report == dict.fromkeys(CHECKS, "ok")
