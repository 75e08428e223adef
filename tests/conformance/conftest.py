"""Clients of other languages, each a small program that talks TAP ("ok 1 - name", "not ok 2 - name # why").

A program runs once per worker; each of its checks is a test of its own. Programs are built into a cache
folder outside the tree. What cannot be built without a network is skipped, unless
`ODRADEK_CONFORMANCE=all` asks for it (then packages are fetched, and a failure to do so is still a skip).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

FETCH = os.environ.get("ODRADEK_CONFORMANCE") == "all"
_TAP = re.compile(r"^(ok|not ok) \d+ - ([^#\n]*?)(?: # (.*))?$", re.MULTILINE)


@pytest.fixture(scope="session")
def conformance_cache() -> Path:
    """Where built programs and fetched packages lie."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "odradek-conformance"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def may_fetch() -> bool:
    """Whether packages may be fetched from the network."""
    return FETCH


@pytest.fixture(scope="session")
def build() -> Callable[..., None]:
    """`build(command, cwd, env)`: run a build step; what does not build here is skipped."""

    def run(command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> None:
        try:
            done = subprocess.run(
                command, cwd=cwd, env={**os.environ, **(env or {})},
                capture_output=True, text=True, timeout=240, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            pytest.skip(f"{command[0]} took too long")
        if done.returncode != 0:
            hint = "" if FETCH else "; ODRADEK_CONFORMANCE=all lets it fetch packages"
            pytest.skip(f"cannot be built here{hint}: {done.stderr.strip()[-300:]}")

    return run


class Report(dict[str, str | None]):
    """What a program said: for each check None, or why it failed."""

    output = ""

    def expect(self, name: str) -> None:
        assert name in self, f"{name} was never reached:\n{self.output[-3000:]}"
        assert self[name] is None, f"{self[name]}\n{self.output[-2000:]}"


@pytest.fixture(scope="session")
def run_tap() -> Callable[..., Report]:
    """`run_tap(command)`: run a program to its end and read its report."""

    def run(command: Sequence[str], cwd: Path | None = None, timeout: float = 120) -> Report:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
        )
        report = Report()
        report.output = f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        for verdict, name, why in _TAP.findall(done.stdout):
            report[name.strip()] = None if verdict == "ok" else why or "failed"
        return report

    return run


@pytest.fixture(scope="session")
def go_program(conformance_cache: Path, build: Callable[..., None]) -> Callable[[Path], str]:
    """`go_program(folder)`: the built program; from modules in Go's cache unless fetching is allowed."""
    if shutil.which("go") is None:
        pytest.skip("needs go")

    def built(folder: Path) -> str:
        program = conformance_cache / folder.name
        env = {"GOFLAGS": "-mod=readonly", **({} if FETCH else {"GOPROXY": "off"})}
        build(["go", "build", "-o", str(program), "."], folder, env)
        return str(program)

    return built
