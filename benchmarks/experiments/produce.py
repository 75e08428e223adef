"""How fast real producers get rid of their records: Kafka's own tool, and librdkafka through kcat.

Kafka's tool runs a fresh JVM each time, so the first part of its records warms it up and is not counted.
kcat reads lines from a file that lies in the page cache; its time is that of the whole process.
"""

from __future__ import annotations

import random
import re
import string
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.process import MeasureError, run
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
from benchmarks.site import Site

_SECONDS_MAX: Final = 180.0
_WARM_UP_PART: Final = 0.25
_RATE: Final = re.compile(r"^\d+ (?:steady state )?records sent, ([\d.]+) records/sec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One producer setting, the same for both clients."""

    name: str
    title: str
    record_bytes: int
    records_per_second: int  # about what Kafka's tool reaches; sizes its run
    properties: tuple[str, ...]


LOADS: Final = (
    Load(
        name="100b",
        title="100 B, acks=1, 16 KB batches, linger 5 ms",
        record_bytes=100,
        records_per_second=160_000,
        properties=("acks=1", "batch.size=16384", "linger.ms=5"),
    ),
    Load(
        name="1kb",
        title="1 KB, acks=all, 16 KB batches",
        record_bytes=1024,
        records_per_second=30_000,
        properties=("acks=all", "batch.size=16384", "linger.ms=5"),
    ),
    Load(
        name="1kb-lz4",
        title="1 KB, acks=all, 16 KB batches, lz4",
        record_bytes=1024,
        records_per_second=30_000,
        properties=("acks=all", "batch.size=16384", "linger.ms=5", "compression.type=lz4"),
    ),
    Load(
        name="256kb-batches",
        title="1 KB, acks=1, 256 KB batches",
        record_bytes=1024,
        records_per_second=70_000,
        properties=("acks=1", "batch.size=262144", "linger.ms=5"),
    ),
)


def _java(load: Load, site: Site, sizes: Sizes) -> Figures:
    count = int(load.records_per_second * sizes.java_seconds)
    warm_up = int(count * _WARM_UP_PART)
    with site.topic() as topic, site.cpu() as cpu:
        text = site.toolbox.kafka_tool(
            "producer-perf",
            [
                *("--bootstrap-server", site.broker.bootstrap, "--topic", topic),
                *("--num-records", str(count + warm_up), "--warmup-records", str(warm_up)),
                *("--record-size", str(load.record_bytes), "--throughput", "-1"),
                *("--reporting-interval", "600000", "--command-property", *load.properties),
            ],
            seconds_max=_SECONDS_MAX,
        )
    # The last summary is that of the steady state, without the warm-up.
    sent = [found for line in text.splitlines() if (found := _RATE.match(line))]
    if not sent:
        raise MeasureError(f"producer-perf printed no summary: {text[-200:]!r}")
    return {
        "MB/s": float(sent[-1][1]) * load.record_bytes / MB,
        CPU_PER_GB: cpu[0] / ((count + warm_up) * load.record_bytes / GB),
    }


def _kcat(load: Load, site: Site, sizes: Sizes) -> Figures:
    lines = _lines_file(site.folder, load.record_bytes, sizes.file_bytes)
    properties = [word for text in load.properties for word in ("-X", text)]
    with site.topic() as topic, site.cpu() as cpu:
        began = time.monotonic()
        run(
            ["kcat", "-P", "-b", site.broker.bootstrap, "-t", topic, *properties, "-l", lines],
            seconds_max=_SECONDS_MAX,
        )
        took = time.monotonic() - began
    moved = lines.stat().st_size
    return {"MB/s": moved / took / MB, CPU_PER_GB: cpu[0] / (moved / GB)}


def _lines_file(folder: Path, record_bytes: int, count_bytes: int) -> Path:
    """Lines of random letters, made once; the line's end is not part of the record."""
    path = folder / f"lines-{record_bytes}-{count_bytes}"
    if not path.exists():
        rng = random.Random(record_bytes)
        block = "".join(
            "".join(rng.choices(string.ascii_uppercase, k=record_bytes)) + "\n"
            for _ in range(MB // record_bytes)
        ).encode()
        with open(path, "wb") as file:
            for _ in range(max(1, count_bytes // len(block))):
                file.write(block)
    return path


def _shape(client: str, title: str, load: Load) -> Shape:
    return Shape(
        name=f"{client}-produce-{load.name}",
        group=Group.PRODUCE,
        title=f"{title}: {load.title}",
        unit="MB/s",
        better=Better.HIGHER,
        floor=0.9,
        goal=1.2,
        figure="MB/s",
    )


EXPERIMENTS: Final = (
    *(
        Experiment(
            name=f"java-produce-{load.name}",
            stage=Stage.PAIR,
            run=partial(_java, load),
            shapes=(_shape("java", "Java", load),),
        )
        for load in LOADS
    ),
    *(
        Experiment(
            name=f"kcat-produce-{load.name}",
            stage=Stage.PAIR,
            run=partial(_kcat, load),
            shapes=(_shape("kcat", "librdkafka (kcat)", load),),
            needs=frozenset({Needs.KCAT}),
        )
        for load in LOADS
    ),
)
