"""What a row of the report is, and how a row gets its figures.

An `Experiment` runs once against one broker and returns named figures; each `Shape` judges one of them.
One run often feeds several shapes (throughput and processor time of the same load), so that nothing is
measured twice. Floors and goals of a compared shape are ratios Odradek / Kafka; those of a shape that
Odradek runs alone are bounds of the figure itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from benchmarks.site import Site

Figures: TypeAlias = Mapping[str, float]

GB = 1_000_000_000
MB = 1_000_000
KB = 1_000

#: Broker processor seconds per GB moved: the steadiest figure, kept beside every throughput.
CPU_PER_GB = "CPU-s/GB"


class Better(Enum):
    """Which direction of a figure is the good one."""

    HIGHER = "higher"
    LOWER = "lower"

    def reaches(self, value: float, bound: float) -> bool:
        """Whether a value is at the bound or on its good side."""
        return value >= bound if self is Better.HIGHER else value <= bound


class Group(Enum):
    """The tables of the report."""

    PRODUCE = "Produce throughput"
    CONSUME = "Consume throughput"
    RAW = "Broker efficiency (ready-made frames, so that the broker is the limit)"
    LATENCY = "Latency"
    GROUPS = "Groups and transactions"
    PROCESS = "Memory and start"
    ALONE = "Odradek alone: does stored data or time slow it down?"


class Needs(Enum):
    """Programs an experiment cannot do without; it is skipped with this reason when one is absent."""

    RAWLOAD = "the raw load client (a Go toolchain)"
    KCAT = "kcat"


class Stage(Enum):
    """Which brokers an experiment finds."""

    PAIR = "both brokers up for the whole run"
    OWN = "an empty broker that is not started yet, one kind after the other"
    ALONE = "an empty Odradek that is not started yet; there is nothing to compare"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One judged figure."""

    name: str
    group: Group
    title: str
    unit: str
    better: Better
    floor: float
    goal: float
    figure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much work a run is. `quick` is a smoke test, `warm_up` heats processors, JITs and caches."""

    rounds: int
    heat_seconds: float  # at most, before the first figure of a pair of brokers
    java_seconds: float  # scales record counts of Kafka's own tools
    file_bytes: int  # what librdkafka produces
    consume_bytes: int
    raw_seconds: float
    raw_bytes: int  # small batches
    raw_large_bytes: int  # 1 MB batches
    fetch_bytes: int  # stored, read several times
    fetch_passes: int
    latency_seconds: float
    settle_seconds: float
    partitions: int
    partition_bytes: int  # over all of them
    cold_gb: float
    cold_seconds: float
    soak_minutes: float
    group_seconds: float  # of commits, group fetches, transactions
    members: int  # that join one group
    added_partitions: int  # to a topic that a group reads
    groups: int  # that are loaded at a start

    @staticmethod
    def full() -> Sizes:
        """Sizes of the published figures."""
        return Sizes(
            rounds=3,
            heat_seconds=120,
            java_seconds=6,
            file_bytes=200 * MB,
            consume_bytes=300 * MB,
            raw_seconds=6,
            raw_bytes=300 * MB,
            raw_large_bytes=1500 * MB,
            fetch_bytes=1 * GB,
            fetch_passes=4,
            latency_seconds=15,
            settle_seconds=5,
            partitions=2000,
            partition_bytes=350 * MB,
            cold_gb=10,
            cold_seconds=8,
            soak_minutes=1.5,
            group_seconds=6,
            members=50,
            added_partitions=900,
            groups=10_000,
        )

    @staticmethod
    def quick() -> Sizes:
        """A smoke test: shows that every shape runs, its figures mean little."""
        return Sizes(
            rounds=1,
            heat_seconds=5,
            java_seconds=0.5,
            file_bytes=20 * MB,
            consume_bytes=30 * MB,
            raw_seconds=1,
            raw_bytes=30 * MB,
            raw_large_bytes=100 * MB,
            fetch_bytes=100 * MB,
            fetch_passes=2,
            latency_seconds=2,
            settle_seconds=1,
            partitions=100,
            partition_bytes=20 * MB,
            cold_gb=0.3,
            cold_seconds=2,
            soak_minutes=0.2,
            group_seconds=1,
            members=10,
            added_partitions=90,
            groups=500,
        )

    def warm_up(self) -> Sizes:
        """The pass that is thrown away: about a third, stored data in full (rounds share it)."""
        return replace(
            self,
            java_seconds=self.java_seconds / 3,
            raw_seconds=self.raw_seconds / 3,
            raw_bytes=self.raw_bytes // 3,
            raw_large_bytes=self.raw_large_bytes // 3,
            fetch_passes=1,
            latency_seconds=self.latency_seconds / 4,
            cold_seconds=self.cold_seconds / 4,
            group_seconds=self.group_seconds / 3,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One way to measure. `run` measures once and cleans up after itself."""

    name: str
    stage: Stage
    run: Callable[[Site, Sizes], Figures]
    shapes: tuple[Shape, ...]
    needs: frozenset[Needs] = frozenset()
    say: Callable[[Figures], str] | None = None  # details of the last round, in words
    warm_up: bool = True
    rounds_max: int | None = None  # for what is long and steady
