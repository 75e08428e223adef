"""kill -9 at any moment, under load: nothing acknowledged is lost, doubled, reordered or changed.

Two idempotent producers (one compresses) write with acks=all to several partitions while the broker is
killed at random moments, sometimes while it is still starting, and restarted on its data and its port.
Between two lives the files may also be treated as a power cut would: bytes of a torn write behind the last
batch, an index cut short. Rounds by `ODRADEK_CHAOS_ROUNDS`; a failing run prints the seed that replays its
decisions (`ODRADEK_CHAOS_SEED`).
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Place

from odradek.testing.log_checker import Entry, check_log
from odradek.types import TopicPartition

ROUNDS = int(os.environ.get("ODRADEK_CHAOS_ROUNDS", "30"))
SEED = int(os.environ.get("ODRADEK_CHAOS_SEED", "0")) or Random().randrange(1, 2**31)
PLAIN, COMPRESSED = "plain", "compressed"
PARTITIONS = {PLAIN: 3, COMPRESSED: 2}
# Per producer and turn, with a pause after it: enough to keep requests in flight all the time, little enough
# for two cores and for a thousand rounds.
BURST_RECORDS = 20
PAUSE_SECONDS = 0.02
SETTLE_SECONDS_MAX = 60.0


def whole(head: bytes) -> bytes:
    """A value: its number, its size, and so many bytes. The histories keep the head only."""
    return head + b"x" * int(head.split(b":")[1])


def head_of(value: bytes) -> bytes:
    head = b":".join([*value.split(b":")[:2], b""])
    assert whole(head) == value, "the value was changed"
    return head


class Load:
    """One idempotent producer in a thread; keeps what it sent and what was acknowledged."""

    def __init__(self, servers: str, topic: str, codec: str, seed: int) -> None:
        self._topic = topic
        self._rng = Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"load-{topic}", daemon=True)
        self._lock = threading.Lock()
        self.sent: defaultdict[TopicPartition, list[bytes]] = defaultdict(list)
        self.acknowledged: list[Entry] = []
        self._ends: dict[TopicPartition, int] = {}
        self.errors: list[Any] = []
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "acks": "all",
                "compression.type": codec,
                "linger.ms": 5,
                "batch.num.messages": 50,
                "message.timeout.ms": 300_000,
                "socket.timeout.ms": 10_000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "retry.backoff.max.ms": 100,
                # Starting over from the bootstrap servers takes librdkafka seconds of waiting.
                "metadata.recovery.strategy": "none",
                "log_level": 0,
            },
            error_cb=self._on_error,
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Send no more, and wait until everything is acknowledged."""
        self._stop.set()
        self._thread.join()
        left = self._producer.flush(SETTLE_SECONDS_MAX)
        assert left == 0, f"{left} records of {self._topic} were never acknowledged"
        assert not self.errors, self.errors[:3]

    def ends(self) -> dict[TopicPartition, int]:
        """Per partition, the offset after the last one acknowledged so far."""
        with self._lock:
            return dict(self._ends)

    def wait_until_acknowledged(self) -> None:
        """Wait for the first acknowledgement."""
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while not self.ends():
            assert time.monotonic() < deadline, "nothing is acknowledged"
            time.sleep(0.05)

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            for _ in range(self._rng.randint(1, BURST_RECORDS)):
                partition = self._rng.randrange(PARTITIONS[self._topic])
                head = b"%d:%d:" % (number, self._rng.choice((1, 10, 100, 2000)))
                number += 1
                self.sent[TopicPartition(self._topic, partition)].append(head)
                self._producer.produce(
                    self._topic, whole(head), partition=partition, on_delivery=self._on_delivery
                )
            self._producer.poll(PAUSE_SECONDS)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self.errors.append(error)
            return
        partition = TopicPartition(message.topic(), message.partition())
        with self._lock:
            self.acknowledged.append(Entry(partition, message.offset(), head_of(message.value())))
            self._ends[partition] = max(self._ends.get(partition, 0), message.offset() + 1)

    def _on_error(self, error: Any) -> None:
        if error.fatal() or error.code() == KafkaError._FATAL:
            self.errors.append(error)


