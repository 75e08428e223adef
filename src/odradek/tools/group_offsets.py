"""`odradek groups reset-offsets` and `delete-offsets`: move groups that nobody runs at the moment.

A reset shows where the group would go and changes nothing, unless `--execute` is given. A group with
members is refused: they would go on from where they are and write over it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from odradek.client import OffsetSpec, require
from odradek.client.sync import Client
from odradek.errors import ApiError, Err
from odradek.tools.columns import Column, table
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
from odradek.tools.reset_plan import (
    Facts,
    FromFile,
    Goal,
    ShiftBy,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToTimestamp,
    csv_lines,
    new_offset,
    parse_datetime,
    parse_duration,
    parse_scope,
    read_plan,
)
from odradek.types import NO_OFFSET, TopicPartition

RESET_OFFSETS_EPILOG: Final = examples(
    "odradek groups reset-offsets billing --topic orders --to-earliest",
    "odradek groups reset-offsets billing --topic orders:0,2 --shift-by -100 --execute",
    "odradek groups reset-offsets billing --all-topics --to-datetime 2026-01-31T08:00:00 --execute",
    "odradek groups reset-offsets billing --all-topics --to-current --export > plan.csv",
    "odradek groups reset-offsets billing --from-file plan.csv --execute",
)
DELETE_OFFSETS_EPILOG: Final = examples(
    "odradek groups delete-offsets billing --topic orders",
    "odradek groups delete-offsets billing --topic orders:0,2 --topic payments",
)
_IDLE_STATES: Final = ("Empty", "Dead")

GroupArguments = Annotated[
    list[str] | None, typer.Argument(metavar="GROUP", help="The groups' ids.")
]
GroupOptions = Annotated[
    list[str] | None, typer.Option("--group", help="The same, as an option; may be repeated.")
]
AllGroups = Annotated[bool, typer.Option("--all-groups", help="All groups there are.")]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC[:P,P…]",
        help="A topic, or some of its partitions; may be repeated.",
    ),
]


def reset_offsets(
    groups: GroupArguments = None,
    group_options: GroupOptions = None,
    all_groups: AllGroups = False,
    topic: Topics = None,
    all_topics: Annotated[
        bool, typer.Option("--all-topics", help="Every partition the group has committed in.")
    ] = False,
    to_earliest: Annotated[
        bool, typer.Option("--to-earliest", help="To the start of the log.")
    ] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end of the log.")] = False,
    to_current: Annotated[
        bool, typer.Option("--to-current", help="To where the group is, or the end.")
    ] = False,
    to_offset: Annotated[
        int | None, typer.Option("--to-offset", min=0, help="To this offset.")
    ] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", help="By so many offsets, negative: back.")
    ] = None,
    to_datetime: Annotated[
        str | None,
        typer.Option(
            "--to-datetime",
            metavar="YYYY-MM-DDThh:mm:ss.sss",
            help="To the first record not older; UTC unless a zone (+02:00) is given.",
        ),
    ] = None,
    by_duration: Annotated[
        str | None,
        typer.Option("--by-duration", metavar="PnDTnHnMnS", help="To so long before now."),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from-file",
            exists=True,
            dir_okay=False,
            help="To what a CSV file says: TOPIC,PARTITION,OFFSET, or with GROUP in front.",
        ),
    ] = None,
    execute: Annotated[bool, typer.Option("--execute", help="Do it.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show it (default, but for a warning).")
    ] = False,
    export: Annotated[bool, typer.Option("--export", help="Print CSV for --from-file.")] = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Move groups to other offsets: show where, or do it with --execute."""
    if execute and dry_run:
        raise typer.BadParameter("give --execute or --dry-run, not both")
    goal = one_goal(
        {
            "--to-earliest": ToEarliest() if to_earliest else None,
            "--to-latest": ToLatest() if to_latest else None,
            "--to-current": ToCurrent() if to_current else None,
            "--to-offset": None if to_offset is None else ToOffset(to_offset),
            "--shift-by": None if shift_by is None else ShiftBy(shift_by),
            "--to-datetime": _at_datetime(to_datetime),
            "--by-duration": _before_now(by_duration),
            "--from-file": _file_plan(from_file),
        }
    )
    if (topic is not None) + all_topics + (from_file is not None) != 1:
        raise typer.BadParameter("of which partitions? give --topic, --all-topics or --from-file")
    named = named_groups(groups, group_options, all_groups)
    with connect(bootstrap_server) as client:
        group_ids = named or [group.group_id for group in client.list_groups()]
        errors = active_groups(client, group_ids)
        plans: dict[str, dict[TopicPartition, int]] = {}
        for group_id in group_ids:
            if group_id not in errors:
                plans[group_id] = plan(client, group_id, goal, topic)
                if execute:
                    outcomes = client.alter_group_offsets(group_id, plans[group_id])
                    errors.update(_failed(group_id, outcomes))
    if not execute and not dry_run and plans:
        print_warning("nothing was changed: add --execute to do it, --dry-run to keep this quiet.")
    _print_plans(plans, executed=execute, export=export, as_json=as_json, single=len(named) == 1)
    report(errors.values())


