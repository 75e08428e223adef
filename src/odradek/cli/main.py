"""The entry point of `odradek`.

A broker must start in a blink, so this module imports nothing at first: `odradek broker` goes
straight to its own module and its argparse. Only the other commands load Typer and Rich.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; gives its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    match arguments:
        case ["broker", *rest]:
            from odradek.cli import broker

            return broker.main(rest)
        case ["--version"]:
            import odradek

            print(f"odradek {odradek.__version__}")
            return 0
        case _:
            from odradek.cli import commands

            return commands.run(arguments)
