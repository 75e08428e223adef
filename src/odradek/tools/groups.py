"""`odradek groups`: list, describe, delete consumer groups, with the options and tables of
kafka-consumer-groups.

Offsets are changed by `reset-offsets` and `delete-offsets` (`group_offsets`). What a group looks like
in words is in `group_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

import typer

from odradek.client import GroupDescription, GroupType, OffsetSpec, require
from odradek.client.sync import Client
from odradek.errors import ApiError, Err
from odradek.tools.columns import Column, table
from odradek.tools.console import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    BootstrapServer,
    connect,
    examples,
    failures,
    print_json,
    report,
)
from odradek.tools.group_offsets import (
    DELETE_OFFSETS_EPILOG,
    RESET_OFFSETS_EPILOG,
    AllGroups,
    GroupArguments,
    GroupOptions,
    delete_offsets,
    named_groups,
    reset_offsets,
)
from odradek.tools.group_text import VIEWS, GroupReport, View, document, offset_rows, remark
from odradek.types import TopicPartition

app = typer.Typer(
    no_args_is_help=True,
    help="List, describe and delete consumer groups; reset and delete their offsets.",
)
app.command("reset-offsets", epilog=RESET_OFFSETS_EPILOG)(reset_offsets)
app.command("delete-offsets", epilog=DELETE_OFFSETS_EPILOG)(delete_offsets)

# In the place of a state or a type: all of them, but show the column.
ANY: Final = "any"
STATES: Final = (
    *("Stable", "Empty", "PreparingRebalance", "CompletingRebalance"),
    *("Assigning", "Reconciling", "NotReady", "Dead"),
)
TYPES: Final = tuple(kind.value for kind in GroupType)


@app.command(
    "list",
    epilog=examples(
        "odradek groups list",
        "odradek groups list --state stable,empty --type classic",
        "odradek groups list --state any",
    ),
)
def list_(
    state: Annotated[
        str | None,
        typer.Option(
            "--state", metavar="STATE,…", help="Show states; only groups in these, or `any`."
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--type", metavar="TYPE,…", help="Show types; only groups of these, or `any`."
        ),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """List the ids of groups."""
    states = parse_choice(state, STATES, "--state")
    types = parse_choice(kind, TYPES, "--type")
    with connect(bootstrap_server) as client:
        found = client.list_groups(states=states, types=types)
    if as_json:
        print_json(
            [
                {
                    "group": group.group_id,
                    "type": group.type,
                    "protocolType": group.protocol_type,
                    "state": group.state,
                    "coordinator": group.coordinator_id,
                }
                for group in found
            ]
        )
        return
    if state is None and kind is None:
        for group in found:
            typer.echo(group.group_id)
        return
    headings = [Column("GROUP", 25)]
    headings += [Column("TYPE", 20)] if kind is not None else []
    headings += [Column("STATE", 20)] if state is not None else []
    rows = [
        [
            group.group_id,
            *([group.type.capitalize()] if kind is not None else []),
            *([group.state] if state is not None else []),
        ]
        for group in found
    ]
    for line in table(headings, rows):
        typer.echo(line)


@app.command(
    epilog=examples(
        "odradek groups describe billing",
        "odradek groups describe billing --members --verbose",
        "odradek groups describe billing --history",
        "odradek groups describe --all-groups --state --json",
    )
)
def describe(
    groups: GroupArguments = None,
    group_options: GroupOptions = None,
    all_groups: AllGroups = False,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="Offsets, lag and readers of partitions (default).")
    ] = False,
    members: Annotated[
        bool, typer.Option("--members", help="Members and their partitions.")
    ] = False,
    state: Annotated[
        bool, typer.Option("--state", help="State, coordinator and assignment strategy.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="The last rebalances, and why they happened.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also epochs, assignments, all names.")
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="The coordinator's HTTP port, if it is not where the broker says. For --history.",
        ),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Describe groups: offsets and lag, members, state, or the history of rebalances."""
    view = one_view(offsets, members, state, history)
    with connect(bootstrap_server) as client:
        group_ids = chosen_groups(client, groups, group_options, all_groups)
        outcomes = client.describe_groups(group_ids)
        found = [outcomes[each] for each in group_ids]
        described = [each for each in found if not isinstance(each, ApiError)]
        with_offsets = as_json or view is View.OFFSETS
        reports = collect(client, described, with_offsets, view is View.HISTORY, http)
    if as_json:
        print_json([document(each) for each in reports])
    else:
        for each in reports:
            note = remark(each.group)
            if note is not None and view is not View.HISTORY:
                typer.echo(f"\n{note}", err=True)
            typer.echo()
            for line in VIEWS[view](each, verbose):
                typer.echo(line)
    report(each for each in found if isinstance(each, ApiError))