@pytest.mark.slow
@pytest.mark.timeout(0 if ROUNDS > 100 else 300)
def test_nothing_acknowledged_is_lost_by_kill_9(start_broker: Any, dial: Any, talk: Any) -> None:
    """Acknowledged records survive any number of kill -9, once each and in order."""
    print(f"ODRADEK_CHAOS_SEED={SEED} replays these decisions")
    rng = Random(SEED)
    broker = start_broker(
        {"log.flush.scheduler.interval.ms": "200", "log.index.interval.bytes": "512"}
    )
    with dial(broker.address) as sock:
        for topic, count in PARTITIONS.items():
            talk.create_topic(sock, topic, count, {"segment.bytes": str(256 * 1024)})
    loads = [
        Load(broker.bootstrap_servers, PLAIN, "none", SEED),
        Load(broker.bootstrap_servers, COMPRESSED, "zstd", SEED + 1),
    ]
    for load in loads:
        load.start()
        load.wait_until_acknowledged()
    torn = 0
    for _ in range(ROUNDS):
        time.sleep(rng.uniform(0.05, 0.7))
        broker.kill()
        if rng.random() < 0.2:  # once more, before it serves
            broker.launch()
            time.sleep(rng.uniform(0.05, 0.35))
            broker.kill()
        if rng.random() < 0.5:
            torn += tear(broker.folder / "data", rng)
        acknowledged = [load.ends() for load in loads]
        broker.start()
        with dial(broker.address) as sock:
            for ends in acknowledged:
                check_ends(sock, talk, ends)
    for load in loads:
        load.stop()
    read = read_all(broker.bootstrap_servers, dial(broker.address), talk)
    for load in loads:
        mine = [entry for entry in read if entry.partition in load.sent]
        problems = check_log(load.sent, load.acknowledged, mine)
        assert not problems, "\n".join([f"ODRADEK_CHAOS_SEED={SEED}", *problems])
        assert len(mine) == sum(map(len, load.sent.values()))  # all were retried until acknowledged
    assert len(read) > 20 * ROUNDS, "there was hardly any load"
    assert torn > 0 or ROUNDS < 10, "the files were never touched"
    assert "Traceback" not in broker.output()


def tear(data: Path, rng: Random) -> int:
    """What a power cut may leave: half a batch behind the last one, an index that is too short."""
    torn = 0
    for topic, count in PARTITIONS.items():
        for partition in range(count):
            logs = sorted((data / f"{topic}-{partition}").glob("*.log"))
            if not logs or rng.random() < 0.5:
                continue
            active = logs[-1]
            content = active.read_bytes()
            with active.open("ab") as file:
                # The beginning of an earlier batch, or noise: neither is a whole valid batch.
                file.write(content[: rng.randrange(1, 60)] if content else rng.randbytes(40))
            index = active.with_suffix(rng.choice((".index", ".timeindex")))
            if index.exists() and rng.random() < 0.5:
                os.truncate(index, rng.randrange(index.stat().st_size + 1))
            torn += 1
    return torn


def check_ends(sock: Any, talk: Any, acknowledged: dict[TopicPartition, int]) -> None:
    """The cheap check of every round: no log ends before what was acknowledged."""
    ends = end_offsets(sock, talk, list(acknowledged))
    for partition, end in acknowledged.items():
        assert ends[partition] >= end, f"seed {SEED}: {partition} ends at {ends[partition]} < {end}"


def end_offsets(
    sock: Any, talk: Any, partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    from odradek.protocol.messages.list_offsets import (
        ListOffsetsPartition,
        ListOffsetsRequest,
        ListOffsetsTopic,
    )

    topics = [
        ListOffsetsTopic(
            name=tp.topic,
            partitions=[ListOffsetsPartition(partition_index=tp.partition, timestamp=-1)],
        )
        for tp in partitions
    ]
    answer = talk.ask(sock, ListOffsetsRequest(replica_id=-1, topics=topics), 1)
    found = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            assert partition.error_code == 0
            found[TopicPartition(topic.name, partition.partition_index)] = partition.offset
    return found


def read_all(servers: str, sock: Any, talk: Any) -> list[Entry]:
    """Every record of every partition, as a consumer sees them."""
    partitions = [TopicPartition(t, p) for t, count in PARTITIONS.items() for p in range(count)]
    ends = end_offsets(sock, talk, partitions)
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False,
         "check.crcs": True, "log_level": 0}
    )  # fmt: skip
    read: list[Entry] = []
    try:
        consumer.assign([Place(tp.topic, tp.partition, 0) for tp in partitions])
        missing = sum(ends.values())
        while len(read) < missing:
            messages = consumer.consume(min(missing - len(read), 5000), SETTLE_SECONDS_MAX)
            assert messages, f"only {len(read)} of {missing} records came"
            for message in messages:
                assert message.error() is None, message.error()
                place = TopicPartition(message.topic(), message.partition())
                read.append(Entry(place, message.offset(), head_of(message.value())))
    finally:
        consumer.close()
    return read
