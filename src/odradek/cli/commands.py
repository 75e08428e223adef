"""Every command but the broker, mounted: a line here for each module in `odradek.tools`.

`run` is the one place where an error becomes words and an exit code: 0 done, 1 failed, 2 wrong
use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import typer

import odradek
from odradek.errors import ApiError
from odradek.tools import (
    api_versions,
    classic,
    configs,
    consume,
    delete_records,
    dump_log,
    groups,
    log_dirs,
    produce,
    topics,
    transactions,
)
from odradek.tools.console import describe, print_error, print_warning

FAILED: Final = 1


def run(arguments: Sequence[str]) -> int:
    """Run a command line (without the program's name); gives the exit code."""
    try:
        translated = classic.translate(arguments)
        for note in translated.notes:
            print_warning(note)
        build_app()(args=list(translated.arguments), prog_name="odradek")
    except SystemExit as exit_:  # Typer's way to end, with code 2 after wrong use
        return exit_.code if isinstance(exit_.code, int) else FAILED
    except ApiError as error:
        print_error(describe(error))
        return FAILED
    except OSError as error:  # but a closed pipe, which Typer takes for the end it is
        print_error(f"{error.filename or 'input/output'}: {error.strerror}")
        return FAILED
    return 0


def build_app() -> typer.Typer:
    """The command tree."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help="A Kafka-compatible event streaming platform.",
    )
    app.callback()(_root)
    app.command(
        "broker",
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(_broker)
    app.add_typer(topics.app, name="topics")
    app.command("produce", epilog=produce.EPILOG)(produce.produce)
    app.command("consume", epilog=consume.EPILOG)(consume.consume)
    app.add_typer(groups.app, name="groups")
    app.add_typer(transactions.app, name="transactions")
    app.add_typer(configs.app, name="configs")
    app.command("log-dirs", epilog=log_dirs.EPILOG)(log_dirs.log_dirs)
    app.command("delete-records", epilog=delete_records.EPILOG)(delete_records.delete_records)
    app.command("dump-log", epilog=dump_log.EPILOG)(dump_log.dump_log_command)
    app.command("api-versions", epilog=api_versions.EPILOG)(api_versions.api_versions)
    return app


def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if version:
        typer.echo(f"odradek {odradek.__version__}")
        raise typer.Exit


def _broker(context: typer.Context) -> None:
    """Run one broker in the foreground; see `odradek broker --help`."""
    from odradek.cli import broker

    raise typer.Exit(broker.main(context.args))
