"""Everything that is measured, in the order of the report."""

from __future__ import annotations

from typing import Final

from benchmarks.experiments import alone, cold, consume, groups, latency, life, produce, raw
from benchmarks.shapes import Experiment

ALL: Final[tuple[Experiment, ...]] = (
    *produce.EXPERIMENTS,
    *consume.EXPERIMENTS,
    *raw.EXPERIMENTS,
    *latency.EXPERIMENTS,
    *groups.EXPERIMENTS,
    *cold.EXPERIMENTS,
    *life.EXPERIMENTS,
    *alone.EXPERIMENTS,
)
