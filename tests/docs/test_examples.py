"""What the README and the guide to testing show works when it is copied and pasted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.testing import EmbeddedBroker

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TESTING = ROOT / "docs" / "testing.md"
DEFAULT_ADDRESS = "127.0.0.1:9092"


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def _steps(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output shown below it."""
    steps: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], ""))
        else:
            command, output = steps[-1]
            steps[-1] = (command, output + line + "\n")
    return steps


def test_the_first_screen_works() -> None:
    """The README's walk: create a topic, produce, consume, each with the output it shows."""
    start, walk = _blocks(README, "console")[:2]
    assert [command for command, _ in _steps(start)][-1] == "odradek broker"
    with EmbeddedBroker() as broker:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ODRADEK_BOOTSTRAP_SERVER": broker.bootstrap_servers,
        }
        for command, output in _steps(walk):
            done = subprocess.run(
                ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout == output
        client = _blocks(README, "python")[0].replace(DEFAULT_ADDRESS, broker.bootstrap_servers)
        subprocess.run([sys.executable, "-c", client], check=True, timeout=60)


@pytest.mark.parametrize("page", [README, TESTING], ids=lambda page: page.name)
def test_the_python_examples_run(page: Path, tmp_path: Path) -> None:
    """Examples that are tests pass under pytest with the plug-in; the others run as they are."""
    for number, block in enumerate(_blocks(page, "python")):
        if DEFAULT_ADDRESS in block:
            continue  # needs the broker of the first screen
        file = tmp_path / f"test_example_{number}.py"
        file.write_text(block)
        command = [sys.executable, str(file)]
        if "def test_" in block:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
