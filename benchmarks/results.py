"""What was measured, kept between runs so that a partial run changes only its own rows.

The file is JSON in the build folder: per experiment one list of figures per broker, a round each, or the
reason why there are none. The report is rendered from it and from nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.brokers import Kind
from benchmarks.shapes import Figures


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an experiment has no figures."""

    skipped: bool  # else it failed
    reason: str


@dataclass(slots=True)
class Result:
    """One experiment."""

    measured_on: str
    load_before: float
    sizes: dict[str, float]
    kafka: list[Figures] = field(default_factory=list)
    odradek: list[Figures] = field(default_factory=list)
    problem: Problem | None = None

    def rounds(self, kind: Kind) -> list[Figures]:
        """The figures of one broker, round by round."""
        return self.kafka if kind is Kind.KAFKA else self.odradek

    def values(self, kind: Kind, figure: str) -> Sequence[float]:
        """One figure of one broker, round by round."""
        return [figures[figure] for figures in self.rounds(kind) if figure in figures]


@dataclass(slots=True)
class Results:
    """Everything measured so far, and on what."""

    machine: dict[str, str] = field(default_factory=dict)
    experiments: dict[str, Result] = field(default_factory=dict)

    @staticmethod
    def load(path: Path) -> Results:
        """Read the file; nothing there means nothing measured."""
        if not path.exists():
            return Results()
        raw: dict[str, Any] = json.loads(path.read_text())
        return Results(
            machine=raw["machine"],
            experiments={name: _result(entry) for name, entry in raw["experiments"].items()},
        )

    def save(self, path: Path) -> None:
        """Replace the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(asdict(self), indent=1) + "\n")
        fresh.replace(path)


def _result(raw: dict[str, Any]) -> Result:
    problem = raw.pop("problem")
    return Result(**raw, problem=Problem(**problem) if problem else None)
