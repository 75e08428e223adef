"""What all commands share: options, words on stderr, JSON on stdout, examples in the help.

stdout carries data only: what was asked for, or with `--json` one JSON document. Everything said
about the work (errors, warnings, progress) goes to stderr, coloured when that is a terminal. A
command that fails ends with code 1 and one red line; wrong options end with code 2.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import typer

from odradek.client.sync import Client
from odradek.errors import ApiError, Err

DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"

BootstrapServer = Annotated[
    str,
    typer.Option(
        "--bootstrap-server",
        "-b",
        envvar="ODRADEK_BOOTSTRAP_SERVER",
        metavar="HOST:PORT",
        help="One or more brokers to ask first, separated by commas.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def examples(*commands: str) -> str:
    """The end of a command's help: a line per example."""
    return "\n\n".join(["Examples:", *(f"$ {command}" for command in commands)])


def connect(bootstrap_server: str) -> Client:
    """A client for one command."""
    return Client(bootstrap_server)


def print_json(document: object) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(document, ensure_ascii=False))


def print_error(message: str) -> None:
    """One red line on stderr."""
    typer.secho(f"error: {_one_line(message)}", fg=typer.colors.RED, err=True)


def print_warning(message: str) -> None:
    """One yellow line on stderr."""
    typer.secho(f"WARNING: {_one_line(message)}", fg=typer.colors.YELLOW, err=True)


def report(errors: Iterable[ApiError]) -> None:
    """Print what went wrong; end with code 1 if anything did."""
    failed = False
    for error in errors:
        print_error(describe(error))
        failed = True
    if failed:
        raise typer.Exit(1)


def describe(error: ApiError) -> str:
    """An error's words, with the name of its code where the words alone would say little."""
    if error.message and error.message != error.err.text:
        return error.message
    name = error.err.name if error.err is not Err.NONE else "UNKNOWN"
    return f"{error.message or 'the broker refused'} ({name})"


def split_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` texts of a repeated option as a dict."""
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=option)
        pairs[key.strip()] = value
    return pairs


def failures(outcomes: Mapping[str, object]) -> list[ApiError]:
    """The errors among the outcomes of several things."""
    return [outcome for outcome in outcomes.values() if isinstance(outcome, ApiError)]


def _one_line(message: str) -> str:
    return " ".join(message.split())
