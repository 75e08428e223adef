"""`odradek topics`: create, list, describe, alter, delete, with the options and words of
kafka-topics.

`--topic` names one topic, several separated by commas, or a regular expression. A topic of exactly
the given name always wins over the expression, so that a period in a name is a period.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from odradek.client import (
    AlterOp,
    ConfigChange,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceKind,
    Topic,
    require,
)
from odradek.client.sync import Client
from odradek.client.topics import BROKER_DEFAULT
from odradek.errors import ApiError, Err
from odradek.tools.console import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    BootstrapServer,
    connect,
    examples,
    failures,
    print_json,
    print_warning,
    report,
    split_pairs,
)
from odradek.tools.topic_text import Show, TopicConfigs, describe_lines, topic_document

app = typer.Typer(no_args_is_help=True, help="Create, list, describe, alter and delete topics.")

TopicArgument = Annotated[str | None, typer.Argument(metavar="TOPIC", help="The topic's name.")]
TopicOption = Annotated[str | None, typer.Option("--topic", help="The same, as an option.")]
TopicChoice = Annotated[
    str | None, typer.Option("--topic", help="Only these: a name, a list, or a regular expression.")
]
Partitions = Annotated[int | None, typer.Option("--partitions", min=1, help="How many partitions.")]
Assignment = Annotated[
    str | None,
    typer.Option(
        "--replica-assignment",
        metavar="ID:ID,ID:ID…",
        help="The brokers of each partition, the leader first; instead of counts.",
    ),
]
Configs = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="KEY=VALUE", help="A setting of the topic; may be repeated."),
]
IfExists = Annotated[
    bool, typer.Option("--if-exists", help="Do nothing if there is no such topic.")
]
ExcludeInternal = Annotated[
    bool, typer.Option("--exclude-internal", help="Leave out topics that brokers use themselves.")
]


@app.command(
    epilog=examples(
        "odradek topics create orders --partitions 3",
        "odradek topics create state --config cleanup.policy=compact --if-not-exists",
        "odradek topics create placed --replica-assignment 1:2,2:3",
    )
)
def create(
    topic: TopicArgument = None,
    topic_option: TopicOption = None,
    partitions: Partitions = None,
    replication_factor: Annotated[
        int | None, typer.Option("--replication-factor", min=1, help="Copies of each partition.")
    ] = None,
    replica_assignment: Assignment = None,
    config: Configs = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing if the topic is there already.")
    ] = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Create a topic. Counts that are not given are the broker's defaults."""
    name = one_name(topic, topic_option)
    assignment = parse_assignment(replica_assignment)
    if assignment and (partitions or replication_factor):
        raise typer.BadParameter(
            "give either the assignment or the counts", param_hint="--replica-assignment"
        )
    new = NewTopic(
        name=name,
        partitions=partitions or BROKER_DEFAULT,
        replication_factor=replication_factor or BROKER_DEFAULT,
        assignment=assignment,
        configs=split_pairs(config or (), "--config"),
    )
    if "." in name or "_" in name:
        print_warning(
            "metric names cannot tell a period from an underscore: two topics whose names differ "
            "only in these share their metrics; use one of the two characters, not both."
        )
    with connect(bootstrap_server) as client:
        outcome = client.create_topics([new])[name]
        if _is(outcome, Err.TOPIC_ALREADY_EXISTS) and if_not_exists:
            if as_json:
                print_json({"topic": name, "created": False})
            return
        created = require(outcome)
    if as_json:
        print_json(
            {
                "topic": name,
                "created": True,
                "partitions": created.partitions,
                "replicationFactor": created.replication_factor,
            }
        )
    else:
        typer.echo(f"Created topic {name}.")


