"""How fast real consumers read a partition that lies in the page cache, without a consumer group.

The Java consumer reads the records once to warm up its JVM and once for the figure. kcat's own queue is
made large enough never to fill: when it does, librdkafka pauses for up to a second, and a faster broker
would get the slower figure.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.process import run
from benchmarks.shapes import (
    CPU_PER_GB,
    GB,
    MB,
    Better,
    Experiment,
    Figures,
    Group,
    Needs,
    Shape,
    Sizes,
    Stage,
)
from benchmarks.site import SMALL_BATCHES, SMALL_BATCHES_1KB, Records, Site
from benchmarks.toolbox import KAFKA_LIBS, ROOT

_SECONDS_MAX: Final = 180.0
_JAVA_PROGRAM: Final = ROOT / "benchmarks" / "java" / "AssignedConsumer.java"
_NEVER_FULL: Final = (
    *("-X", "queued.min.messages=10000000"),
    *("-X", "queued.max.messages.kbytes=2097151"),
)


@dataclass(frozen=True, slots=True)
class Stored:
    """A topic to read."""

    name: str
    title: str
    records: Records


TOPICS: Final = (
    Stored("100b", "100 B", SMALL_BATCHES),
    Stored("1kb", "1 KB", SMALL_BATCHES_1KB),
)


def _java(stored: Stored, site: Site, sizes: Sizes) -> Figures:
    topic = f"read-{stored.name}"
    count = site.stored(topic, stored.records, sizes.consume_bytes)
    heap = ("-Xmx512M", "-XX:+UseG1GC")
    arguments = (site.broker.bootstrap, topic, str(count), str(count))
    with site.cpu() as cpu:
        text = run(
            ["java", *heap, "-cp", f"{KAFKA_LIBS}/*", _JAVA_PROGRAM, *arguments],
            seconds_max=_SECONDS_MAX,
        )
    moved = 2 * count * stored.records.size
    return {"MB/s": float(text.split()[-1]), CPU_PER_GB: cpu[0] / (moved / GB)}


def _kcat(stored: Stored, site: Site, sizes: Sizes) -> Figures:
    topic = f"read-{stored.name}"
    count = site.stored(topic, stored.records, sizes.consume_bytes)
    target = ("-b", site.broker.bootstrap, "-t", topic, "-p", "0", "-o", "beginning")
    with site.cpu() as cpu:
        began = time.monotonic()
        run(
            ["kcat", "-C", *target, "-e", "-q", *_NEVER_FULL, "-c", str(count)],
            seconds_max=_SECONDS_MAX,
            stdout=subprocess.DEVNULL,
        )
        took = time.monotonic() - began
    moved = count * stored.records.size
    return {"MB/s": moved / took / MB, CPU_PER_GB: cpu[0] / (moved / GB)}


def _shape(client: str, title: str, stored: Stored) -> Shape:
    return Shape(
        name=f"{client}-consume-{stored.name}",
        group=Group.CONSUME,
        title=f"{title}: {stored.title}, 16 KB batches",
        unit="MB/s",
        better=Better.HIGHER,
        floor=0.8,
        goal=1.1,
        figure="MB/s",
    )


EXPERIMENTS: Final = (
    *(
        Experiment(
            name=f"java-consume-{stored.name}",
            stage=Stage.PAIR,
            run=partial(_java, stored),
            shapes=(_shape("java", "Java", stored),),
            needs=frozenset({Needs.RAWLOAD}),
        )
        for stored in TOPICS
    ),
    *(
        Experiment(
            name=f"kcat-consume-{stored.name}",
            stage=Stage.PAIR,
            run=partial(_kcat, stored),
            shapes=(_shape("kcat", "librdkafka (kcat)", stored),),
            needs=frozenset({Needs.RAWLOAD, Needs.KCAT}),
        )
        for stored in TOPICS
    ),
)
