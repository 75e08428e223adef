"""A child process with many consumers of one group, or one transactional producer; prints JSON.

    python -m benchmarks.clients.groups join BOOTSTRAP TOPIC PARTITIONS MEMBERS PROTOCOL
    python -m benchmarks.clients.groups grow BOOTSTRAP TOPIC PARTITIONS MEMBERS PROTOCOL ADDED
    python -m benchmarks.clients.groups transactions BOOTSTRAP TOPIC RECORDS SECONDS

`join`: members that are connected subscribe all at once; until each has its share of the partitions.
`grow`: partitions are added to the topic of a stable group; until each member has its share of them
all. `transactions`: so many records each, one after the other. Output: `{"seconds": …}`, and
`{"transactions": …}`. Client: librdkafka. Members hear of a rebalance within a fifth of a second
(their heartbeats, not the broker, would be measured otherwise); in the consumer protocol the broker
says how often they ask.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from typing import Any, Final

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

_SECONDS_MAX: Final = 60.0
_PAYLOAD: Final = b"x" * 100
_CLASSIC: Final = {
    "heartbeat.interval.ms": 200,
    "session.timeout.ms": 10_000,
    "topic.metadata.refresh.interval.ms": 200,
    "partition.assignment.strategy": "range",
}


def _consumers(bootstrap: str, topic: str, members: int, protocol: str) -> list[Consumer]:
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": f"bench-{uuid.uuid4()}",
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "log_level": 3,
        **(_CLASSIC if protocol == "classic" else {}),
    }
    consumers = [Consumer(settings) for _ in range(members)]
    for consumer in consumers:
        consumer.list_topics(topic, _SECONDS_MAX)
    return consumers


def _until_shared(consumers: list[Consumer], partitions: int) -> None:
    """Poll until each has an equal share (within one) and all is given out."""
    least = partitions // len(consumers)
    deadline = time.monotonic() + _SECONDS_MAX
    while True:
        for consumer in consumers:
            consumer.poll(0)
        shares = [len(consumer.assignment()) for consumer in consumers]
        if sum(shares) == partitions and least <= min(shares) and max(shares) <= least + 1:
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"the group did not get stable: {shares}")
        time.sleep(0.002)


def join(bootstrap: str, topic: str, partitions: int, members: int, protocol: str) -> float:
    """Seconds until all members that subscribe at once have partitions."""
    consumers = _consumers(bootstrap, topic, members, protocol)
    began = time.monotonic()
    for consumer in consumers:
        consumer.subscribe([topic])
    _until_shared(consumers, partitions)
    return time.monotonic() - began


def grow(
    bootstrap: str, topic: str, partitions: int, members: int, protocol: str, added: int
) -> float:
    """Seconds from adding partitions to all of them being read."""
    consumers = _consumers(bootstrap, topic, members, protocol)
    for consumer in consumers:
        consumer.subscribe([topic])
    _until_shared(consumers, partitions)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    began = time.monotonic()
    total = partitions + added
    (done,) = admin.create_partitions([NewPartitions(topic, total)]).values()
    done.result(_SECONDS_MAX)
    _until_shared(consumers, total)
    return time.monotonic() - began


def transactions(bootstrap: str, topic: str, records: int, seconds: float) -> tuple[int, float]:
    """How many transactions are committed in so many seconds."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": f"bench-{uuid.uuid4()}",
            "linger.ms": 0,
            "log_level": 3,
        }
    )
    producer.init_transactions(_SECONDS_MAX)
    count = 0
    began = now = time.monotonic()
    while now - began < seconds:
        producer.begin_transaction()
        for _ in range(records):
            producer.produce(topic, _PAYLOAD, partition=0)
        producer.commit_transaction(_SECONDS_MAX)
        count += 1
        now = time.monotonic()
    return count, now - began


def main() -> None:
    """Run one of the three."""
    mode, bootstrap, topic, *rest = sys.argv[1:]
    match mode, rest:
        case "join", [partitions, members, protocol]:
            took = join(bootstrap, topic, int(partitions), int(members), protocol)
            answer = {"seconds": took}
        case "grow", [partitions, members, protocol, added]:
            took = grow(bootstrap, topic, int(partitions), int(members), protocol, int(added))
            answer = {"seconds": took}
        case "transactions", [records, seconds]:
            count, took = transactions(bootstrap, topic, int(records), float(seconds))
            answer = {"transactions": count, "seconds": took}
        case _:
            raise SystemExit(__doc__)
    print(json.dumps(answer), flush=True)
    os._exit(0)  # fifty members that leave one by one would be fifty rebalances


if __name__ == "__main__":
    main()
