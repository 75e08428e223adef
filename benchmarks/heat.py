"""Before anything is measured on a pair of brokers, both work until they get no faster.

Nobody runs a JVM that is a few seconds old: Kafka's processor time per GB falls to a fraction while its hot
code is being compiled (seen: 80, 42, 19, 9 CPU-s/GB in a row). A turn is the same work every time, so its
cost in processor seconds tells when to stop. Both brokers are treated alike.
"""

from __future__ import annotations

import time
from typing import Final

from benchmarks.process import MeasureError
from benchmarks.shapes import MB, Needs, Sizes
from benchmarks.site import SMALL_BATCHES, Site

_CONNECTIONS: Final = 50
_PARTITIONS: Final = 10
_TURN_BYTES: Final = 60 * MB
_TURN_SECONDS_MAX: Final = 60.0
_JAVA_RECORDS: Final = 300_000
#: Over, when so many turns in a row were not this much cheaper than the best before them.
_STEADY_TURNS: Final = 3
_STEADY_SHARE: Final = 0.9


def heat(site: Site, sizes: Sizes) -> None:
    """Work until it is steady, or `heat_seconds` are over."""
    deadline = time.monotonic() + sizes.heat_seconds
    costs: list[float] = []
    while time.monotonic() < deadline and not is_steady(costs):
        try:
            with site.topic(_PARTITIONS) as topic, site.cpu() as cpu:
                _turn(site, topic)
        except MeasureError as error:
            print(f"    while heating: {error}", flush=True)
            return
        costs.append(cpu[0])
    words = ", ".join(f"{cost:.2f}" for cost in costs)
    print(f"    {site.broker.kind.value:8} heated, CPU-s a turn: {words}", flush=True)


def is_steady(costs: list[float]) -> bool:
    """Whether the last turns were no longer much cheaper than the best one before them."""
    if len(costs) <= _STEADY_TURNS:
        return False
    return min(costs[-_STEADY_TURNS:]) > _STEADY_SHARE * min(costs[:-_STEADY_TURNS])


def _turn(site: Site, topic: str) -> None:
    site.toolbox.kafka_tool(
        "producer-perf",
        [
            *("--bootstrap-server", site.broker.bootstrap, "--topic", topic),
            *("--num-records", str(_JAVA_RECORDS), "--record-size", "100", "--throughput", "-1"),
            *("--command-property", "acks=all", "batch.size=16384", "linger.ms=5"),
        ],
        seconds_max=_TURN_SECONDS_MAX,
    )
    if site.toolbox.missing(Needs.RAWLOAD) is None:
        small = SMALL_BATCHES.flags
        site.rawload("produce", topic, _TURN_SECONDS_MAX, bytes=_TURN_BYTES, **small)
        site.rawload(
            "produce",
            topic,
            _TURN_SECONDS_MAX,
            nrec=1,
            inflight=1,
            conns=_CONNECTIONS,
            parts=_PARTITIONS,
            bytes=MB // _CONNECTIONS,
        )
        site.rawload("fetch", topic, _TURN_SECONDS_MAX)