@app.command(epilog=examples("odradek groups delete billing", "odradek groups delete a b c --json"))
def delete(
    groups: GroupArguments = None,
    group_options: GroupOptions = None,
    all_groups: AllGroups = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete groups that have no members, with their offsets."""
    with connect(bootstrap_server) as client:
        group_ids = chosen_groups(client, groups, group_options, all_groups)
        outcomes = client.delete_groups(group_ids)
    deleted = [group_id for group_id in group_ids if outcomes[group_id] is None]
    if as_json:
        print_json({"deleted": deleted})
    elif deleted:
        names = ", ".join(f"'{group_id}'" for group_id in deleted)
        typer.echo(f"Deletion of requested consumer groups ({names}) was successful.")
    report(
        failures(
            {
                group_id: outcome
                and ApiError(
                    outcome.err, f"Group '{group_id}' could not be deleted: {outcome.message}"
                )
                for group_id, outcome in outcomes.items()
            }
        )
    )


def parse_choice(text: str | None, known: Sequence[str], option: str) -> list[str]:
    """The values that a filter names, in the wire's spelling; none when all are meant."""
    if text is None or text.strip().lower() == ANY:
        return []
    spelled = {name.lower(): name for name in known}
    chosen = [part.strip().lower() for part in text.split(",") if part.strip()]
    for part in chosen:
        if part not in spelled:
            raise typer.BadParameter(
                f"{part!r} is none of {', '.join(known)}, {ANY}", param_hint=option
            )
    return [spelled[part] for part in chosen]


def one_view(offsets: bool, members: bool, state: bool, history: bool) -> View:
    """The one thing that is to be shown."""
    asked = [
        view for view, given in zip(View, (offsets, members, state, history), strict=True) if given
    ]
    if len(asked) > 1:
        raise typer.BadParameter("give one of --offsets, --members, --state, --history")
    return asked[0] if asked else View.OFFSETS


def chosen_groups(
    client: Client, arguments: list[str] | None, options: list[str] | None, all_groups: bool
) -> list[str]:
    """The groups that are meant, all of them after `--all-groups`."""
    named = named_groups(arguments, options, all_groups)
    return named or [group.group_id for group in client.list_groups()]


def collect(
    client: Client,
    groups: Sequence[GroupDescription],
    with_offsets: bool,
    with_history: bool,
    http: str | None,
) -> list[GroupReport]:
    """What is to be shown of groups, with as few requests as possible."""
    brokers = client.metadata([]).brokers
    ids = [group.group_id for group in groups]
    committed = client.group_offsets(ids) if with_offsets else {}
    places = {place for group in groups for each in group.members for place in each.assignment}
    places.update(place for offsets in committed.values() for place in require(offsets))
    ends = log_end_offsets(client, sorted(places)) if with_offsets else {}
    kept = {}
    if with_history:
        from odradek.tools.group_history import histories  # an HTTP client, for this alone

        coordinators = {each.group_id: brokers.get(each.coordinator_id) for each in groups}
        kept = histories(client, coordinators, http)
    return [
        GroupReport(
            group,
            brokers.get(group.coordinator_id),
            offset_rows(group, require(committed[group.group_id]), ends) if with_offsets else (),
            kept.get(group.group_id, ()) if with_history else None,
        )
        for group in groups
    ]


def log_end_offsets(client: Client, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The ends of logs; those of topics that are gone are left out."""
    found = client.list_offsets(dict.fromkeys(places, OffsetSpec.LATEST))
    ends: dict[TopicPartition, int] = {}
    for place, outcome in found.items():
        if not isinstance(outcome, ApiError):
            ends[place] = outcome.offset
        elif outcome.err is not Err.UNKNOWN_TOPIC_OR_PARTITION:
            raise outcome
    return ends
