"""All probes of one broker. Several brokers in one process have a registry each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from odradek.metrics.declare import Metric, Probe


class Registry:
    """The probes in the order they were made; owned by the loop's thread, as they are."""

    def __init__(self) -> None:
        self._probes: list[Probe] = []
        self._names: set[str] = set()

    def add(self, probe: Probe) -> None:
        """Show a probe's metrics from now on. A metric belongs to one probe only."""
        names = {metric.name for metric in probe.METRICS.values()}
        assert not names & self._names, f"declared twice: {sorted(names & self._names)}"
        self._names |= names
        self._probes.append(probe)

    def read(self) -> Iterator[tuple[Metric, Any]]:
        """Every metric with what it holds now."""
        for probe in self._probes:
            yield from probe.read()

    def forget(self, label: str, value: str) -> None:
        """Drop every series of a label value that is gone, such as a deleted topic."""
        for probe in self._probes:
            probe.forget(label, value)
