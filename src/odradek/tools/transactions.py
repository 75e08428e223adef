"""`odradek transactions`: look at transactions, and end those that hang, with the words of
kafka-transactions.

A transaction hangs when a partition waits for a marker that no coordinator will ever write (KIP-664):
readers of committed records then stop at its first record. `find-hanging` compares what partitions
have open with what coordinators know; `abort` writes the marker.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Annotated, Final

import typer

from odradek.client import require
from odradek.client.nodes import ActiveProducer
from odradek.client.sync import Client
from odradek.client.transactions import ANY_DURATION
from odradek.errors import ApiError, Err
from odradek.tools.columns import tab_table
from odradek.tools.console import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    BootstrapServer,
    connect,
    examples,
    print_json,
    print_warning,
    report,
)
from odradek.tools.hanging import OpenTransaction, hanging, open_for_longer
from odradek.types import NO_OFFSET, TopicPartition

app = typer.Typer(
    no_args_is_help=True, help="Look at transactions, and abort those that hang in a partition."
)
MINUTE_MS: Final = 60_000
# Partitions in one request, so that none is asked about all it has at once.
_PARTITIONS_MAX: Final = 500
_NONE: Final = "None"
_LIST: Final = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
_DESCRIBE: Final = (
    *("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"),
    *("TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs"),
    "TopicPartitions",
)
_PRODUCERS: Final = (
    *("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp"),
    "CurrentTransactionStartOffset",
)
_HANGING: Final = (
    *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset"),
    *("LastTimestamp", "Duration(min)"),
)

Topic = Annotated[str, typer.Option("--topic", help="The topic's name.")]
Partition = Annotated[int, typer.Option("--partition", min=0, help="The partition's number.")]


@app.command(
    "list",
    epilog=examples(
        "odradek transactions list",
        "odradek transactions list --duration-filter 60000 --transactional-id-pattern 'etl-.*'",
        "odradek transactions list --state Ongoing --json",
    ),
)
def list_(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", help="Only in this state (Ongoing, …); may be repeated."),
    ] = None,
    duration_filter: Annotated[
        int, typer.Option("--duration-filter", help="Only open for longer than so many ms.")
    ] = ANY_DURATION,
    pattern: Annotated[
        str | None,
        typer.Option("--transactional-id-pattern", help="Only ids that match this expression."),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """List transactional ids and their states."""
    with connect(bootstrap_server) as client:
        found = client.list_transactions(
            states=state or (), duration_ms=duration_filter, pattern=pattern
        )
    _print(
        _LIST,
        [
            (each.transactional_id, each.coordinator_id, each.producer_id, each.state)
            for each in found
        ],
        as_json,
    )


@app.command(epilog=examples("odradek transactions describe --transactional-id etl-1"))
def describe(
    transactional_id: Annotated[
        list[str], typer.Option("--transactional-id", help="The id; may be repeated.")
    ],
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Describe transactional ids: producer, state, since when, partitions."""
    with connect(bootstrap_server) as client:
        outcomes = client.describe_transactions(transactional_id)
    rows = []
    for each in outcomes.values():
        if isinstance(each, ApiError):
            continue
        is_open = each.start_time_ms >= 0
        rows.append(
            (
                each.coordinator_id,
                each.transactional_id,
                each.producer_id,
                each.producer_epoch,
                each.state,
                each.timeout_ms,
                each.start_time_ms if is_open else None,
                _now_ms() - each.start_time_ms if is_open else None,
                [str(place) for place in each.partitions],
            )
        )
    _print(_DESCRIBE, rows, as_json)
    report(each for each in outcomes.values() if isinstance(each, ApiError))


