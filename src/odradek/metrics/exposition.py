r"""The page that Prometheus reads: text format 0.0.4.

    # HELP name what it says                 (\ and newline escaped)
    # TYPE name counter
    name{label="value",…} 12                 (\, " and newline escaped in values)

A histogram gives cumulative `_bucket{le="bound"}` lines up to `le="+Inf"`, then `_sum`, `_count`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from odradek.metrics.declare import Histogram, LabelValues, Metric
from odradek.metrics.registry import Registry

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def render(registry: Registry) -> bytes:
    """The whole page as it is now."""
    lines: list[str] = []
    for metric, value in registry.read():
        lines.append(f"# HELP {metric.name} {_escape_help(metric.doc)}")
        lines.append(f"# TYPE {metric.name} {metric.type.value}")
        for labels, member in _members(metric, value):
            if isinstance(member, Histogram):
                lines.extend(_histogram_lines(metric.name, labels, member))
            else:
                lines.append(f"{metric.name}{_braced(labels)} {_number(member)}")
    lines.append("")
    return "\n".join(lines).encode()


def _members(metric: Metric, value: Any) -> Iterator[tuple[list[str], Any]]:
    if not metric.labels:
        yield [], value
        return
    assert isinstance(value, Mapping), f"{metric.name} has labels"
    for labels, member in value.items():
        yield _pairs(metric, labels), member


def _pairs(metric: Metric, labels: LabelValues) -> list[str]:
    values = (labels,) if len(metric.labels) == 1 else labels
    assert len(values) == len(metric.labels), f"{metric.name}{labels}: expected {metric.labels}"
    return [
        f'{name}="{_escape_value(str(value))}"'
        for name, value in zip(metric.labels, values, strict=True)
    ]


def _histogram_lines(name: str, labels: list[str], histogram: Histogram) -> Iterator[str]:
    running = 0
    for bound, count in zip((*histogram.bounds, math.inf), histogram.counts, strict=True):
        running += count
        bucket = [*labels, f'le="{_number(bound)}"']
        yield f"{name}_bucket{_braced(bucket)} {running}"
    yield f"{name}_sum{_braced(labels)} {_number(histogram.total)}"
    yield f"{name}_count{_braced(labels)} {running}"


def _braced(pairs: list[str]) -> str:
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))  # a bool is shown as 0 or 1
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _escape_value(text: str) -> str:
    return _escape_help(text).replace('"', '\\"')
