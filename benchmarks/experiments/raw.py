"""The broker at its limit: ready-made frames cost the client almost nothing.

Processor time is that of the broker process alone, per GB of batches moved; it is the figure to believe
on a machine that is not quite quiet.
"""

from __future__ import annotations

from functools import partial
from typing import Final

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
from benchmarks.site import LARGE_BATCHES, MEDIUM_BATCHES, SMALL_BATCHES, Site

_CONNECTIONS: Final = 200
_PARTITIONS: Final = 10


def _small_batches(site: Site, sizes: Sizes) -> Figures:
    with site.topic() as topic, site.cpu() as cpu:
        load = site.rawload(
            "produce", topic, sizes.raw_seconds, bytes=sizes.raw_bytes, **SMALL_BATCHES.flags
        )
    return {"MB/s": load["MB_s"], CPU_PER_GB: cpu[0] / (load["bytes"] / GB)}


def _large_batches(site: Site, sizes: Sizes) -> Figures:
    with site.topic() as topic, site.cpu() as cpu:
        load = site.rawload(
            "produce", topic, sizes.raw_seconds, bytes=sizes.raw_large_bytes, **LARGE_BATCHES.flags
        )
    return {"MB/s": load["MB_s"], CPU_PER_GB: cpu[0] / (load["bytes"] / GB)}


def _many_connections(site: Site, sizes: Sizes) -> Figures:
    with site.topic(_PARTITIONS) as topic, site.cpu() as cpu:
        load = site.rawload(
            "produce",
            topic,
            sizes.raw_seconds,
            nrec=1,
            inflight=1,
            conns=_CONNECTIONS,
            parts=_PARTITIONS,
        )
    return {
        "requests/s": load["req_s"],
        "CPU-µs/request": cpu[0] / load["req"] * 1e6,
        "p99 ms": load["p99"],
    }


def _fetch(fetch_bytes: int, site: Site, sizes: Sizes) -> Figures:
    site.stored("read-raw", MEDIUM_BATCHES, sizes.fetch_bytes)
    moved = seconds = 0.0
    with site.cpu() as cpu:
        for _ in range(sizes.fetch_passes):
            load = site.rawload("fetch", "read-raw", 30, fetch=fetch_bytes)
            moved += load["bytes"]
            seconds += load["secs"]
    return {"MB/s": moved / seconds / MB, CPU_PER_GB: cpu[0] / (moved / GB)}


def _cpu_shape(name: str, title: str, floor: float, goal: float) -> Shape:
    return Shape(
        name=name,
        group=Group.RAW,
        title=title,
        unit=CPU_PER_GB,
        better=Better.LOWER,
        floor=floor,
        goal=goal,
        figure=CPU_PER_GB,
    )


_RAW: Final = frozenset({Needs.RAWLOAD})

EXPERIMENTS: Final = (
    Experiment(
        name="raw-produce-16kb",
        stage=Stage.PAIR,
        run=_small_batches,
        shapes=(
            Shape(
                name="raw-produce-16kb",
                group=Group.RAW,
                title="produce, 16 KB batches, one connection",
                unit="MB/s",
                better=Better.HIGHER,
                floor=2.0,
                goal=3.0,
                figure="MB/s",
            ),
            _cpu_shape("cpu-produce-16kb", "processor time, produce, 16 KB batches", 0.6, 0.35),
        ),
        needs=_RAW,
    ),
    Experiment(
        name="raw-produce-1mb",
        stage=Stage.PAIR,
        run=_large_batches,
        shapes=(_cpu_shape("cpu-produce-1mb", "processor time, produce, 1 MB batches", 1.0, 0.7),),
        needs=_RAW,
    ),
    Experiment(
        name="raw-fetch-1mb",
        stage=Stage.PAIR,
        run=partial(_fetch, 1 << 20),
        shapes=(_cpu_shape("cpu-fetch-1mb", "processor time, 1 MB fetches", 1.0, 0.5),),
        needs=_RAW,
    ),
    Experiment(
        name="raw-fetch-8mb",
        stage=Stage.PAIR,
        run=partial(_fetch, 8 << 20),
        shapes=(_cpu_shape("cpu-fetch-8mb", "processor time, 8 MB fetches", 1.0, 0.5),),
        needs=_RAW,
    ),
    Experiment(
        name="raw-200-connections",
        stage=Stage.PAIR,
        run=_many_connections,
        shapes=(
            Shape(
                name="raw-200-connections",
                group=Group.RAW,
                title="produce, 200 connections, one record a request",
                unit="requests/s",
                better=Better.HIGHER,
                floor=0.7,
                goal=1.2,
                figure="requests/s",
            ),
        ),
        needs=_RAW,
    ),
)
