"""`odradek dump-log`: what is in the files of a log, in the form of kafka-dump-log.

Works on files, not on a broker, also while one uses them: then the last batch may be seen half
written. The text is Kafka's, so that what people search for is found; `--json` gives one object a
line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from odradek.tools.console import examples
from odradek.tools.offline.dump import dump_file
from odradek.tools.offline.dump_segment import DumpOptions
from odradek.tools.offline.rows import Kind, as_json, as_text

EPILOG: Final = examples(
    "odradek dump-log --print-data-log orders-0/00000000000000000000.log",
    "odradek dump-log --verify-index-only orders-0/*.index orders-0/*.timeindex",
)


def dump_log(
    files: Sequence[Path],
    print_data_log: bool = False,
    deep_iteration: bool = False,
    json: bool = False,
    verify_index: bool = False,
    *,
    index_sanity_check: bool = False,
    skip_record_metadata: bool = False,
    max_bytes: int = 2**31 - 1,
    echo: Callable[[str], None] = print,
) -> int:
    """Show files; gives the number of problems that were found in them."""
    options = DumpOptions(
        print_data_log=print_data_log,
        deep_iteration=deep_iteration,
        skip_record_metadata=skip_record_metadata,
        verify_index_only=verify_index,
        index_sanity_check=index_sanity_check,
        max_bytes=max_bytes,
    )
    shown = as_json if json else as_text
    problem_count = 0
    for path in files:
        for row in dump_file(path, options):
            problem_count += row.kind is Kind.PROBLEM
            echo(shown(str(path), row))
    return problem_count


def dump_log_command(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Files of a log dir.")
    ] = None,
    files: Annotated[
        str | None, typer.Option("--files", metavar="FILE,FILE", help="The same, with commas.")
    ] = None,
    print_data_log: Annotated[
        bool, typer.Option("--print-data-log", help="Show keys and values, too.")
    ] = False,
    deep_iteration: Annotated[
        bool, typer.Option("--deep-iteration", help="Show records, not only batches.")
    ] = False,
    verify_index_only: Annotated[
        bool, typer.Option("--verify-index-only", help="Compare indexes with their logs.")
    ] = False,
    index_sanity_check: Annotated[
        bool, typer.Option("--index-sanity-check", help="Check indexes as a broker's start does.")
    ] = False,
    skip_record_metadata: Annotated[
        bool, typer.Option("--skip-record-metadata", help="Of records, show only the data.")
    ] = False,
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", min=0, help="Read no further into a log than this.")
    ] = 2**31 - 1,
    as_json_lines: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line.")
    ] = False,
) -> None:
    """Show what is in segments, indexes, snapshots and checkpoints."""
    chosen = [*(paths or ()), *(Path(name) for name in (files or "").split(",") if name)]
    if not chosen:
        raise typer.BadParameter("name at least one file, for example my-topic-0/*.log")
    problem_count = dump_log(
        chosen,
        print_data_log,
        deep_iteration,
        as_json_lines,
        verify_index_only,
        index_sanity_check=index_sanity_check,
        skip_record_metadata=skip_record_metadata,
        max_bytes=max_bytes,
        echo=typer.echo,
    )
    if problem_count:
        raise typer.Exit(1)
