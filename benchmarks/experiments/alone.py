"""What only has to be steady: throughput while data piles up, reads at the far end, memory over time.

D0-03: throughput does not fall as stored data grows. D1-06: the speed of consumption does not depend on
how much is stored. Nothing is compared here; the bounds are those of the figures.
"""

from __future__ import annotations

import os
import shutil
import time
from statistics import median
from typing import Final

from benchmarks import wire
from benchmarks.figures import growth
from benchmarks.process import MeasureError, SkipError
from benchmarks.shapes import GB, MB, Better, Experiment, Figures, Group, Needs, Shape, Sizes, Stage
from benchmarks.site import MEDIUM_BATCHES, SMALL_BATCHES, Records, Site

_STEPS: Final = 10
_SPARE_BYTES: Final = 10 * GB
_TAIL_BYTES: Final = 10 * MB
_TAIL_READS: Final = 31
_FETCH_BYTES: Final = 1 << 20
#: A soak that fills no disk, whatever its length.
_SOAK_TOPIC: Final = {"segment.bytes": str(32 * MB), "retention.bytes": str(128 * MB)}
_SOAK_CONNECTIONS: Final = 10
_SOAK_REQUESTS_PER_SECOND: Final = 50  # per connection, 16 KB each
_SOAK_TURN_SECONDS: Final = 2.0
_SOAK_READ_BYTES: Final = 10 * MB  # per turn, of the end: retention never takes it away


def _grow(site: Site, sizes: Sizes) -> Figures:
    """One partition grows in ten equal steps; each step is timed alone, writeback is waited for."""
    _need_disk(site, sizes)
    site.broker.start()
    step_bytes = int(sizes.cold_gb * GB / _STEPS)
    speeds: list[float] = []
    costs: list[float] = []
    with site.topic() as topic:
        for _ in range(_STEPS):
            os.sync()
            with site.cpu() as cpu:
                load = site.rawload("produce", topic, 120, bytes=step_bytes, **SMALL_BATCHES.flags)
            speeds.append(load["MB_s"])
            costs.append(cpu[0] / (load["bytes"] / GB))
    return {
        "last/first": median(speeds[-3:]) / median(speeds[:3]),
        "cost last/first": median(costs[-3:]) / median(costs[:3]),
        "GB": sizes.cold_gb,
        **{f"step {number} MB/s": speed for number, speed in enumerate(speeds, 1)},
    }


def _say_grow(figures: Figures) -> str:
    steps = ", ".join(f"{figures[f'step {number} MB/s']:.0f}" for number in range(1, _STEPS + 1))
    return (
        f"{figures['GB']:g} GB in ten steps: {steps} MB/s; processor time per GB"
        f" last / first: {figures['cost last/first']:.2f}"
    )


def _read_the_end(site: Site, sizes: Sizes) -> Figures:
    """The last 10 MB of a large partition against all of a 10 MB one, alternating."""
    _need_disk(site, sizes)
    site.broker.start()
    ends = {
        "small": site.stored("small", MEDIUM_BATCHES, _TAIL_BYTES),
        "large": site.stored("large", MEDIUM_BATCHES, int(sizes.cold_gb * GB), 600),
    }
    count = _records_in(MEDIUM_BATCHES, _TAIL_BYTES)
    took: dict[str, list[float]] = {topic: [] for topic in ends}
    with wire.Connection(site.broker.port) as connection:
        for _ in range(_TAIL_READS):
            for topic, end in ends.items():
                began = time.monotonic()
                connection.read_to_end(topic, end - count, end, _FETCH_BYTES)
                took[topic].append((time.monotonic() - began) * 1e3)
    small, large = median(took["small"]), median(took["large"])
    return {"large/small": large / small, "small ms": small, "large ms": large, "GB": sizes.cold_gb}


def _say_read_the_end(figures: Figures) -> str:
    return (
        f"{figures['GB']:g} GB: {figures['large ms']:.1f} ms; 10 MB: {figures['small ms']:.1f} ms"
    )


