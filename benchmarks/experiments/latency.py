"""End-to-end latency at a low rate: one record at a time, through an own librdkafka consumer."""

from __future__ import annotations

import json
import sys
from typing import Final

from benchmarks.figures import percentile
from benchmarks.process import run
from benchmarks.shapes import Better, Experiment, Figures, Group, Shape, Sizes, Stage
from benchmarks.site import Site

_RATE: Final = 100
_GRACE_SECONDS: Final = 60.0


def _end_to_end(site: Site, sizes: Sizes) -> Figures:
    with site.topic() as topic:
        text = run(
            [
                *(sys.executable, "-m", "benchmarks.clients.latency", "e2e"),
                *(site.broker.bootstrap, topic, str(_RATE), str(sizes.latency_seconds)),
            ],
            seconds_max=sizes.latency_seconds + _GRACE_SECONDS,
        )
    milliseconds = [sample[1] for sample in json.loads(text)["samples"]]
    settled = milliseconds[len(milliseconds) // 10 :]  # connections and caches are new at first
    return {"p50 ms": percentile(settled, 0.5), "p99 ms": percentile(settled, 0.99)}


def _shape(share: str, floor: float, goal: float) -> Shape:
    return Shape(
        name=f"e2e-{share}",
        group=Group.LATENCY,
        title=f"end to end, {_RATE} records/s, acks=1, {share}",
        unit="ms",
        better=Better.LOWER,
        floor=floor,
        goal=goal,
        figure=f"{share} ms",
    )


EXPERIMENTS: Final = (
    Experiment(
        name="e2e",
        stage=Stage.PAIR,
        run=_end_to_end,
        shapes=(_shape("p50", 0.7, 0.4), _shape("p99", 1.0, 0.6)),
    ),
)
