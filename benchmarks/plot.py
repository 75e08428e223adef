"""The plot of the report as an SVG of our own: one bar per shape from 1 to its ratio, logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.figures import Spread, Verdict

_LOW, _HIGH = 0.01, 10.0
_LABEL_WIDTH, _PLOT_WIDTH, _VALUE_WIDTH = 460, 440, 60
_ROW_HEIGHT, _TOP, _BOTTOM = 20, 46, 34
_TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_LABEL_CHARACTERS_MAX: Final = 70
_COLOURS: Final = {
    Verdict.GOAL: "#2e7d32",
    Verdict.FLOOR: "#b58900",
    Verdict.MISSED: "#c62828",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One shape; without a ratio only its bounds are drawn."""

    label: str
    ratio: Spread | None
    floor: float
    goal: float
    verdict: Verdict


def draw(bars: Sequence[Bar]) -> str:
    """The whole picture."""
    width = _LABEL_WIDTH + _PLOT_WIDTH + _VALUE_WIDTH
    bottom = _TOP + _ROW_HEIGHT * len(bars)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + _BOTTOM}"'
        f' viewBox="0 0 {width} {bottom + _BOTTOM}" font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<text x="8" y="18" font-size="14" font-weight="bold">Odradek / Apache Kafka</text>',
        '<text x="8" y="34" fill="#555555">bar: median ratio, line: range, | floor, ◆ goal;'
        " green: goal met, amber: floor met, red: missed</text>",
        *_axis(bottom),
    ]
    for index, bar in enumerate(bars):
        parts.extend(_bar(bar, _TOP + _ROW_HEIGHT * index))
    return "\n".join([*parts, "</svg>"]) + "\n"


def place(ratio: float) -> float:
    """The x of a ratio; what is off the scale sits at its end."""
    clamped = min(max(ratio, _LOW), _HIGH)
    return _LABEL_WIDTH + _PLOT_WIDTH * math.log(clamped / _LOW) / math.log(_HIGH / _LOW)


def _axis(bottom: float) -> list[str]:
    lines = []
    for tick in _TICKS:
        x = place(tick)
        colour = "#333333" if tick == 1 else "#dddddd"
        lines.append(
            f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}" stroke="{colour}"/>'
        )
        lines.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#555555">{tick:g}</text>'
        )
    return lines


def _bar(bar: Bar, y: float) -> list[str]:
    middle = y + _ROW_HEIGHT / 2
    label = bar.label
    if len(label) > _LABEL_CHARACTERS_MAX:
        label = label[: _LABEL_CHARACTERS_MAX - 1] + "…"
    parts = [
        f'<text x="{_LABEL_WIDTH - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
    ]
    if bar.ratio is not None:
        start, end = sorted((place(1), place(bar.ratio.middle)))
        low, high = place(bar.ratio.low), place(bar.ratio.high)
        colour = _COLOURS.get(bar.verdict, "#777777")
        parts += [
            f'<rect x="{start:.1f}" y="{y + 4}" width="{max(1.0, end - start):.1f}"'
            f' height="{_ROW_HEIGHT - 8}" fill="{colour}" fill-opacity="0.8"/>',
            f'<line x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}" stroke="#222222"/>',
            f'<text x="{_LABEL_WIDTH + _PLOT_WIDTH + 10}" y="{middle + 4}">'
            f"{bar.ratio.middle:.2g}</text>",
        ]
    floor, goal = place(bar.floor), place(bar.goal)
    parts += [
        f'<line x1="{floor:.1f}" y1="{y + 2}" x2="{floor:.1f}" y2="{y + _ROW_HEIGHT - 2}"'
        ' stroke="#555555" stroke-width="2"/>',
        f'<path d="M{goal:.1f} {middle - 4}l4 4l-4 4l-4 -4z" fill="#1b5e20"/>',
    ]
    return parts
