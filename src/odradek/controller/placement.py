"""Where replicas go: round robin over the brokers, with a shift, across racks when all have one.

Three aims, in Kafka's order: replicas are spread evenly over brokers; the other replicas of one
broker's partitions are spread over many brokers, so that a failure is shared by all; the replicas
of a partition sit in as many racks as there are.

Five brokers, three replicas, start 0 and shift 0:

    partition   0        1        2        3        4        5 (one round on: shift 1)
    brokers     0 1 2    1 2 3    2 3 4    3 4 0    4 0 1    0 2 3

Pure: the caller chooses `start`; the same arguments give the same placement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from odradek.errors import ApiError, Err
from odradek.metadata.image import BrokerRegistration


def place_replicas(
    brokers: Iterable[BrokerRegistration],
    num_partitions: int,
    replication_factor: int,
    *,
    start: int = 0,
    first_partition: int = 0,
) -> list[tuple[int, ...]]:
    """Replicas for `num_partitions` partitions, numbered from `first_partition`; leader first."""
    by_id = {broker.id: broker.rack for broker in brokers}
    if replication_factor > len(by_id):
        raise ApiError(
            Err.INVALID_REPLICATION_FACTOR,
            f"Replication factor {replication_factor} larger than available brokers {len(by_id)};"
            f" ask for at most {len(by_id)} or start more brokers.",
        )
    ring, racks = _ring(by_id)
    return [
        _place(ring, racks, replication_factor, index, start)
        for index in range(first_partition, first_partition + num_partitions)
    ]


def _ring(by_id: Mapping[int, str | None]) -> tuple[list[int], dict[int, str | None]]:
    """The brokers in the order they are dealt: neighbours differ in rack where racks are known."""
    ids = sorted(by_id)
    racks = dict(by_id)
    if None in racks.values():  # one broker without a rack: placing by rack would starve the others
        return ids, dict.fromkeys(ids)
    names = sorted({rack for rack in racks.values() if rack is not None})
    columns = [[i for i in ids if racks[i] == name] for name in names]
    return [i for row in zip_longest(*columns) for i in row if i is not None], racks


def _place(
    ring: Sequence[int],
    racks: Mapping[int, str | None],
    replication_factor: int,
    partition: int,
    start: int,
) -> tuple[int, ...]:
    size = len(ring)
    leader = (partition + start) % size
    shift = (partition // size + start // size) % max(1, size - 1)
    others = [ring[(leader + 1 + (shift + step) % (size - 1)) % size] for step in range(size - 1)]
    chosen = [ring[leader]]
    used = {racks[ring[leader]]}
    for broker in others:  # first one of each rack that has none yet …
        if len(chosen) < replication_factor and racks[broker] not in used:
            chosen.append(broker)
            used.add(racks[broker])
    for broker in others:  # … then whoever comes next
        if len(chosen) < replication_factor and broker not in chosen:
            chosen.append(broker)
    return tuple(chosen)
