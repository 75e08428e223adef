"""`odradek delete-records`: move the start of partitions forward, older records are gone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from odradek.client import TO_THE_END, require
from odradek.client.sync import Client
from odradek.errors import ApiError
from odradek.tools.console import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    BootstrapServer,
    connect,
    examples,
    print_json,
    report,
)
from odradek.types import TopicPartition

EPILOG: Final = examples(
    "odradek delete-records --topic orders --partition 0 --before 1000",
    "odradek delete-records --topic orders --before end",
    "odradek delete-records --offset-json-file offsets.json",
)


def delete_records(
    topic: Annotated[str | None, typer.Option("--topic", help="Records of this topic.")] = None,
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", min=0, help="Only this one; may be repeated."),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="OFFSET|end", help="The first offset to keep."),
    ] = None,
    offset_json_file: Annotated[
        Path | None,
        typer.Option(
            "--offset-json-file",
            exists=True,
            dir_okay=False,
            help='As kafka-delete-records reads it: {"partitions": …, "version": 1}.',
        ),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete all records before an offset."""
    by_topic = topic is not None and before is not None
    if by_topic == (offset_json_file is not None):
        raise typer.BadParameter("give --topic and --before, or --offset-json-file")
    with connect(bootstrap_server) as client:
        if topic is not None and before is not None:
            wanted = dict.fromkeys(_places(client, topic, partition), parse_before(before))
        else:
            assert offset_json_file is not None
            wanted = parse_document(offset_json_file.read_text())
        outcomes = client.delete_records(wanted)
    marks = {
        place: outcome for place, outcome in outcomes.items() if not isinstance(outcome, ApiError)
    }
    if as_json:
        print_json({str(place): mark.offset for place, mark in marks.items()})
    else:
        for place, mark in marks.items():
            typer.echo(f"partition: {place}\tlow_watermark: {mark.offset}")
    report(
        ApiError(outcome.err, f"{place}: {outcome.message}")
        for place, outcome in outcomes.items()
        if isinstance(outcome, ApiError)
    )


def parse_before(text: str) -> int:
    """The first offset to keep, or the end."""
    if text in ("end", "-1"):
        return TO_THE_END
    if not text.isdigit():
        raise typer.BadParameter(f"{text!r} is neither an offset nor end", param_hint="--before")
    return int(text)


def parse_document(text: str) -> dict[TopicPartition, int]:
    """kafka-delete-records' JSON file."""
    try:
        rows = json.loads(text)["partitions"]
        return {
            TopicPartition(str(row["topic"]), int(row["partition"])): int(row["offset"])
            for row in rows
        }
    except (ValueError, KeyError, TypeError) as error:
        raise typer.BadParameter(
            'expected {"partitions": [{"topic": "t", "partition": 0, "offset": 5}], "version": 1}, '
            f"but: {error!r}",
            param_hint="--offset-json-file",
        ) from None


def _places(client: Client, topic: str, partitions: list[int] | None) -> list[TopicPartition]:
    if partitions:
        return [TopicPartition(topic, index) for index in partitions]
    found = client.metadata([topic]).topics[topic]
    if not found.partitions:
        require(ApiError(found.err, f"topic '{topic}' does not exist"))
    return [TopicPartition(topic, partition.index) for partition in found.partitions]
