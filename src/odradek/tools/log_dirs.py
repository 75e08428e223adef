"""`odradek log-dirs`: which broker keeps which partitions where, and how large they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Final

import typer

from odradek.client.nodes import LogDir
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
from odradek.tools.topics import select_topics
from odradek.types import TopicPartition

EPILOG: Final = examples(
    "odradek log-dirs",
    "odradek log-dirs --topic-list orders,payments --broker-list 1,2 --json",
)


def log_dirs(
    topic_list: Annotated[
        str | None, typer.Option("--topic-list", metavar="TOPIC,…", help="Only these topics.")
    ] = None,
    broker_list: Annotated[
        str | None, typer.Option("--broker-list", metavar="ID,…", help="Only these brokers.")
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show the log directories of brokers and the partitions in them."""
    node_ids = parse_ids(broker_list)
    with connect(bootstrap_server) as client:
        partitions = None
        if topic_list is not None:
            partitions = [
                TopicPartition(topic.name, partition.index)
                for topic in select_topics(client, topic_list)
                for partition in topic.partitions
            ]
        found = client.describe_log_dirs(node_ids, partitions)
    if as_json:
        print_json(document(found))
    else:
        print_table(found)
    report(dirs for dirs in found.values() if isinstance(dirs, ApiError))


def parse_ids(text: str | None) -> list[int] | None:
    """Broker ids separated by commas; None: all."""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a list of broker ids", param_hint="--broker-list"
        ) from None


def document(found: Mapping[int, tuple[LogDir, ...] | ApiError]) -> dict[str, object]:
    """The shape that kafka-log-dirs prints."""
    return {
        "version": 1,
        "brokers": [
            {"broker": node_id, "logDirs": [_dir_document(log_dir) for log_dir in dirs]}
            for node_id, dirs in found.items()
            if not isinstance(dirs, ApiError)
        ],
    }


def _dir_document(log_dir: LogDir) -> dict[str, object]:
    return {
        "logDir": log_dir.path,
        "error": None if log_dir.error is None else log_dir.error.message,
        "totalBytes": log_dir.total_bytes,
        "usableBytes": log_dir.usable_bytes,
        "partitions": [
            {
                "partition": str(replica.partition),
                "size": replica.size_bytes,
                "offsetLag": replica.offset_lag,
                "isFuture": replica.is_future,
            }
            for replica in log_dir.replicas
        ],
    }


def print_table(found: Mapping[int, tuple[LogDir, ...] | ApiError]) -> None:
    """A table for people."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("BROKER", "LOG DIR", "PARTITION"):
        table.add_column(heading)
    for heading in ("BYTES", "LAG"):
        table.add_column(heading, justify="right")
    for node_id, log_dir in _dirs(found):
        if log_dir.error is not None:
            table.add_row(str(node_id), log_dir.path, f"offline: {log_dir.error.message}", "", "")
        for replica in log_dir.replicas:
            future = " (future)" if replica.is_future else ""
            table.add_row(
                str(node_id),
                log_dir.path,
                f"{replica.partition}{future}",
                str(replica.size_bytes),
                str(replica.offset_lag),
            )
    Console(soft_wrap=True).print(table)


def _dirs(
    found: Mapping[int, tuple[LogDir, ...] | ApiError],
) -> Iterable[tuple[int, LogDir]]:
    for node_id, dirs in found.items():
        if not isinstance(dirs, ApiError):
            for log_dir in dirs:
                yield node_id, log_dir