@app.command(
    epilog=examples("odradek transactions describe-producers --topic orders --partition 0")
)
def describe_producers(
    topic: Topic,
    partition: Partition,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Describe the producers that a partition knows, and which of them have something open."""
    place = TopicPartition(topic, partition)
    with connect(bootstrap_server) as client:
        producers = require(client.describe_producers([place])[place])
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
        )
        for each in producers
    ]
    _print(_PRODUCERS, rows, as_json)


@app.command(
    epilog=examples(
        "odradek transactions abort --topic orders --partition 0 --start-offset 4711",
        "odradek transactions abort --topic orders --partition 0 --producer-id 7 "
        "--producer-epoch 0 --coordinator-epoch 0",
    )
)
def abort(
    topic: Topic,
    partition: Partition,
    start_offset: Annotated[
        int | None,
        typer.Option("--start-offset", min=0, help="Where the transaction starts; enough alone."),
    ] = None,
    producer_id: Annotated[
        int | None, typer.Option("--producer-id", help="Whose it is, when given by hand.")
    ] = None,
    producer_epoch: Annotated[int | None, typer.Option("--producer-epoch")] = None,
    coordinator_epoch: Annotated[int | None, typer.Option("--coordinator-epoch")] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Abort a transaction in one partition, whatever its coordinator thinks of it."""
    by_hand = (producer_id, producer_epoch, coordinator_epoch)
    if (start_offset is None) == (None in by_hand):
        raise typer.BadParameter(
            "give --start-offset, or all of --producer-id, --producer-epoch, --coordinator-epoch"
        )
    place = TopicPartition(topic, partition)
    with connect(bootstrap_server) as client:
        if start_offset is not None:
            found = _starting_at(client, place, start_offset)
            # Until a marker is written, a partition knows of no coordinator; the first has epoch 0.
            by_hand = (found.producer_id, found.producer_epoch, max(found.coordinator_epoch, 0))
        producer, epoch, coordinator = (value or 0 for value in by_hand)
        client.abort_in_partition(
            place, producer_id=producer, producer_epoch=epoch, coordinator_epoch=coordinator
        )
    if as_json:
        print_json({"aborted": str(place), "producerId": producer, "producerEpoch": epoch})
    else:
        typer.echo(f"Aborted the transaction of producer {producer} in {place}.")


@app.command(
    epilog=examples(
        "odradek transactions find-hanging --broker-id 1",
        "odradek transactions find-hanging --topic orders --max-transaction-timeout 60",
    )
)
def find_hanging(
    broker_id: Annotated[
        int | None, typer.Option("--broker-id", help="Only partitions on this broker.")
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Only this topic.")] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", min=0, help="Only this partition of --topic.")
    ] = None,
    max_transaction_timeout: Annotated[
        int,
        typer.Option(
            "--max-transaction-timeout",
            min=0,
            metavar="MINUTES",
            help="Transactions may be open for so long: transaction.max.timeout.ms of the brokers.",
        ),
    ] = 15,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Find transactions that are open in a partition although no coordinator will end them."""
    if topic is None and broker_id is None:
        raise typer.BadParameter("where to look? give --topic or --broker-id")
    if partition is not None and topic is None:
        raise typer.BadParameter("of which topic? give --topic", param_hint="--partition")
    with connect(bootstrap_server) as client:
        places = _places(client, topic, partition, broker_id)
        now_ms = _now_ms()
        found: list[OpenTransaction] = []
        for start in range(0, len(places), _PARTITIONS_MAX):
            producers = client.describe_producers(places[start : start + _PARTITIONS_MAX])
            for place, outcome in producers.items():
                if isinstance(outcome, ApiError):
                    print_warning(f"{place} could not be looked at: {outcome.message}")
                    continue
                longest_ms = max_transaction_timeout * MINUTE_MS
                found += open_for_longer(place, outcome, now_ms, longest_ms)
        left = _without_a_coordinator(client, found)
    rows = [
        (
            *each.partition,
            each.producer.producer_id,
            each.producer.producer_epoch,
            each.producer.coordinator_epoch,
            each.producer.current_txn_start_offset,
            each.producer.last_timestamp,
            (now_ms - each.producer.last_timestamp) // MINUTE_MS,
        )
        for each in left
    ]
    _print(_HANGING, rows, as_json)


def _without_a_coordinator(
    client: Client, found: Sequence[OpenTransaction]
) -> list[OpenTransaction]:
    if not found:
        return []
    producer_ids = {each.producer.producer_id for each in found}
    listed = client.list_transactions(producer_ids=producer_ids)
    ids = {each.producer_id: each.transactional_id for each in listed}
    described = client.describe_transactions(ids.values())
    gone = {name for name, each in described.items() if _is_missing(each)}
    known = {
        producer_id: require(described[name])
        for producer_id, name in ids.items()
        if name not in gone
    }
    return hanging(found, known)


def _is_missing(outcome: object) -> bool:
    return isinstance(outcome, ApiError) and outcome.err is Err.TRANSACTIONAL_ID_NOT_FOUND


def _starting_at(client: Client, place: TopicPartition, start_offset: int) -> ActiveProducer:
    for producer in require(client.describe_producers([place])[place]):
        if producer.current_txn_start_offset == start_offset != NO_OFFSET:
            return producer
    raise ApiError(
        Err.INVALID_REQUEST,
        f"no transaction is open in {place} that starts at offset {start_offset}; "
        "see `odradek transactions describe-producers`",
    )


def _places(
    client: Client, topic: str | None, partition: int | None, broker_id: int | None
) -> list[TopicPartition]:
    found = client.metadata(None if topic is None else [topic]).topics
    if topic is not None and not found[topic].partitions:
        raise ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"topic '{topic}' does not exist")
    return [
        TopicPartition(each.name, row.index)
        for each in found.values()
        for row in each.partitions
        if partition in (None, row.index) and (broker_id is None or broker_id in row.replicas)
    ]


def _print(headings: Sequence[str], rows: Iterable[Sequence[object]], as_json: bool) -> None:
    """kafka-transactions' table, or the same as JSON with the headings for keys."""
    if as_json:
        keys = [
            f"{heading[0].lower()}{heading[1:]}".replace("(min)", "Min") for heading in headings
        ]
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    for line in tab_table(headings, ([_text(value) for value in row] for row in rows)):
        typer.echo(line)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return _NONE if value is None else str(value)


def _now_ms() -> int:
    return round(time.time() * 1000)
