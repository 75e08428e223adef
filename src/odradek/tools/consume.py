"""`odradek consume`: print the records of a topic.

Partitions are assigned by this command itself, so no consumer group is involved, unless `--group`
is given: then the group decides about partitions and remembers positions. stdout holds records
only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import typer

from odradek.tools.console import (
    DEFAULT_BOOTSTRAP,
    BootstrapServer,
    examples,
    split_pairs,
)
from odradek.tools.rdkafka import (
    Properties,
    RdSettings,
    base_settings,
    check_reachable,
    topic_partitions,
    translate,
)
from odradek.tools.record_text import (
    ConsumedRecord,
    Render,
    columns,
    compile_format,
    json_line,
)

EPILOG: Final = examples(
    "odradek consume orders --from-beginning",
    "odradek consume orders --offset -10 --exit-on-end",
    "odradek consume orders --from-beginning --exit-on-end --json",
    r"odradek consume orders --format '%t-%p@%o %k %s\n'",
)
# Bounds of one turn: small enough that Ctrl-C and time-outs are noticed, large enough to be fast.
_TURN_RECORDS_MAX: Final = 1000
_TURN_WAIT_S: Final = 0.1
# librdkafka counts "the last N" downwards from here.
_TAIL_BASE: Final = -2000
_TIMESTAMP_TYPES: Final = {0: "NoTimestampType", 1: "CreateTime", 2: "LogAppendTime"}


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What to read.")],
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="The oldest records first; default new ones.")
    ] = False,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="N|-N|beginning|end",
            help="Start here in each partition; -N is the last N records.",
        ),
    ] = None,
    partition: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", min=0, help="Only this one; may be repeated."),
    ] = None,
    max_messages: Annotated[
        int | None, typer.Option("--max-messages", "-c", min=1, help="Stop after so many.")
    ] = None,
    timeout_ms: Annotated[
        int | None, typer.Option("--timeout-ms", min=1, help="Stop when nothing came for so long.")
    ] = None,
    exit_on_end: Annotated[
        bool, typer.Option("--exit-on-end", "-e", help="Stop at the end of all partitions.")
    ] = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", help="%s value, %k key, %t topic, %p partition, %o offset, %T time …"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", "-J", help="One JSON object a line.")] = False,
    key: Annotated[bool, typer.Option("--key", help="Print keys too.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Print headers too.")] = False,
    timestamp: Annotated[bool, typer.Option("--timestamp", help="Print timestamps too.")] = False,
    group: Annotated[
        str | None, typer.Option("--group", "-G", help="Join this group; it remembers positions.")
    ] = None,
    properties: Properties = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
) -> None:
    """Print the records of a topic."""
    render = choose_render(format_, as_json, timestamp=timestamp, headers=headers, key=key)
    if group is not None and (partition or offset is not None):
        raise typer.BadParameter(
            "a group decides about partitions and positions itself", param_hint="--group"
        )
    start = parse_offset(offset, from_beginning)
    extra = split_pairs(properties or (), "--property")
    check_reachable(bootstrap_server, extra)
    settings: RdSettings = {
        **base_settings(bootstrap_server),
        # librdkafka wants a name even where no group is joined.
        "group.id": group or "odradek-consume",
        "enable.auto.commit": group is not None,
        "auto.offset.reset": choose_reset(offset, from_beginning),
        "enable.partition.eof": exit_on_end,
        **extra,
    }
    with _Reader(settings) as reader:
        if group is None:
            reader.assign(topic, partition or (), start)
        else:
            reader.subscribe(topic)
        print_records(reader.records(timeout_ms, exit_on_end), render, max_messages)


def choose_render(
    format_: str | None, as_json: bool, *, timestamp: bool, headers: bool, key: bool
) -> Render:
    """How records are printed; two ways at once make no sense."""
    if as_json and format_ is not None:
        raise typer.BadParameter("give either --json or --format", param_hint="--format")
    if as_json:
        return json_line
    if format_ is None:
        return columns(timestamp=timestamp, headers=headers, key=key)
    try:
        return compile_format(format_)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--format") from None


def parse_offset(text: str | None, from_beginning: bool) -> int:
    """Where to start, in librdkafka's numbers."""
    if text is None:
        return -2 if from_beginning else -1
    if from_beginning:
        raise typer.BadParameter("give either --offset or --from-beginning", param_hint="--offset")
    named = {"beginning": -2, "earliest": -2, "end": -1, "latest": -1}
    if text in named:
        return named[text]
    try:
        number = int(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a number nor beginning nor end", param_hint="--offset"
        ) from None
    return number if number >= 0 else _TAIL_BASE + number


