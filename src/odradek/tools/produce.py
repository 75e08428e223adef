"""`odradek produce`: each line of stdin or a file becomes a record.

End of input and Ctrl-C both send what was typed and wait until the broker has it. stdout stays
empty (or holds one JSON summary), progress and errors go to stderr.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from odradek.errors import ApiError
from odradek.tools.console import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    BootstrapServer,
    examples,
    print_json,
    report,
    split_pairs,
)
from odradek.tools.rdkafka import (
    Properties,
    RdSettings,
    base_settings,
    check_reachable,
    translate,
)

EPILOG: Final = examples(
    "echo hello | odradek produce orders",
    "odradek produce orders --file lines.txt --key-separator : --compression zstd",
    "printf 'k1:' | odradek produce state --key-separator : --null-value",
)
# After this long a record that cannot be delivered is an error; librdkafka's five minutes are too
# long for somebody who waits.
_DELIVERY_TIMEOUT_MS: Final = 30_000
# How long a topic may stay unknown (it may be created by this very request).
_TOPIC_WAIT_MS: Final = 5_000
_QUEUE_FULL_WAIT_S: Final = 0.1
# Errors are mostly the same one; more lines than this only scroll the first out of sight.
_ERRORS_SHOWN_MAX: Final = 5


class Acks(StrEnum):
    """How many replicas must have a record before it counts."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class Compression(StrEnum):
    """Kafka's codecs."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class KeyValue(NamedTuple):
    """The two parts of a line."""

    key: bytes | None
    value: bytes | None


@dataclass(slots=True)
class Tally:
    """What became of the records, filled by delivery reports."""

    delivered: int = 0
    failed: int = 0
    errors: list[ApiError] = field(default_factory=list)
    by_partition: Counter[int] = field(default_factory=Counter)

    def on_delivery(self, error: Any, message: Any) -> None:
        """Librdkafka's report about one record."""
        if error is None:
            self.delivered += 1
            self.by_partition[message.partition()] += 1
            return
        self.failed += 1
        if len(self.errors) < _ERRORS_SHOWN_MAX:
            words = f"topic '{message.topic()}' does not exist and the broker does not create it"
            self.errors.append(translate(error, words))


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where to write.")],
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", exists=True, dir_okay=False, help="Read this, not stdin."),
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-K", help="What is before this in a line is the key."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, help="Not the key's but this one.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="KEY=VALUE", help="A header; may be repeated."),
    ] = None,
    acks: Annotated[Acks, typer.Option("--acks", help="Replicas to wait for.")] = Acks.ALL,
    compression: Annotated[
        Compression, typer.Option("--compression", "-z", help="Codec of the batches.")
    ] = Compression.NONE,
    timestamp: Annotated[
        int | None, typer.Option("--timestamp", min=0, help="Milliseconds since 1970; default now.")
    ] = None,
    null_value: Annotated[
        bool,
        typer.Option("--null-value", help="Send null where a value is empty: a delete, by key."),
    ] = False,
    properties: Properties = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Write lines as records to a topic."""
    headers = [
        (key, value.encode()) for key, value in split_pairs(header or (), "--header").items()
    ]
    extra = split_pairs(properties or (), "--property")
    check_reachable(bootstrap_server, extra)
    settings: RdSettings = {
        **base_settings(bootstrap_server),
        "acks": acks.value,
        "compression.type": compression.value,
        "message.timeout.ms": _DELIVERY_TIMEOUT_MS,
        "topic.metadata.propagation.max.ms": _TOPIC_WAIT_MS,
        **extra,
    }
    fixed: dict[str, Any] = {"topic": topic, "headers": headers or None}
    if partition is not None:
        fixed["partition"] = partition
    if timestamp is not None:
        fixed["timestamp"] = timestamp
    separator = key_separator.encode() if key_separator else None
    records = (parse_line(line, separator, null_value) for line in read_lines(file))
    tally = send_all(settings, records, fixed)
    if as_json:
        partitions = {str(index): count for index, count in sorted(tally.by_partition.items())}
        print_json(
            {
                "topic": topic,
                "delivered": tally.delivered,
                "failed": tally.failed,
                "partitions": partitions,
            }
        )
    report(tally.errors)


def parse_line(line: bytes, separator: bytes | None, null_value: bool = False) -> KeyValue:
    """A line's key and value; a line without the separator is a value without a key, as in kcat."""
    key: bytes | None = None
    value: bytes | None = line
    if separator is not None and separator in line:
        key, _, value = line.partition(separator)
    if null_value and not value:
        value = None
    return KeyValue(key, value)


def read_lines(file: Path | None) -> Iterator[bytes]:
    """Lines without their ends; a prompt when a person types them, progress when a file is read."""
    if file is not None:
        from rich import progress
        from rich.console import Console

        console = Console(stderr=True)
        with progress.open(
            file,
            "rb",
            description=file.name,
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as lines:
            for line in lines:
                yield _without_end(line)
        return
    typed = sys.stdin.isatty()
    while True:
        if typed:
            typer.echo(">", nl=False, err=True)
        line = sys.stdin.buffer.readline()
        if not line:
            return
        yield _without_end(line)


def send_all(settings: RdSettings, records: Iterator[KeyValue], fixed: dict[str, Any]) -> Tally:
    """Send records until they end or Ctrl-C, then wait for every report."""
    from confluent_kafka import KafkaException, Producer

    tally = Tally()
    try:
        producer = Producer(settings)
    except KafkaException as error:
        raise translate(error.args[0]) from None
    try:
        for record in records:
            _send(producer, record, fixed, tally)
            if tally.failed:
                break
    except KeyboardInterrupt:
        pass  # the way to end typing: what was typed so far is sent below
    producer.flush()
    return tally


def _send(producer: Any, record: KeyValue, fixed: dict[str, Any], tally: Tally) -> None:
    from confluent_kafka import KafkaException

    while True:
        try:
            producer.produce(
                key=record.key, value=record.value, on_delivery=tally.on_delivery, **fixed
            )
        except BufferError:
            producer.poll(_QUEUE_FULL_WAIT_S)
            continue
        except KafkaException as error:
            raise translate(error.args[0]) from None
        producer.poll(0)
        return


def _without_end(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")
