"""The `odradek` command: quick, one red line for an error, and exit codes that scripts can use."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import odradek
from odradek.cli.commands import run
from odradek.cli.main import main

COMMANDS = (
    ["topics", "create"],
    ["topics", "list"],
    ["topics", "describe"],
    ["topics", "alter"],
    ["topics", "delete"],
    ["produce"],
    ["consume"],
    ["groups", "list"],
    ["groups", "describe"],
    ["groups", "reset-offsets"],
    ["groups", "delete"],
    ["groups", "delete-offsets"],
    ["transactions", "list"],
    ["transactions", "describe"],
    ["transactions", "describe-producers"],
    ["transactions", "abort"],
    ["transactions", "find-hanging"],
    ["configs", "describe"],
    ["configs", "alter"],
    ["log-dirs"],
    ["delete-records"],
    ["api-versions"],
    ["dump-log"],
)
OFFLINE = ["dump-log"]


def test_the_way_to_the_broker_loads_no_command_line_library() -> None:
    """`odradek broker` must start in a blink: Typer, Rich and confluent-kafka stay out."""
    heavy = "{'typer', 'rich', 'confluent_kafka', 'asyncio'}"
    code = f"import sys, odradek.cli.main; assert not {heavy} & set(sys.modules)"
    source = Path(odradek.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(source)})


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"odradek {odradek.__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name[0] in text for name in COMMANDS)
    assert "broker" in text


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_examples(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Examples:" in text
    assert f"$ odradek {' '.join(command)}" in text or "| odradek produce" in text
    assert ("--bootstrap-server" in text) is (command != OFFLINE)
    assert "--json" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["topics"],
        ["topics", "create"],
        ["topics", "create", "a", "--partitions", "0"],
        ["topics", "create", "a", "--partitions", "1", "--replica-assignment", "1"],
        ["topics", "alter", "a"],
        ["configs", "describe", "--entity-type", "planets"],
        ["configs", "alter", "--entity-type", "topics", "--entity-name", "t"],
        ["consume", "a", "--json", "--format", "%s"],
        ["consume", "a", "--group", "g", "--offset", "5"],
        ["delete-records", "--topic", "a"],
        ["groups", "list", "--state", "asleep"],
        ["groups", "describe"],
        ["groups", "describe", "g", "--all-groups"],
        ["groups", "describe", "g", "--members", "--state"],
        ["groups", "delete"],
        ["groups", "delete-offsets", "g"],
        ["groups", "delete-offsets", "g", "--group", "h", "--topic", "t"],
        ["groups", "reset-offsets", "g", "--topic", "t"],
        ["groups", "reset-offsets", "g", "--to-earliest"],
        ["groups", "reset-offsets", "g", "--topic", "t", "--to-earliest", "--to-latest"],
        ["groups", "reset-offsets", "g", "--topic", "t", "--all-topics", "--to-latest"],
        ["groups", "reset-offsets", "g", "--topic", "t", "--to-offset", "-1"],
        ["groups", "reset-offsets", "g", "--topic", "t", "--by-duration", "1 hour"],
        ["groups", "reset-offsets", "g", "--topic", "t", "--to-datetime", "yesterday"],
        ["groups", "reset-offsets", "g", "--topic", "t", "--to-latest", "--execute", "--dry-run"],
        ["transactions", "abort", "--topic", "t", "--partition", "0"],
        ["transactions", "abort", "--topic", "t", "--partition", "0", "--producer-id", "1"],
        ["transactions", "find-hanging"],
        ["transactions", "find-hanging", "--broker-id", "1", "--partition", "0"],
    ],
    ids=" ".join,
)
def test_wrong_use_ends_with_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def unreachable() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize(
    "arguments",
    [
        *(["topics", "list"], ["produce", "t"], ["consume", "t"], ["log-dirs"]),
        *(["groups", "list"], ["groups", "describe", "g"], ["transactions", "list"]),
    ],
    ids=" ".join,
)
def test_a_broker_that_is_not_there_is_one_line_on_stderr_and_code_1(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = unreachable()
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", server)
    assert run(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"error: no broker answers at {server} (connection refused): is it running? "
        "start one with `odradek broker`\n"
    )


def test_an_option_beats_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", "nowhere.invalid:1")
    server = unreachable()
    assert run(["topics", "list", "--bootstrap-server", server]) == 1
    assert server in capsys.readouterr().err
