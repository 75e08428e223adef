"""Tables in the layout of Kafka's own tools: columns to the left, as wide as their longest cell.
Pure.

People's scripts cut these tables at blanks, so a cell is never empty: what is not there is `-`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

# The least width of a column in kafka-consumer-groups' tables.
LEAST_WIDTH: Final = 15
NOTHING: Final = "-"


class Column(NamedTuple):
    """A heading, and the width below which the column does not go."""

    heading: str
    least: int = LEAST_WIDTH


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table, headings first; None becomes a dash."""
    lines = [
        [column.heading for column in columns],
        *([cell(each) for each in row] for row in rows),
    ]
    widths = [
        max(column.least, *(len(line[number]) for line in lines))
        for number, column in enumerate(columns)
    ]
    return [
        " ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def tab_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The layout of kafka-transactions: a tab after every cell."""
    lines = [list(headings), *([cell(each) for each in row] for row in rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(headings))]
    return [
        "".join(f"{text.ljust(width)}\t" for text, width in zip(line, widths, strict=True))
        for line in lines
    ]


def cell(value: object) -> str:
    """One cell's text."""
    return NOTHING if value is None or value == "" else str(value)
