"""The page: method, a table per group, the plot, how to do it again. Rendered from stored results only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import plot
from benchmarks.brokers import Kind
from benchmarks.experiments import ALL
from benchmarks.figures import Spread, Verdict, judge, ratios
from benchmarks.results import Result, Results
from benchmarks.shapes import CPU_PER_GB, Better, Experiment, Group, Shape, Stage

#: A cell without a figure.
_NOTHING: Final = "-"
_NOTICE: Final = "<!-- Written by `make bench`. Do not edit. -->"
#: Above this load average before a run, something else was at work on the machine.
_QUIET_LOAD: Final = 0.7
_WITH_CPU: Final = frozenset({Group.PRODUCE, Group.CONSUME})


@dataclass(frozen=True, slots=True)
class Row:
    """One shape and what became of it."""

    shape: Shape
    experiment: Experiment
    result: Result | None

    @property
    def problem(self) -> str | None:
        """Why there is no figure."""
        return self.result.problem.reason if self.result and self.result.problem else None

    def spread(self, kind: Kind, figure: str | None = None) -> Spread | None:
        """One broker's figure over the rounds."""
        values = self.result.values(kind, figure or self.shape.figure) if self.result else ()
        return Spread.of(values) if values else None

    @property
    def judged(self) -> Spread | None:
        """What is held against floor and goal: ratios per round, or the figure itself."""
        if self.result is None or self.result.problem:
            return None
        if self.experiment.stage is Stage.ALONE:
            return self.spread(Kind.ODRADEK)
        kafka = self.result.values(Kind.KAFKA, self.shape.figure)
        odradek = self.result.values(Kind.ODRADEK, self.shape.figure)
        return Spread.of(ratios(kafka, odradek)) if kafka and odradek else None

    @property
    def verdict(self) -> Verdict:
        """In a word."""
        if self.result is None:
            return Verdict.NOT_MEASURED
        if self.result.problem:
            return Verdict.SKIPPED if self.result.problem.skipped else Verdict.FAILED
        return judge(self.shape, self.judged.middle) if self.judged else Verdict.NOT_MEASURED


def rows(results: Results) -> list[Row]:
    """One per shape, in the order of declaration."""
    return [
        Row(shape, experiment, results.experiments.get(experiment.name))
        for experiment in ALL
        for shape in experiment.shapes
    ]


def write(results: Results, page: Path) -> None:
    """Write the page and, beside it, the plot."""
    page.parent.mkdir(parents=True, exist_ok=True)
    picture = page.with_suffix(".svg")
    found = rows(results)
    page.write_text("\n".join(_page(results, found, picture.name)).rstrip() + "\n")
    bars = [
        plot.Bar(row.shape.title, row.judged, row.shape.floor, row.shape.goal, row.verdict)
        for row in found
        if row.experiment.stage is not Stage.ALONE
    ]
    picture.write_text(plot.draw(bars))


def number(value: float) -> str:
    """Three digits that count."""
    if value == 0:
        return "0"
    digits = f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 100 else digits


def _page(results: Results, found: list[Row], picture: str) -> Iterator[str]:
    yield from ("# Odradek beside Apache Kafka", "", _NOTICE, "")
    yield from _summary(found)
    yield from (f"![Ratios of all compared shapes on a logarithmic scale]({picture})", "")
    for group in Group:
        yield from _table(group, [row for row in found if row.shape.group is group])
    yield from _method(results)
    yield from _REPRODUCE


def _summary(found: list[Row]) -> Iterator[str]:
    counts = {verdict: sum(row.verdict is verdict for row in found) for verdict in Verdict}
    if counts[Verdict.NOT_MEASURED] == len(found):
        yield from ("Not measured yet: `make bench` fills this page.", "")
        return
    words = [f"{count} {verdict.value}" for verdict, count in counts.items() if count]
    yield from (
        f"{len(found)} shapes: {', '.join(words)}.",
        "Ratios are Odradek / Kafka: the median of the ratios of single rounds, their range in brackets."
        " Throughput should be",
        "above 1; time, memory and processor seconds below. A *floor* is what we do not go below, a *goal*"
        " what we want.",
        "",
    )


def _table(group: Group, found: list[Row]) -> Iterator[str]:
    yield from (f"## {group.value}", "")
    if group is Group.ALONE:
        header = ["Shape", "Figure", "Floor", "Goal", "Verdict", "Details"]
        cells: Iterable[list[str]] = (_alone_cells(row) for row in found)
    else:
        header = [
            "Shape",
            "Unit",
            "Kafka",
            "Odradek",
            "Odradek / Kafka",
            "Floor",
            "Goal",
            "Verdict",
        ]
        if group in _WITH_CPU:
            header.append("Broker CPU-s/GB")
        cells = (_compared_cells(row) for row in found)
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for line in cells:
        yield "| " + " | ".join(line) + " |"
    yield ""
    for row in found:
        if row.problem:
            yield from (f"- *{row.shape.title}*, {row.verdict.value}: {row.problem}", "")


def _compared_cells(row: Row) -> list[str]:
    cells = [
        row.shape.title,
        row.shape.unit,
        _middle(row.spread(Kind.KAFKA)),
        _middle(row.spread(Kind.ODRADEK)),
        _with_range(row.judged),
        *_bounds(row.shape),
        _emphasised(row.verdict),
    ]
    if row.shape.group in _WITH_CPU:
        theirs, ours = (row.spread(kind, CPU_PER_GB) for kind in (Kind.KAFKA, Kind.ODRADEK))
        cells.append(f"{_middle(theirs)} → {_middle(ours)}")
    return cells


def _alone_cells(row: Row) -> list[str]:
    details = _NOTHING
    if row.result and row.result.odradek and row.experiment.say:
        details = row.experiment.say(row.result.odradek[-1])
    figure = f"{_middle(row.judged)} {row.shape.unit}" if row.judged else _NOTHING
    return [row.shape.title, figure, *_bounds(row.shape), _emphasised(row.verdict), details]


def _bounds(shape: Shape) -> tuple[str, str]:
    sign = "≥" if shape.better is Better.HIGHER else "≤"
    return f"{sign} {shape.floor:g}", f"{sign} {shape.goal:g}"


def _middle(spread: Spread | None) -> str:
    return number(spread.middle) if spread else _NOTHING


def _with_range(spread: Spread | None) -> str:
    if spread is None:
        return _NOTHING
    return f"**{number(spread.middle)}** [{number(spread.low)}, {number(spread.high)}]"


def _emphasised(verdict: Verdict) -> str:
    bad = verdict in (Verdict.MISSED, Verdict.FAILED)
    return f"**{verdict.value}**" if bad else verdict.value


def _method(results: Results) -> Iterator[str]:
    yield from ("## Method", "")
    for name, text in results.machine.items():
        yield f"- {name}: {text}."
    yield from _METHOD
    measured = [result for result in results.experiments.values() if not result.problem]
    if measured:
        days = sorted({result.measured_on for result in measured})
        loads = [result.load_before for result in measured]
        fewest = (
            min(int(result.sizes["rounds"]) for result in measured if result.kafka)
            if any(result.kafka for result in measured)
            else 0
        )
        noisy = max(loads) > _QUIET_LOAD
        yield (
            f"- Measured on {days[0]}{' to ' + days[-1] if len(days) > 1 else ''}; rounds per"
            f" compared shape: {fewest}; load average before the run at most {max(loads):.1f}"
            f"{': the machine was not quiet, read the ranges' if noisy else ''}."
        )
    yield ""


_METHOD: Final = (
    "- Both brokers are up at the same time on different ports, with default settings, one replica; the"
    " peer's JVM has Kafka's own start options.",
    "- Before the first figure both brokers produce and fetch until the same work costs them no less than"
    " before: the peer's JVM has then compiled its hot code.",
    "- Each shape: a warm-up pass that is thrown away, then rounds whose order alternates (Kafka first,"
    " Odradek first). Dirty pages are written back before every run. Every run uses a new topic, or data"
    " that was stored once for all rounds.",
    "- MB are 10⁶ bytes of record values (raw shapes: of batches). Processor time is user and system time"
    " of the broker process from `/proc`, resident memory its `VmRSS`.",
    "- Java producer: Kafka's `producer-perf`, its steady state after the first fifth of the records. Java"
    " consumer: a small program that assigns the partition, reads everything once to warm up and once for"
    " the figure. librdkafka: `kcat` from a file and to nowhere, time of the whole process; when consuming,"
    " its queue is large enough never to fill.",
    "- Starts are timed from spawning the process to a Metadata answer that names a broker; a restart counts"
    " when every partition has a leader and tells the end offset it had before. Formatting Kafka's folder"
    " is not counted.",
    "- The cold reader goes through a topic that is not in memory while a librdkafka producer sends to"
    " another. Its topic is written back and dropped from the page cache before every run, which is"
    " checked; the producer's records count from the moment they were due.",
    "- Kafka checks every record of a batch when it is appended; Odradek checks batch headers and the CRC"
    " and opens a batch only where a topic's settings need it. Part of the difference on small batches is"
    " this choice.",
)

_REPRODUCE: Final = (
    "## Do it again",
    "",
    "```",
    "make bench                                  # everything, about half an hour on a quiet machine",
    "make bench ARGS=--quick                     # a smoke run; writes build/bench/quick.md",
    "make bench ARGS='--only raw,start'          # a few shapes; the other rows stay",
    "make bench ARGS='--cold-gb 2 --soak-minutes 30 --rounds 5'",
    "make bench ARGS=--list                      # what there is",
    "```",
    "",
    "It needs Apache Kafka as `../shared/peers/kafka-peer` (Java 17), and for some shapes `kcat` and `go`;"
    " what is missing is skipped with a reason. Raw figures of every round are in `build/bench/`.",
)
