"""Starting, restarting, and the memory a broker takes.

Every run has a broker of its own with an empty folder. "Served" means a Metadata answer that names a
broker; for a restart with many partitions, every partition must also have a leader and tell the same
end offset as before, so a start that is quick because it serves nothing, or has lost something, fails.
"""

from __future__ import annotations

import time
from typing import Final

from benchmarks import wire
from benchmarks.brokers import START_SECONDS_MAX
from benchmarks.process import MeasureError
from benchmarks.shapes import Better, Experiment, Figures, Group, Needs, Shape, Sizes, Stage
from benchmarks.site import MEDIUM_BATCHES, SMALL_BATCHES, Site

_LOAD_CONNECTIONS: Final = 200
_LOAD_PARTITIONS: Final = 10
#: Topics over which the partitions are spread; the raw client addresses one topic at a time.
_TOPICS: Final = 4


def _start_and_memory(site: Site, sizes: Sizes) -> Figures:
    seconds = site.broker.start()
    time.sleep(sizes.settle_seconds)
    idle = site.rss_mb
    with site.topic(_LOAD_PARTITIONS) as topic:
        site.rawload(
            "produce", topic, sizes.raw_seconds, bytes=sizes.raw_bytes, **SMALL_BATCHES.flags
        )
        site.rawload(
            "produce",
            topic,
            sizes.raw_seconds,
            nrec=1,
            inflight=1,
            conns=_LOAD_CONNECTIONS,
            parts=_LOAD_PARTITIONS,
        )
        site.rawload("fetch", topic, sizes.raw_seconds, fetch=8 << 20)
        loaded = site.rss_mb
    site.broker.stop()
    return {"start s": seconds, "idle MB": idle, "loaded MB": loaded}


def _many_partitions(site: Site, sizes: Sizes) -> Figures:
    per_topic = sizes.partitions // _TOPICS
    topics = {f"many-{number}": per_topic for number in range(_TOPICS)}
    site.broker.start()
    site.create_topics(topics)
    for topic in topics:
        # One connection per partition, so that each of them holds something.
        site.rawload(
            "produce",
            topic,
            60,
            conns=per_topic,
            parts=per_topic,
            bytes=sizes.partition_bytes // sizes.partitions,
            **MEDIUM_BATCHES.flags,
        )
    with wire.Connection(site.broker.port) as connection:
        expected = connection.end_offsets(topics)
    stopped = site.broker.stop()
    after_stop = _restart(site, topics, expected)
    site.broker.kill()
    after_kill = _restart(site, topics, expected)
    return {"after stop s": after_stop, "after kill s": after_kill, "clean stop s": stopped}


def _restart(site: Site, topics: dict[str, int], expected: int) -> float:
    began = time.monotonic()
    site.broker.start()
    found = wire.wait_until_led(site.broker.port, topics, began + START_SECONDS_MAX)
    took = time.monotonic() - began
    if found != expected:
        raise MeasureError(f"after the restart the partitions end at {found}, not {expected}")
    return took


def _shape(name: str, title: str, unit: str, floor: float, goal: float, figure: str) -> Shape:
    return Shape(
        name=name,
        group=Group.PROCESS,
        title=title,
        unit=unit,
        better=Better.LOWER,
        floor=floor,
        goal=goal,
        figure=figure,
    )


EXPERIMENTS: Final = (
    Experiment(
        name="start",
        stage=Stage.OWN,
        run=_start_and_memory,
        shapes=(
            _shape("rss-idle", "resident memory, idle", "MB", 0.2, 0.1, "idle MB"),
            _shape("rss-loaded", "resident memory, after load", "MB", 0.1, 0.05, "loaded MB"),
            _shape("start", "start to first Metadata answer, no data", "s", 0.1, 0.04, "start s"),
        ),
        needs=frozenset({Needs.RAWLOAD}),
        warm_up=False,
    ),
    Experiment(
        name="many-partitions",
        stage=Stage.OWN,
        run=_many_partitions,
        shapes=(
            _shape(
                "restart-clean",
                "2,000 partitions with data: start after a clean stop",
                "s",
                0.3,
                0.1,
                "after stop s",
            ),
            _shape(
                "restart-killed",
                "2,000 partitions with data: start after kill -9",
                "s",
                0.3,
                0.1,
                "after kill s",
            ),
        ),
        needs=frozenset({Needs.RAWLOAD}),
        warm_up=False,
    ),
)