def _soak(site: Site, sizes: Sizes) -> Figures:
    """Steady load from clients that come and go; the second half's trend of resident memory."""
    site.broker.start()
    began = time.monotonic()
    points: list[tuple[float, float]] = []
    with site.topic(configs=_SOAK_TOPIC) as topic:
        while (now := time.monotonic() - began) < sizes.soak_minutes * 60:
            site.rawload(
                "produce",
                topic,
                _SOAK_TURN_SECONDS,
                rate=_SOAK_REQUESTS_PER_SECOND,
                conns=_SOAK_CONNECTIONS,
                **SMALL_BATCHES.flags,
            )
            with wire.Connection(site.broker.port) as connection:
                end = connection.end_offsets({topic: 1})
                start = max(0, end - _records_in(SMALL_BATCHES, _SOAK_READ_BYTES))
                connection.read_to_end(topic, start, end, _FETCH_BYTES)
            points.append((now, site.rss_mb))
    settled = points[len(points) // 2 :]
    if len(settled) < 2:
        raise MeasureError("the soak is too short to have a trend: make --soak-minutes larger")
    share = growth(settled)
    minutes = (settled[-1][0] - settled[0][0]) / 60
    return {
        "growth %": max(0.0, share * 100),
        "MB/h": share * settled[0][1] / minutes * 60,
        "end MB": points[-1][1],
        "minutes": sizes.soak_minutes,
    }


def _say_soak(figures: Figures) -> str:
    return (
        f"{figures['minutes']:g} min at {_SOAK_CONNECTIONS * _SOAK_REQUESTS_PER_SECOND} requests/s:"
        f" {figures['MB/h']:+.2f} MB/h, {figures['end MB']:.0f} MB in the end"
    )


def _records_in(records: Records, count_bytes: int) -> int:
    """Records of about so many bytes, in whole batches and a little less than was stored."""
    return count_bytes // (records.per_batch * (records.size + 10)) * records.per_batch


def _need_disk(site: Site, sizes: Sizes) -> None:
    needed = int(sizes.cold_gb * GB) + _SPARE_BYTES
    if shutil.disk_usage(site.broker.folder).free < needed:
        raise SkipError(f"needs {needed / GB:.0f} GB of free disk: make --cold-gb smaller")


_RAW: Final = frozenset({Needs.RAWLOAD})

EXPERIMENTS: Final = (
    Experiment(
        name="grow",
        stage=Stage.ALONE,
        run=_grow,
        say=_say_grow,
        shapes=(
            Shape(
                name="grow",
                group=Group.ALONE,
                title="produce throughput while a partition grows to its full size, last three"
                " tenths / first three (D0-03)",
                unit="(ratio)",
                better=Better.HIGHER,
                floor=0.9,
                goal=0.97,
                figure="last/first",
            ),
        ),
        needs=_RAW,
        warm_up=False,
        rounds_max=1,
    ),
    Experiment(
        name="read-the-end",
        stage=Stage.ALONE,
        run=_read_the_end,
        say=_say_read_the_end,
        shapes=(
            Shape(
                name="read-the-end",
                group=Group.ALONE,
                title="time to read the last 10 MB of a large partition / all of a 10 MB one (D1-06)",
                unit="(ratio)",
                better=Better.LOWER,
                floor=1.1,
                goal=1.03,
                figure="large/small",
            ),
        ),
        needs=_RAW,
        warm_up=False,
        rounds_max=1,
    ),
    Experiment(
        name="soak",
        stage=Stage.ALONE,
        run=_soak,
        say=_say_soak,
        shapes=(
            Shape(
                name="soak",
                group=Group.ALONE,
                title="growth of resident memory over the second half of a soak",
                unit="%",
                better=Better.LOWER,
                floor=5.0,
                goal=1.0,
                figure="growth %",
            ),
        ),
        needs=_RAW,
        warm_up=False,
        rounds_max=1,
    ),
)
