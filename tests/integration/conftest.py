"""The three Python clients behind one face each: produce records, read a partition to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

SECONDS_MAX = 30.0


class Sent(NamedTuple):
    """A record to produce; a timestamp of None lets the client choose."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    partition: int = 0


class Read(NamedTuple):
    """A record as a consumer saw it."""

    offset: int
    value: bytes | None
    key: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    timestamp_type: int


class ConfluentKafka:
    """librdkafka."""

    codecs = ("none", "gzip", "snappy", "lz4", "zstd")

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def produce(
        self, topic: str, records: Iterable[Sent], *, codec: str = "none", acks: str = "all"
    ) -> list[int]:
        """Send, wait for all acknowledgements, return the offsets."""
        offsets: list[int] = []
        errors: list[Any] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                errors.append(error)
            else:
                offsets.append(message.offset())

        producer = Producer(
            {
                "bootstrap.servers": self._servers,
                "compression.type": codec,
                "acks": acks,
                "linger.ms": 20,
            }
        )
        for record in records:
            extra = {} if record.timestamp is None else {"timestamp": record.timestamp}
            producer.produce(
                topic, record.value, record.key, record.partition,
                headers=list(record.headers), on_delivery=delivered, **extra,
            )  # fmt: skip
        assert producer.flush(SECONDS_MAX) == 0
        assert not errors, errors
        return offsets

    def read(self, topic: str, count: int, partition: int = 0, offset: int = 0) -> list[Read]:
        """The next `count` records of a partition from `offset`."""
        consumer = Consumer(
            {"bootstrap.servers": self._servers, "group.id": "unused", "enable.auto.commit": False}
        )
        try:
            consumer.assign([TopicPartition(topic, partition, offset)])
            found: list[Read] = []
            while len(found) < count:
                messages = consumer.consume(count - len(found), SECONDS_MAX)
                assert messages, f"only {len(found)} of {count} records came"
                for m in messages:
                    assert m.error() is None, m.error()
                    kind, timestamp = m.timestamp()
                    headers = tuple(m.headers() or ())
                    found.append(Read(m.offset(), m.value(), m.key(), headers, timestamp, kind - 1))
            return found
        finally:
            consumer.close()


class KafkaPython:
    """kafka-python: pure Python, threads."""

    codecs = ("none", "gzip")  # others need packages that the tests do not ask for

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def produce(
        self, topic: str, records: Iterable[Sent], *, codec: str = "none", acks: str = "all"
    ) -> list[int]:
        from kafka import KafkaProducer

        producer = KafkaProducer(
            bootstrap_servers=self._servers,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=acks == "all",
            linger_ms=20,
        )
        try:
            futures = [
                producer.send(
                    topic, record.value, record.key, list(record.headers),
                    record.partition, record.timestamp,
                )
                for record in records
            ]  # fmt: skip
            producer.flush(SECONDS_MAX)
            return [future.get(SECONDS_MAX).offset for future in futures]
        finally:
            producer.close()

    def read(self, topic: str, count: int, partition: int = 0, offset: int = 0) -> list[Read]:
        from kafka import KafkaConsumer
        from kafka import TopicPartition as Partition

        consumer = KafkaConsumer(bootstrap_servers=self._servers, enable_auto_commit=False)
        try:
            place = Partition(topic, partition)
            consumer.assign([place])
            consumer.seek(place, offset)
            found: list[Read] = []
            while len(found) < count:
                polled = consumer.poll(SECONDS_MAX * 1000, max_records=count - len(found))
                assert polled, f"only {len(found)} of {count} records came"
                found += [
                    Read(r.offset, r.value, r.key, tuple(r.headers), r.timestamp, r.timestamp_type)
                    for r in polled[place]
                ]
            return found
        finally:
            consumer.close()


class AioKafka:
    """aiokafka: asyncio."""

    codecs = ("none", "gzip", "snappy", "lz4", "zstd")

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def produce(
        self, topic: str, records: Iterable[Sent], *, codec: str = "none", acks: str = "all"
    ) -> list[int]:
        return asyncio.run(self._produce(topic, list(records), codec, acks))

    async def _produce(
        self, topic: str, records: Sequence[Sent], codec: str, acks: str
    ) -> list[int]:
        from aiokafka import AIOKafkaProducer

        async with AIOKafkaProducer(
            bootstrap_servers=self._servers,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=acks == "all",
            linger_ms=20,
        ) as producer:
            futures = [
                await producer.send(
                    topic, record.value, record.key, record.partition,
                    record.timestamp, list(record.headers),
                )
                for record in records
            ]  # fmt: skip
            results = await asyncio.wait_for(asyncio.gather(*futures), SECONDS_MAX)
            return [result.offset for result in results if result is not None]

    def read(self, topic: str, count: int, partition: int = 0, offset: int = 0) -> list[Read]:
        return asyncio.run(self._read(topic, count, partition, offset))

    async def _read(self, topic: str, count: int, partition: int, offset: int) -> list[Read]:
        from aiokafka import AIOKafkaConsumer
        from aiokafka import TopicPartition as Partition

        async with AIOKafkaConsumer(
            bootstrap_servers=self._servers, enable_auto_commit=False
        ) as consumer:
            place = Partition(topic, partition)
            consumer.assign([place])
            consumer.seek(place, offset)
            found: list[Read] = []
            while len(found) < count:
                r = await asyncio.wait_for(consumer.getone(place), SECONDS_MAX)
                found.append(
                    Read(r.offset, r.value, r.key, tuple(r.headers), r.timestamp, r.timestamp_type)
                )
            return found


CLIENTS: dict[str, Any] = {
    "confluent-kafka": ConfluentKafka,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
}


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest, broker: Any) -> Any:
    """Each of the three clients in turn, on `broker`."""
    return CLIENTS[request.param](broker.bootstrap_servers)


@pytest.fixture
def confluent(broker: Any) -> ConfluentKafka:
    """librdkafka on `broker`, for tests in which the client does not matter."""
    return ConfluentKafka(broker.bootstrap_servers)


@pytest.fixture
def sent() -> Callable[..., Sent]:
    """`sent(value, key, headers, timestamp, partition)`: a record to produce."""
    return Sent


@pytest.fixture
def open_client() -> Callable[[str, str], Any]:
    """`open_client("aiokafka", bootstrap_servers)`: a client on any broker."""
    return lambda name, servers: CLIENTS[name](servers)
