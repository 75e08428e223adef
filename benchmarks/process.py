"""Child processes and what the kernel says about them.

Every child is bounded in time and ended by its own pid. Brokers also get a parent-death signal: if the
benchmark itself is killed, nothing of it keeps running.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_STOP_SECONDS_MAX: Final = 90.0  # Kafka needs 10-15 s to close 2,000 partitions


class MeasureError(Exception):
    """A measurement could not be made; the text says why and ends up in the report."""


class SkipError(Exception):
    """A measurement does not apply here (a program or disk space is missing)."""


def run(command: Sequence[str | Path], *, seconds_max: float, stdout: int = subprocess.PIPE) -> str:
    """Run a program to its end and give what it printed."""
    words = [str(word) for word in command]
    name = Path(words[0]).name
    child = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    try:
        printed, said = child.communicate(timeout=seconds_max)
    except subprocess.TimeoutExpired as error:
        raise MeasureError(f"{name} took longer than {seconds_max:.0f} s") from error
    finally:
        if child.returncode is None:
            # A tool may be a script around a JVM: the session is the program with its children.
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if child.returncode != 0:
        last = said.decode(errors="replace").strip().splitlines()[-3:]
        raise MeasureError(f"{name} ended with {child.returncode}: {' / '.join(last)[:300]}")
    return (printed or b"").decode(errors="replace")


def spawn(command: Sequence[str | Path], output: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a program that stays; its output goes to a file, or to a pipe that the caller reads."""
    with open(output or os.devnull, "ab") as sink:
        return subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=sink if output else subprocess.PIPE,
            stderr=subprocess.STDOUT if output else sink,
            start_new_session=True,  # Ctrl-C is for the benchmark, which ends its children in order
            env=_as_installed(),
            preexec_fn=_die_with_parent,
        )


def _as_installed() -> dict[str, str]:
    """This environment, but Python may keep its bytecode: an installed package has it compiled."""
    return {name: v for name, v in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a program politely, then not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a program as a crash does."""
    if process.poll() is None:
        process.kill()
    process.wait(_STOP_SECONDS_MAX)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads."""
    # pid (comm) state ppid … utime stime …: the 14th and 15th field; comm may contain spaces.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def rss_bytes(pid: int) -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise MeasureError(f"process {pid} is gone")


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