@app.command("list", epilog=examples("odradek topics list", "odradek topics list --json"))
def list_(
    topic: TopicChoice = None,
    exclude_internal: ExcludeInternal = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """List the names of topics."""
    with connect(bootstrap_server) as client:
        names = [found.name for found in select_topics(client, topic, exclude_internal)]
    if as_json:
        print_json(names)
    else:
        for name in names:
            typer.echo(name)


@app.command(
    epilog=examples(
        "odradek topics describe orders",
        "odradek topics describe --under-replicated-partitions",
        "odradek topics describe --topic 'orders.*' --json",
    )
)
def describe(
    topic: TopicArgument = None,
    topic_option: TopicOption = None,
    exclude_internal: ExcludeInternal = False,
    if_exists: IfExists = False,
    under_replicated_partitions: Annotated[
        bool,
        typer.Option("--under-replicated-partitions", help="Only partitions that miss a replica."),
    ] = False,
    unavailable_partitions: Annotated[
        bool, typer.Option("--unavailable-partitions", help="Only partitions without a leader.")
    ] = False,
    under_min_isr_partitions: Annotated[
        bool,
        typer.Option(
            "--under-min-isr-partitions", help="Only partitions that refuse acks=all for now."
        ),
    ] = False,
    at_min_isr_partitions: Annotated[
        bool,
        typer.Option(
            "--at-min-isr-partitions", help="Only partitions that cannot lose one replica more."
        ),
    ] = False,
    topics_with_overrides: Annotated[
        bool,
        typer.Option("--topics-with-overrides", help="Only topics with settings of their own."),
    ] = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Describe topics: settings, and for each partition leader, replicas and in-sync replicas."""
    show = Show(
        under_replicated=under_replicated_partitions,
        unavailable=unavailable_partitions,
        under_min_isr=under_min_isr_partitions,
        at_min_isr=at_min_isr_partitions,
        overrides_only=topics_with_overrides,
    )
    pattern = topic if topic is not None else topic_option
    with connect(bootstrap_server) as client:
        found = select_topics(client, pattern, exclude_internal)
        if pattern is not None and not found and not if_exists:
            raise _missing(pattern)
        configs = topic_configs(client, [described.name for described in found])
        live = set(client.metadata([]).brokers)
    if as_json:
        print_json([topic_document(each, configs[each.name], show, live) for each in found])
        return
    for described in found:
        for line in describe_lines(described, configs[described.name], show, live):
            typer.echo(line)


@app.command(
    epilog=examples(
        "odradek topics alter orders --partitions 6",
        "odradek topics alter orders --config retention.ms=3600000 --delete-config segment.ms",
    )
)
def alter(
    topic: TopicArgument = None,
    topic_option: TopicOption = None,
    partitions: Partitions = None,
    replica_assignment: Assignment = None,
    config: Configs = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option(
            "--delete-config",
            "--deleteConfig",
            metavar="KEY",
            help="Back to the broker's value; may be repeated.",
        ),
    ] = None,
    if_exists: IfExists = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Add partitions to topics, or change their settings."""
    changes = [
        *(ConfigChange(key, value) for key, value in split_pairs(config or (), "--config").items()),
        *(ConfigChange(key, None, AlterOp.DELETE) for key in delete_config or ()),
    ]
    if partitions is None and not changes:
        raise typer.BadParameter("nothing to do: give --partitions, --config or --delete-config")
    pattern = one_name(topic, topic_option)
    with connect(bootstrap_server) as client:
        found = select_topics(client, pattern)
        if not found:
            if if_exists:
                return
            raise _missing(pattern)
        if changes:
            _alter_configs(client, found, changes, quiet=as_json)
        if partitions is not None:
            _add_partitions(
                client, found, partitions, parse_assignment(replica_assignment), as_json
            )
    if as_json:
        print_json({"altered": [altered.name for altered in found]})


@app.command(epilog=examples("odradek topics delete orders", "odradek topics delete 'tmp-.*'"))
def delete(
    topic: TopicArgument = None,
    topic_option: TopicOption = None,
    if_exists: IfExists = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Delete topics with all their records."""
    pattern = one_name(topic, topic_option)
    with connect(bootstrap_server) as client:
        names = [found.name for found in select_topics(client, pattern)]
        if not names and not if_exists:
            raise _missing(pattern)
        outcomes = client.delete_topics(names)
    deleted = [name for name, outcome in outcomes.items() if outcome is None]
    if as_json:
        print_json({"deleted": deleted})
    else:
        for name in deleted:
            typer.echo(f"Deleted topic {name}.")
    report(failures(outcomes))


def one_name(argument: str | None, option: str | None) -> str:
    """The topic that was given, as argument or as option."""
    if argument is not None and option is not None:
        raise typer.BadParameter("the topic was given twice", param_hint="--topic")
    name = argument if argument is not None else option
    if not name:
        raise typer.BadParameter("which topic? give its name", param_hint="TOPIC")
    return name


def parse_assignment(text: str | None) -> tuple[tuple[int, ...], ...]:
    """`1:2,2:3` as the replicas of each partition."""
    if text is None:
        return ()
    try:
        return tuple(
            tuple(int(broker_id) for broker_id in partition.split(":"))
            for partition in text.split(",")
        )
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a list such as 1:2,2:3", param_hint="--replica-assignment"
        ) from None


def select_names(names: Iterable[str], pattern: str | None) -> list[str]:
    """The names that a `--topic` means: exactly these names, else a regular expression."""
    known = sorted(names)
    if pattern is None:
        return known
    parts = [part.strip() for part in pattern.split(",") if part.strip()]
    chosen: set[str] = set()
    for part in parts:
        if part in known:
            chosen.add(part)
            continue
        try:
            expression = re.compile(part)
        except re.error as error:
            raise typer.BadParameter(
                f"{part!r} is neither a topic nor a regular expression: {error}"
            ) from None
        chosen.update(name for name in known if expression.fullmatch(name))
    return sorted(chosen)


def select_topics(
    client: Client, pattern: str | None, exclude_internal: bool = False
) -> list[Topic]:
    """The topics that exist and are meant."""
    topics = client.metadata().topics
    return [
        topics[name]
        for name in select_names(topics, pattern)
        if not (exclude_internal and topics[name].internal)
    ]


def topic_configs(client: Client, names: Sequence[str]) -> dict[str, TopicConfigs]:
    """The settings of topics; of one that went away meanwhile, none."""
    resources = [ConfigResource(ResourceKind.TOPIC, name) for name in names]
    described = client.describe_configs(resources, include_synonyms=False)
    return {
        resource.name: {} if isinstance(entries, ApiError) else entries
        for resource, entries in described.items()
    }


def _alter_configs(
    client: Client, topics: Sequence[Topic], changes: Sequence[ConfigChange], *, quiet: bool
) -> None:
    resources = {ConfigResource(ResourceKind.TOPIC, topic.name): changes for topic in topics}
    outcomes = client.incremental_alter_configs(resources)
    for resource, outcome in outcomes.items():
        if outcome is None and not quiet:
            typer.echo(f"Updated config for topic {resource.name}.")
    report(outcome for outcome in outcomes.values() if outcome is not None)


def _add_partitions(
    client: Client,
    topics: Sequence[Topic],
    total: int,
    assignment: tuple[tuple[int, ...], ...],
    quiet: bool,
) -> None:
    print_warning(
        "records with a key are placed by the number of partitions: from now on a key may go to "
        "another partition than its older records, and the order between the two is lost."
    )
    wanted = [
        NewPartitions(
            topic=topic.name,
            total=total,
            # The option gives the replicas of all partitions, the request those of new ones.
            assignment=assignment[len(topic.partitions) :] if assignment else None,
        )
        for topic in topics
    ]
    outcomes = client.create_partitions(wanted)
    report(failures(outcomes))
    if not quiet:
        typer.echo("Adding partitions succeeded!")


def _missing(pattern: str) -> ApiError:
    return ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{pattern}' does not exist as expected")


def _is(outcome: object, err: Err) -> bool:
    return isinstance(outcome, ApiError) and outcome.err is err
