"""What an experiment finds when it runs: a broker, the tools, topics to use and throw away.

A `Site` belongs to one broker. `Sites` makes and ends them: the pair that stays up for all load shapes,
and brokers that an experiment wants for itself.
"""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks import process, wire
from benchmarks.brokers import Broker, Kafka, KafkaRecipe, Kind, Odradek
from benchmarks.process import MeasureError
from benchmarks.toolbox import Toolbox

_ADMIN_SECONDS_MAX: Final = 60.0
_LED_SECONDS_MAX: Final = 30.0
#: A load client is told how long to run; this much more and it hangs.
_GRACE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Records:
    """Batches of equal records, as the raw load client makes them."""

    per_batch: int
    size: int

    @property
    def flags(self) -> dict[str, float]:
        """For the raw load client."""
        return {"nrec": self.per_batch, "size": self.size}


SMALL_BATCHES: Final = Records(145, 100)  # 16 KB
SMALL_BATCHES_1KB: Final = Records(16, 1000)  # 16 KB
MEDIUM_BATCHES: Final = Records(64, 990)  # 64 KB
LARGE_BATCHES: Final = Records(1000, 990)  # 1 MB, just below the broker's limit


@dataclass(slots=True)
class Site:
    """One broker and what can be done with it."""

    broker: Broker
    toolbox: Toolbox
    folder: Path
    _stored: dict[str, int] = field(default_factory=dict)
    _names: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def topic(self, partitions: int = 1, configs: Mapping[str, str] | None = None) -> Iterator[str]:
        """A new topic, deleted at the end."""
        name = f"bench-{next(self._names)}"
        self.create_topics({name: partitions}, configs)
        try:
            yield name
        finally:
            self.delete_topic(name)

    def create_topics(
        self, partitions: Mapping[str, int], configs: Mapping[str, str] | None = None
    ) -> None:
        """Create topics and wait until all their partitions can be used."""
        admin = self._admin()
        wanted = [
            NewTopic(name, count, 1, config=dict(configs or {}))
            for name, count in partitions.items()
        ]
        for future in admin.create_topics(wanted, request_timeout=_ADMIN_SECONDS_MAX).values():
            future.result(_ADMIN_SECONDS_MAX)
        if wire.wait_until_led(self.broker.port, dict(partitions), _deadline()) is None:
            raise MeasureError("new partitions got no leader")

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        admin = self._admin()
        for future in admin.delete_topics([name], request_timeout=_ADMIN_SECONDS_MAX).values():
            future.result(_ADMIN_SECONDS_MAX)

    def _admin(self) -> AdminClient:
        # Warnings and worse: the client mentions its own unserved events when it ends.
        return AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 4})

    def is_stored(self, name: str) -> bool:
        """Whether a topic was filled already."""
        return name in self._stored

    def stored(
        self, name: str, records: Records, count_bytes: int, seconds_max: float = 120
    ) -> int:
        """Make sure that a topic holds about so many bytes; gives its number of records."""
        if name not in self._stored:
            self.create_topics({name: 1})
            done = self.rawload("produce", name, seconds_max, bytes=count_bytes, **records.flags)
            if done["bytes"] < 0.95 * count_bytes:
                raise MeasureError(
                    f"{name}: only {done['bytes'] / 1e9:.1f} GB in {seconds_max:.0f} s"
                )
            with wire.Connection(self.broker.port) as connection:
                self._stored[name] = connection.end_offsets({name: 1})
        return self._stored[name]

    def rawload(self, mode: str, topic: str, seconds: float, **flags: float) -> dict[str, float]:
        """Run the raw load client against a topic."""
        given = {"addr": self.broker.bootstrap, "topic": topic, "secs": seconds, **flags}
        words = [word for key, value in given.items() for word in (f"-{key}", f"{value}")]
        text = process.run(
            [self.toolbox.rawload, mode, *words], seconds_max=seconds + _GRACE_SECONDS
        )
        figures: dict[str, float] = json.loads(text)
        if figures["errs"] or not figures["req"]:
            raise MeasureError(
                f"raw {mode}: {figures['errs']:.0f} errors, {figures['req']:.0f} answers"
            )
        return figures

    @contextmanager
    def cpu(self) -> Iterator[list[float]]:
        """The broker's processor seconds over a block, appended to the given list at its end."""
        spent: list[float] = []
        before = process.cpu_seconds(self.broker.pid)
        yield spent
        spent.append(process.cpu_seconds(self.broker.pid) - before)

    @property
    def rss_mb(self) -> float:
        """The broker's resident memory."""
        return process.rss_bytes(self.broker.pid) / 1e6


class Sites:
    """All brokers of a run, in one work folder that is removed at the end."""

    def __init__(self, toolbox: Toolbox, folder: Path) -> None:
        self._toolbox = toolbox
        self.folder = folder
        self._recipe: KafkaRecipe | None = None
        self._pair: dict[Kind, Site] = {}
        self._numbers = itertools.count()

    @property
    def has_pair(self) -> bool:
        """Whether both brokers are up."""
        return bool(self._pair) and all(site.broker.is_alive for site in self._pair.values())

    def pair(self) -> dict[Kind, Site]:
        """Both brokers, up together; started on first use, and anew when one of them has died."""
        if not self.has_pair:
            self._remove_pair()
            for kind in Kind:
                self._pair[kind] = self._new(kind)
                self._pair[kind].broker.start()
        return self._pair

    def end_pair(self) -> None:
        """Stop both and remove their data."""
        for site in self._pair.values():
            site.broker.stop()
        self._remove_pair()

    @contextmanager
    def fresh(self, kind: Kind) -> Iterator[Site]:
        """A broker with an empty folder, not started yet; removed at the end."""
        site = self._new(kind)
        try:
            yield site
        finally:
            site.broker.remove()

    def remove(self) -> None:
        """End everything."""
        self._remove_pair()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_pair(self) -> None:
        for site in self._pair.values():
            site.broker.remove()
        self._pair.clear()

    def _new(self, kind: Kind) -> Site:
        folder = self.folder / f"{kind.value}-{next(self._numbers)}"
        return Site(self._broker(kind, folder), self._toolbox, self.folder)

    def _broker(self, kind: Kind, folder: Path) -> Broker:
        match kind:
            case Kind.ODRADEK:
                return Odradek(folder, self._toolbox)
            case Kind.KAFKA:
                if self._recipe is None:
                    self._recipe = KafkaRecipe.learn(self.folder / "recipe")
                return Kafka(folder, self._toolbox, self._recipe)


def _deadline() -> float:
    return time.monotonic() + _LED_SECONDS_MAX