def _print_plans(
    plans: Mapping[str, Mapping[TopicPartition, int]],
    *,
    executed: bool,
    export: bool,
    as_json: bool,
    single: bool,
) -> None:
    rows = [
        (group_id, place.topic, place.partition, offset)
        for group_id, offsets in plans.items()
        for place, offset in offsets.items()
    ]
    if as_json:
        names = ("group", "topic", "partition", "newOffset")
        offsets = [dict(zip(names, row, strict=True)) for row in rows]
        print_json({"executed": executed, "offsets": offsets})
        return
    if export:
        for line in csv_lines(plans, with_group=not single):
            typer.echo(line)
        return
    if not plans:
        return
    headings = (Column("GROUP"), Column("TOPIC"), Column("PARTITION", 10), Column("NEW-OFFSET"))
    typer.echo()
    for line in table(headings, rows):
        typer.echo(line)


def delete_offsets(
    group: Annotated[str | None, typer.Argument(metavar="GROUP", help="The group's id.")] = None,
    group_option: Annotated[
        str | None, typer.Option("--group", help="The same, as an option.")
    ] = None,
    topic: Topics = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Forget where a group is in topics that it no longer reads."""
    if (group is None) == (group_option is None):
        raise typer.BadParameter("which group? give its id, once", param_hint="GROUP")
    if not topic:
        raise typer.BadParameter("of which topics?", param_hint="--topic")
    group_id = group or group_option or ""
    with connect(bootstrap_server) as client:
        outcomes = client.delete_group_offsets(group_id, partitions_of(client, topic))
    rows = [
        (place.topic, place.partition, "Successful" if outcome is None else "Error")
        for place, outcome in sorted(outcomes.items())
    ]
    if as_json:
        names = ("topic", "partition", "status")
        offsets = [dict(zip(names, row, strict=True)) for row in rows]
        print_json({"group": group_id, "offsets": offsets})
    else:
        for line in table((Column("TOPIC"), Column("PARTITION", 10), Column("STATUS")), rows):
            typer.echo(line)
    report(_failed(group_id, outcomes).values())


# --- planning -------------------------------------------------------------------------------------


def plan(
    client: Client, group_id: str, goal: Goal, topics: Sequence[str] | None
) -> dict[TopicPartition, int]:
    """Where a group would go, partition by partition; notes go to stderr."""
    committed = {
        place: found.offset
        for place, found in require(client.group_offsets([group_id])[group_id]).items()
    }
    if isinstance(goal, FromFile):
        places: Iterable[TopicPartition] = goal.of_group(group_id)
    else:
        places = committed if topics is None else partitions_of(client, topics)
    facts = look_up(client, sorted(places), goal)
    offsets: dict[TopicPartition, int] = {}
    for place, known in facts.items():
        known = known._replace(committed=committed.get(place))
        offsets[place], note = new_offset(goal, group_id, place, known)
        if note is not None:
            print_warning(note)
    return offsets


def look_up(
    client: Client, places: Sequence[TopicPartition], goal: Goal
) -> dict[TopicPartition, Facts]:
    """Start, end and, where it matters, the offset at a time."""

    def offsets(at: int) -> dict[TopicPartition, int]:
        found = client.list_offsets(dict.fromkeys(places, at))
        return {place: require(outcome).offset for place, outcome in found.items()}

    earliest, latest = offsets(OffsetSpec.EARLIEST), offsets(OffsetSpec.LATEST)
    at_time = offsets(goal.timestamp_ms) if isinstance(goal, ToTimestamp) else {}
    return {
        place: Facts(earliest[place], latest[place], at_time=at_time.get(place, NO_OFFSET))
        for place in places
    }


def partitions_of(client: Client, topics: Sequence[str]) -> list[TopicPartition]:
    """The partitions that `--topic` options mean."""
    try:
        scopes = [parse_scope(text) for text in topics]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--topic") from None
    found = client.metadata(sorted({scope.topic for scope in scopes})).topics
    places: dict[TopicPartition, None] = {}
    for name, partitions in scopes:
        known = [partition.index for partition in found[name].partitions]
        if not known:
            raise ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"topic '{name}' does not exist")
        for index in known if partitions is None else partitions:
            if index not in known:
                raise ApiError(
                    Err.UNKNOWN_TOPIC_OR_PARTITION,
                    f"topic '{name}' has no partition {index}, it has {len(known)}",
                )
            places[TopicPartition(name, index)] = None
    return list(places)


def active_groups(client: Client, group_ids: Sequence[str]) -> dict[str, ApiError]:
    """Why groups may not be moved now; those that do not exist yet may."""
    refused: dict[str, ApiError] = {}
    for group_id, outcome in client.describe_groups(group_ids).items():
        if isinstance(outcome, ApiError):
            if outcome.err is not Err.GROUP_ID_NOT_FOUND:
                refused[group_id] = outcome
        elif outcome.state not in _IDLE_STATES:
            refused[group_id] = ApiError(
                Err.NON_EMPTY_GROUP,
                f"group '{group_id}' is {outcome.state} with {len(outcome.members)} members: stop "
                "them first, offsets can only be reset while nobody reads",
            )
    return refused


def named_groups(
    arguments: list[str] | None, options: list[str] | None, all_groups: bool
) -> list[str]:
    """The groups that were named, each once; none after `--all-groups`."""
    named = list(dict.fromkeys([*(arguments or ()), *(options or ())]))
    if bool(named) == all_groups:
        raise typer.BadParameter("which groups? give their ids, or --all-groups")
    return named


def one_goal(given: Mapping[str, Goal | None]) -> Goal:
    """The one of the options that was given."""
    goals = [goal for goal in given.values() if goal is not None]
    if len(goals) != 1:
        raise typer.BadParameter(f"where to? give one of {', '.join(given)}")
    return goals[0]


def _at_datetime(text: str | None) -> ToTimestamp | None:
    if text is None:
        return None
    try:
        return ToTimestamp(max(0, parse_datetime(text)))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--to-datetime") from None


def _before_now(text: str | None) -> ToTimestamp | None:
    if text is None:
        return None
    try:
        # Below zero, a timestamp would be taken for the name of a position.
        return ToTimestamp(max(0, round(time.time() * 1000) - parse_duration(text)))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--by-duration") from None


def _file_plan(path: Path | None) -> FromFile | None:
    if path is None:
        return None
    try:
        return read_plan(path.read_text().splitlines())
    except ValueError as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint="--from-file") from None


def _failed(
    group_id: str, outcomes: Mapping[TopicPartition, ApiError | None]
) -> dict[str, ApiError]:
    return {
        f"{group_id} {place}": ApiError(
            outcome.err, f"group '{group_id}', {place}: {outcome.message}"
        )
        for place, outcome in outcomes.items()
        if outcome is not None
    }