def choose_reset(offset: str | None, from_beginning: bool) -> str:
    """What to do where a position does not exist: one that was asked for is then an error."""
    if offset is not None:
        return "error"
    return "earliest" if from_beginning else "latest"


def print_records(
    turns: Iterator[Sequence[ConsumedRecord]], render: Render, max_messages: int | None
) -> None:
    """Write records to stdout, a flush per turn, until they end, are enough, or Ctrl-C."""
    out = sys.stdout.buffer
    left = max_messages
    try:
        for records in turns:
            chosen = records if left is None else records[:left]
            out.write(b"".join(map(render, chosen)))
            out.flush()
            if left is not None:
                left -= len(chosen)
                if left == 0:
                    break
    except KeyboardInterrupt:
        pass  # the way to end reading


class _Reader:
    """A librdkafka consumer as turns of records."""

    def __init__(self, settings: RdSettings) -> None:
        from confluent_kafka import Consumer, KafkaException

        try:
            self._consumer: Any = Consumer(settings)
        except KafkaException as error:
            raise translate(error.args[0]) from None

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._consumer.close()

    def assign(self, topic: str, partitions: Sequence[int], start: int) -> None:
        """Read these partitions (none given: all) from `start`."""
        from confluent_kafka import TopicPartition

        known = topic_partitions(self._consumer, topic)
        for index in partitions:
            if index not in known:
                raise typer.BadParameter(
                    f"topic '{topic}' has no partition {index}, it has {len(known)}",
                    param_hint="--partition",
                )
        self._consumer.assign(
            [TopicPartition(topic, index, start) for index in dict.fromkeys(partitions or known)]
        )

    def subscribe(self, topic: str) -> None:
        """Let the group decide."""
        topic_partitions(self._consumer, topic)
        self._consumer.subscribe([topic])

    def records(self, timeout_ms: int | None, exit_on_end: bool) -> Iterator[list[ConsumedRecord]]:
        """Turns of records, until nothing came for `timeout_ms` or all partitions ended."""
        ended: set[tuple[str, int]] = set()
        idle_since = time.monotonic()
        while True:
            messages = self._consumer.consume(_TURN_RECORDS_MAX, timeout=_TURN_WAIT_S)
            records = []
            for message in messages:
                place = (message.topic(), message.partition())
                if message.error() is None:
                    ended.discard(place)
                    records.append(_record(message))
                elif message.error().code() == message.error()._PARTITION_EOF:
                    ended.add(place)
                else:
                    raise translate(message.error(), f"topic '{message.topic()}' does not exist")
            if records:
                yield records
                idle_since = time.monotonic()
            elif timeout_ms is not None and time.monotonic() - idle_since > timeout_ms / 1000:
                return
            if exit_on_end and ended and self._all_ended(ended):
                return

    def _all_ended(self, ended: set[tuple[str, int]]) -> bool:
        return all((place.topic, place.partition) in ended for place in self._consumer.assignment())


def _record(message: Any) -> ConsumedRecord:
    kind, timestamp = message.timestamp()
    return ConsumedRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        _TIMESTAMP_TYPES.get(kind, "NoTimestampType"),
        timestamp,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )
