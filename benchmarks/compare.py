"""Measure Odradek beside Apache Kafka and write the page: `python -m benchmarks.compare`.

Both brokers run on the same machine in the same run. Each experiment has a warm-up pass that is thrown
away, then rounds in which the order alternates (Kafka first, Odradek first, …). Before every run dirty
pages are written back, so that nobody pays for what the other wrote. Results are stored after every
experiment; `--only` measures a few again and leaves the other rows as they were.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from confluent_kafka import KafkaException

from benchmarks import machine, report
from benchmarks.brokers import Kind
from benchmarks.experiments import ALL
from benchmarks.heat import heat
from benchmarks.process import MeasureError, SkipError
from benchmarks.results import Problem, Result, Results
from benchmarks.shapes import Experiment, Figures, Sizes, Stage
from benchmarks.site import Site, Sites
from benchmarks.toolbox import BUILD, ROOT, Toolbox

#: What a measurement may end with without ending the run: the others are still worth having.
_TROUBLE: Final = (
    MeasureError,
    KafkaException,
    OSError,
    ValueError,
    AssertionError,
    subprocess.SubprocessError,
)


class Comparison:
    """One run over some experiments."""

    def __init__(self, toolbox: Toolbox, sites: Sites, sizes: Sizes, only: Kind | None) -> None:
        self._toolbox = toolbox
        self._sites = sites
        self._sizes = sizes
        self._only = only
        self._load_before = machine.load_average()

    def measure(self, experiment: Experiment) -> Result:
        """All rounds of one experiment; trouble is part of the result."""
        result = Result(
            measured_on=datetime.now(UTC).date().isoformat(),
            load_before=self._load_before,
            sizes=asdict(self._sizes),
        )
        try:
            for need in experiment.needs:
                if reason := self._toolbox.missing(need):
                    raise SkipError(reason)
            self._rounds(experiment, result)
        except SkipError as error:
            result.problem = Problem(skipped=True, reason=str(error))
        except _TROUBLE as error:
            result.problem = Problem(skipped=False, reason=_words(error))
        return result

    def _rounds(self, experiment: Experiment, result: Result) -> None:
        kinds = [kind for kind in _kinds(experiment) if self._only in (None, kind)]
        if experiment.stage is not Stage.PAIR:
            self._sites.end_pair()
        if experiment.warm_up:
            for kind in kinds:
                self._once(experiment, kind, self._sizes.warm_up())
        for number in range(min(self._sizes.rounds, experiment.rounds_max or self._sizes.rounds)):
            for kind in kinds if number % 2 == 0 else reversed(kinds):
                result.rounds(kind).append(self._once(experiment, kind, self._sizes))

    def _once(self, experiment: Experiment, kind: Kind, sizes: Sizes) -> Figures:
        os.sync()
        with self._site(experiment, kind) as site:
            try:
                figures = experiment.run(site, sizes)
            except _TROUBLE as error:
                site.broker.keep_log(BUILD / "failures" / f"{experiment.name}-{kind.value}.log")
                raise MeasureError(f"{kind.value}: {_words(error)}") from error
        words = ", ".join(f"{name} {report.number(value)}" for name, value in figures.items())
        print(f"    {kind.value:8} {words}", flush=True)
        return figures

    @contextlib.contextmanager
    def _site(self, experiment: Experiment, kind: Kind) -> Iterator[Site]:
        if experiment.stage is Stage.PAIR:
            yield self._pair()[kind]
        else:
            with self._sites.fresh(kind) as site:
                yield site

    def _pair(self) -> dict[Kind, Site]:
        is_new = not self._sites.has_pair
        pair = self._sites.pair()
        if is_new:
            for kind in Kind:
                if self._only in (None, kind):
                    heat(pair[kind], self._sizes)
        return pair


def _words(error: BaseException) -> str:
    return str(error) or repr(error)


def _kinds(experiment: Experiment) -> Sequence[Kind]:
    if experiment.stage is Stage.ALONE:
        return [Kind.ODRADEK]
    return [Kind.KAFKA, Kind.ODRADEK]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description="Measure Odradek beside Apache Kafka on this machine.",
    )
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few minutes")
    parser.add_argument("--rounds", type=int, help="rounds per shape (3; quick: 1)")
    parser.add_argument("--only", help="experiments or shapes, or how their names begin: a,b,…")
    parser.add_argument("--out", type=Path, help="the page to write (docs/benchmarks.md)")
    parser.add_argument("--cold-gb", type=float, help="size of what is large (10)")
    parser.add_argument("--soak-minutes", type=float, help="length of the soak (1.5)")
    parser.add_argument("--list", action="store_true", help="say what there is, measure nothing")
    parser.add_argument(
        "--render", action="store_true", help="write the page from stored results only"
    )
    parser.add_argument(
        "--broker",
        choices=[kind.value for kind in Kind],
        help="measure one of the two, for development; nothing is stored",
    )
    return parser


def _sizes(arguments: argparse.Namespace) -> Sizes:
    sizes = Sizes.quick() if arguments.quick else Sizes.full()
    given = {
        "rounds": arguments.rounds,
        "cold_gb": arguments.cold_gb,
        "soak_minutes": arguments.soak_minutes,
    }
    return replace(sizes, **{name: value for name, value in given.items() if value is not None})


def selected(only: str | None) -> list[Experiment]:
    """The experiments that were asked for, by the beginning of their or their shapes' names."""
    wanted = tuple(name for name in (only or "").split(",") if name)
    return [
        experiment
        for experiment in ALL
        if not wanted
        or experiment.name.startswith(wanted)
        or any(shape.name.startswith(wanted) for shape in experiment.shapes)
    ]


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)  # through every `finally`, so that no broker stays


def main(argv: Sequence[str] | None = None) -> int:
    """0: measured; 1: something could not be measured; 2: nothing to measure or compare with."""
    arguments = _parser().parse_args(argv)
    chosen = selected(arguments.only)
    if arguments.list:
        for experiment in chosen:
            print(f"{experiment.name:24} {', '.join(shape.name for shape in experiment.shapes)}")
        return 0
    # A smoke run's figures never replace real ones.
    store = BUILD / ("quick.json" if arguments.quick else "results.json")
    page = arguments.out or (BUILD / "quick.md" if arguments.quick else ROOT / "docs/benchmarks.md")
    results = Results.load(store)
    if arguments.render:
        report.write(results, page)
        return 0
    toolbox = Toolbox()
    if not chosen or (reason := toolbox.peer_missing()):
        print(reason if chosen else f"nothing is called {arguments.only}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _leave)
    BUILD.mkdir(parents=True, exist_ok=True)
    sites = Sites(toolbox, Path(tempfile.mkdtemp(prefix="work-", dir=BUILD)))
    only = Kind(arguments.broker) if arguments.broker else None
    comparison = Comparison(toolbox, sites, _sizes(arguments), only)
    failed = 0
    began = time.monotonic()
    try:
        results.machine = machine.describe()
        for experiment in chosen:
            print(f"{time.monotonic() - began:6.0f} s  {experiment.name}", flush=True)
            result = comparison.measure(experiment)
            if result.problem:
                failed += not result.problem.skipped
                word = "skipped" if result.problem.skipped else "failed"
                print(f"    {word}: {result.problem.reason}", flush=True)
            if only is None:
                results.experiments[experiment.name] = result
                results.save(store)
                report.write(results, page)
    finally:
        sites.remove()
    print(f"{time.monotonic() - began:6.0f} s  done", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
