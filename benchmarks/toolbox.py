"""Where the programs are that a run needs, and whether they are there at all.

Everything is found relative to the repository or on PATH. The peers lie beside the repository; without
them there is nothing to compare with.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from benchmarks.process import MeasureError, run
from benchmarks.shapes import Needs

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD: Final = ROOT / "build" / "bench"
PEERS: Final = ROOT.parent / "shared" / "peers"
KAFKA_PEER: Final = PEERS / "kafka-peer"
KAFKA_LIBS: Final = PEERS / "kafka-libs"
_RAWLOAD_SOURCE: Final = PEERS / "rawload"


@dataclass(frozen=True)
class Toolbox:
    """The programs of this machine."""

    def peer_missing(self) -> str | None:
        """Why there can be no comparison, or None."""
        if not KAFKA_PEER.exists():
            return "../shared/peers/kafka-peer is not there: nothing to compare with"
        if shutil.which("java") is None:
            return "java is not on PATH: Apache Kafka cannot run"
        return None

    def missing(self, need: Needs) -> str | None:
        """Why an experiment with this need is skipped, or None."""
        match need:
            case Needs.KCAT:
                return None if shutil.which("kcat") else "kcat is not on PATH"
            case Needs.RAWLOAD:
                try:
                    self.rawload.stat()
                except MeasureError as error:
                    return str(error)
                return None

    @property
    def odradek(self) -> list[str]:
        """The command of the installed broker."""
        installed = Path(sys.executable).with_name("odradek")
        return [str(installed)] if installed.exists() else [sys.executable, "-m", "odradek"]

    @cached_property
    def rawload(self) -> Path:
        """The raw load client, built once per source into the user's cache."""
        if not (_RAWLOAD_SOURCE / "main.go").exists():
            raise MeasureError("../shared/peers/rawload is not there")
        digest = hashlib.sha256((_RAWLOAD_SOURCE / "main.go").read_bytes()).hexdigest()[:12]
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "odradek-bench"
        program = cache / f"rawload-{digest}"
        if not program.exists():
            if shutil.which("go") is None:
                raise MeasureError("go is not on PATH: the raw load client cannot be built")
            cache.mkdir(parents=True, exist_ok=True)
            run(
                ["go", "-C", _RAWLOAD_SOURCE, "build", "-buildvcs=false", "-o", program, "."],
                seconds_max=300,
            )
        return program

    def kafka_tool(self, name: str, arguments: Sequence[str], *, seconds_max: float) -> str:
        """Run one of Kafka's own tools."""
        return run([KAFKA_PEER, "tool", name, *arguments], seconds_max=seconds_max)
