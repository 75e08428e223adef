"""Does a consumer that reads old data from disk slow down producers?

A big topic is written, synced and pushed out of the page cache; then one reader goes through it while a
librdkafka producer sends 1,000 records a second to another topic. Only records that were due while the
reader was at work count, from the moment they were due.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks import page_cache, process
from benchmarks.figures import percentile
from benchmarks.process import MeasureError, SkipError
from benchmarks.shapes import GB, MB, Better, Experiment, Figures, Group, Needs, Shape, Sizes, Stage
from benchmarks.site import LARGE_BATCHES, Site

_RATE: Final = 1000
_TOPIC: Final = "cold"
_GRACE_SECONDS: Final = 60.0
_LEAD_SECONDS: Final = 1.5  # the producer runs this long before and after the reader
#: Left on the disk beside two big topics.
_SPARE_BYTES: Final = 10 * GB
_RESIDENT_SHARE_MAX: Final = 0.05
_FILL_SECONDS_MAX: Final = 600.0
_SAMPLES_MIN: Final = 100


def _produce_while_cold(site: Site, sizes: Sizes) -> Figures:
    _fill(site, int(sizes.cold_gb * GB))
    segments = sorted((site.broker.log_dir / f"{_TOPIC}-0").glob("*.log"))
    resident = page_cache.evict(segments)
    if resident > _RESIDENT_SHARE_MAX:
        raise MeasureError(f"{resident:.0%} of the cold topic stayed in the page cache")
    with site.topic() as topic:
        seconds = sizes.cold_seconds + 2 * _LEAD_SECONDS
        producer = process.spawn(
            [
                *(sys.executable, "-m", "benchmarks.clients.latency", "ack"),
                *(site.broker.bootstrap, topic, str(_RATE), str(seconds)),
            ]
        )
        try:
            time.sleep(_LEAD_SECONDS)
            began = time.monotonic()
            read = site.rawload("fetch", _TOPIC, sizes.cold_seconds)
            ended = began + read["secs"]
            output, _ = producer.communicate(timeout=seconds + _GRACE_SECONDS)
        finally:
            process.kill(producer)
    if producer.returncode != 0:
        raise MeasureError(f"the paced producer ended with {producer.returncode}")
    samples = json.loads(output)["samples"]
    during = [milliseconds for due, milliseconds in samples if began <= due <= ended]
    if len(during) < _SAMPLES_MIN:
        raise MeasureError(
            f"the reader was through after {read['secs']:.2f} s: make --cold-gb larger"
        )
    return {
        "p50 ms": percentile(during, 0.5),
        "p99 ms": percentile(during, 0.99),
        "reader MB/s": read["bytes"] / read["secs"] / MB,
    }


def _fill(site: Site, count_bytes: int) -> None:
    folder: Path = site.broker.log_dir
    needed = 2 * count_bytes + _SPARE_BYTES
    if not site.is_stored(_TOPIC) and shutil.disk_usage(folder).free < needed:
        raise SkipError(f"needs {needed / GB:.0f} GB of free disk: make --cold-gb smaller")
    site.stored(_TOPIC, LARGE_BATCHES, count_bytes, _FILL_SECONDS_MAX)


EXPERIMENTS: Final = (
    Experiment(
        name="cold-reader",
        stage=Stage.PAIR,
        run=_produce_while_cold,
        shapes=(
            Shape(
                name="produce-p99-cold-reader",
                group=Group.LATENCY,
                title="produce to ack, 1,000 records/s, beside a cold reader, p99",
                unit="ms",
                better=Better.LOWER,
                floor=1.0,
                goal=0.5,
                figure="p99 ms",
            ),
        ),
        needs=frozenset({Needs.RAWLOAD}),
    ),
)
