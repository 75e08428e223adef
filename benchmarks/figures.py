"""The arithmetic of the report: percentiles, slopes, ratios per round, verdicts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import linear_regression, median

from benchmarks.shapes import Shape


class Verdict(Enum):
    """What a row says in the end."""

    GOAL = "goal met"
    FLOOR = "floor met"
    MISSED = "missed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_MEASURED = "not measured yet"


@dataclass(frozen=True, slots=True)
class Spread:
    """A median and its range."""

    middle: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Of at least one value."""
        return Spread(median(values), min(values), max(values))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    assert values
    ranked = sorted(values)
    return ranked[max(0, -int(-share * len(ranked) // 1) - 1)]


def ratios(kafka: Sequence[float], odradek: Sequence[float]) -> list[float]:
    """Odradek / Kafka, round by round."""
    return [ours / theirs for theirs, ours in zip(kafka, odradek, strict=True)]


def judge(shape: Shape, value: float) -> Verdict:
    """Whether a ratio (or, for Odradek alone, a figure) reaches the goal or the floor."""
    if shape.better.reaches(value, shape.goal):
        return Verdict.GOAL
    return Verdict.FLOOR if shape.better.reaches(value, shape.floor) else Verdict.MISSED


def growth(points: Sequence[tuple[float, float]]) -> float:
    """How much the fitted line rises from the first x to the last, as a share of its first value."""
    xs = [x for x, _ in points]
    slope, start = linear_regression(xs, [y for _, y in points])
    first = start + slope * xs[0]
    return slope * (xs[-1] - xs[0]) / first
