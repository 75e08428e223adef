"""The two brokers as processes: spawned, timed and ended in the same way.

Apache Kafka's command line and properties are learned once from `kafka-peer up`; after that Kafka, like
Odradek, is a direct child of the benchmark, so that both starts are timed from the spawn to the first
Metadata answer that names a broker. Formatting Kafka's folder (another JVM) is not part of its time.
"""

from __future__ import annotations

import base64
import contextlib
import os
import random
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from benchmarks import process, wire
from benchmarks.process import MeasureError
from benchmarks.toolbox import KAFKA_PEER, Toolbox

#: Kafka after a crash with 2,000 partitions took up to 30 s on a busy machine.
START_SECONDS_MAX: Final = 120.0
#: Below the range Linux takes client ports from, so that no client connection is in the way.
_PORTS: Final = range(20_000, 32_000, 2)


class Kind(Enum):
    """Who is measured."""

    KAFKA = "kafka"
    ODRADEK = "odradek"


class Broker(ABC):
    """One broker with a port and a data folder; it may be started and ended many times."""

    kind: Kind

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        self._prepare()

    @property
    def bootstrap(self) -> str:
        """Where clients connect."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None, "not running"
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it was started and still runs."""
        return self._process is not None and self._process.poll() is None

    @property
    @abstractmethod
    def log_dir(self) -> Path:
        """The folder with the partition folders."""

    @abstractmethod
    def _prepare(self) -> None:
        """Whatever has to happen once before the first start."""

    @abstractmethod
    def _command(self) -> list[str]: ...

    def start(self) -> float:
        """Start; gives the seconds from the spawn to the first Metadata answer."""
        assert self._process is None, "already running"
        began = time.monotonic()
        self._process = running = process.spawn(self._command(), self.folder / "output.log")
        if not wire.wait_until_serving(
            self.port, lambda: running.poll() is None, began + START_SECONDS_MAX
        ):
            code = running.poll()
            self.kill()
            raise MeasureError(
                f"{self.kind.value} did not start (exit code {code}): {self._last_words()}"
            )
        return time.monotonic() - began

    def stop(self) -> float:
        """Stop cleanly; gives the seconds it took."""
        began = time.monotonic()
        if self._process is not None:
            process.stop(self._process)
            self._process = None
        return time.monotonic() - began

    def kill(self) -> None:
        """Crash it."""
        if self._process is not None:
            process.kill(self._process)
            self._process = None

    def remove(self) -> None:
        """End it and forget its data."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep_log(self, path: Path) -> None:
        """Copy what it printed to where it survives the run."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(self.folder / "output.log", path)

    def _last_words(self) -> str:
        lines = (self.folder / "output.log").read_text(errors="replace").strip().splitlines()
        return " / ".join(lines[-3:])[:400]


class Odradek(Broker):
    """`odradek broker`, defaults except where it listens and keeps its data, and the peer's delay."""

    kind = Kind.ODRADEK

    def __init__(self, folder: Path, toolbox: Toolbox) -> None:
        self._program = toolbox.odradek
        super().__init__(folder)

    @property
    def log_dir(self) -> Path:
        return self.folder / "logs"

    def _prepare(self) -> None:
        """Nothing: it makes what it needs when it starts."""

    def _command(self) -> list[str]:
        return [
            *self._program,
            "broker",
            "--set",
            f"listeners=PLAINTEXT://{self.bootstrap}",
            "--set",
            f"log.dirs={self.log_dir}",
            "--set",
            "odradek.http.listener=",
            # As the peer's properties have it: a group is measured, not the wait for its members.
            "--set",
            "group.initial.rebalance.delay.ms=0",
        ]


@dataclass(frozen=True, slots=True)
class KafkaRecipe:
    """How the peer's script runs Kafka: command line and properties, for one folder and port."""

    command: tuple[str, ...]
    properties: str
    folder: str
    port: int

    @staticmethod
    def learn(folder: Path) -> KafkaRecipe:
        """Let the script start a Kafka, look at it, end it."""
        port = _free_port()
        folder = folder.resolve()
        try:
            process.run([KAFKA_PEER, "up", str(port), folder], seconds_max=300)
            pid = (folder / "peer.pid").read_text().strip()
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
            properties = (folder / "server.properties").read_text()
        finally:
            process.run([KAFKA_PEER, "down", folder], seconds_max=120)
            shutil.rmtree(folder, ignore_errors=True)
        command = tuple(word.decode() for word in words)
        return KafkaRecipe(command, properties, str(folder), port)

    def command_for(self, folder: Path) -> list[str]:
        """The command line for another folder."""
        return [word.replace(self.folder, str(folder)) for word in self.command]

    def properties_for(self, folder: Path, port: int) -> str:
        """The properties for another folder and port (the controller listens on the next one)."""
        text = self.properties.replace(self.folder, str(folder))
        text = text.replace(f":{self.port + 1}", f":{port + 1}")
        return text.replace(f":{self.port}", f":{port}")


class Kafka(Broker):
    """Apache Kafka, one combined KRaft node, as the peer's script would run it."""

    kind = Kind.KAFKA

    def __init__(self, folder: Path, toolbox: Toolbox, recipe: KafkaRecipe) -> None:
        self._toolbox = toolbox
        self._recipe = recipe
        super().__init__(folder.resolve())

    @property
    def log_dir(self) -> Path:
        return self.folder / "logs"

    def _prepare(self) -> None:
        properties = self.folder / "server.properties"
        properties.write_text(self._recipe.properties_for(self.folder, self.port))
        cluster_id = "k" + base64.urlsafe_b64encode(os.urandom(16)).decode()[1:22]
        arguments = ["format", "-t", cluster_id, "-c", str(properties)]
        self._toolbox.kafka_tool("storage", arguments, seconds_max=120)

    def _command(self) -> list[str]:
        return self._recipe.command_for(self.folder)


def _free_port() -> int:
    """A port that is free together with the one after it."""
    for port in random.sample(_PORTS, len(_PORTS)):
        try:
            for candidate in (port, port + 1):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
        except OSError:
            continue
        return port
    raise MeasureError("no free port")
