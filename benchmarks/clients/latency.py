"""A child process that sends records at a steady rate and times each one; prints JSON.

    python -m benchmarks.clients.latency e2e BOOTSTRAP TOPIC RATE SECONDS
    python -m benchmarks.clients.latency ack BOOTSTRAP TOPIC RATE SECONDS

`e2e`: from send to the own consumer's receipt. `ack`: from the moment a record was due to its delivery
report, so that a stalled broker cannot hide behind a sender that waits for it. Output: `{"samples":
[[monotonic seconds, milliseconds], …]}`. Client: librdkafka, acks=1, no linger, 100-byte records.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from functools import partial
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

_PAYLOAD_BYTES: Final = 100
_DRAIN_SECONDS: Final = 10.0


def _producer(bootstrap: str) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "acks": 1, "linger.ms": 0})


def _paced(rate: float, seconds: float) -> list[float]:
    """The moments at which records are due."""
    first = time.monotonic() + 0.2
    return [first + number / rate for number in range(int(rate * seconds))]


def acknowledged(bootstrap: str, topic: str, rate: float, seconds: float) -> list[list[float]]:
    """Time from due to delivery report."""
    producer = _producer(bootstrap)
    producer.list_topics(topic, timeout=10)
    samples: list[list[float]] = []
    failures: list[str] = []

    def delivered(due: float, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(str(error))
        samples.append([due, (time.monotonic() - due) * 1e3])

    payload = b"x" * _PAYLOAD_BYTES
    for due in _paced(rate, seconds):
        # Polling is waiting that also takes in delivery reports.
        while (left := due - time.monotonic()) > 0:
            producer.poll(left)
        producer.produce(
            topic,
            payload,
            partition=0,
            on_delivery=partial(delivered, due),
        )
    producer.flush(_DRAIN_SECONDS)
    if failures or len(producer):
        raise SystemExit(f"{len(failures)} failed, {len(producer)} unanswered: {failures[:1]}")
    return samples


def end_to_end(bootstrap: str, topic: str, rate: float, seconds: float) -> list[list[float]]:
    """Time from produce() to the own consumer's receipt."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    due = _paced(rate, seconds)
    samples: list[list[float]] = []

    def receive() -> None:
        deadline = due[-1] + _DRAIN_SECONDS
        while len(samples) < len(due) and time.monotonic() < deadline:
            message: Message | None = consumer.poll(0.5)
            if message is not None and message.error() is None:
                sent = int.from_bytes((message.value() or b"")[:8], "big") / 1e9
                now = time.monotonic()
                samples.append([sent, (now - sent) * 1e3])

    receiver = threading.Thread(target=receive)
    receiver.start()
    producer = _producer(bootstrap)
    for moment in due:
        while (left := moment - time.monotonic()) > 0:
            producer.poll(left)
        stamp = time.monotonic_ns().to_bytes(8, "big")
        producer.produce(topic, stamp.ljust(_PAYLOAD_BYTES, b"x"), partition=0)
    producer.flush(_DRAIN_SECONDS)
    receiver.join()
    consumer.close()
    if len(samples) < len(due):
        raise SystemExit(f"only {len(samples)} of {len(due)} records came back")
    return samples


def main() -> None:
    """Run one of the two."""
    mode, bootstrap, topic, rate, seconds = sys.argv[1:]
    measure = {"e2e": end_to_end, "ack": acknowledged}[mode]
    gc.disable()
    print(json.dumps({"samples": measure(bootstrap, topic, float(rate), float(seconds))}))


if __name__ == "__main__":
    main()
