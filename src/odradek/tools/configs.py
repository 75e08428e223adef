"""`odradek configs`: describe and change settings, with the options and words of kafka-configs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import typer

from odradek.client import (
    AlterOp,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceKind,
)
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

app = typer.Typer(no_args_is_help=True, help="Describe and change settings.")


class EntityType(StrEnum):
    """What has settings, as kafka-configs calls it."""

    TOPICS = "topics"
    BROKERS = "brokers"
    BROKER_LOGGERS = "broker-loggers"
    GROUPS = "groups"
    CLIENT_METRICS = "client-metrics"


class _Kind(NamedTuple):
    """A row of facts about an entity type."""

    kind: ResourceKind
    noun: str
    # Which entries are the entity's own; None: all of them.
    own: ConfigSource | None


_KINDS: Final[Mapping[EntityType, _Kind]] = {
    EntityType.TOPICS: _Kind(ResourceKind.TOPIC, "topic", ConfigSource.DYNAMIC_TOPIC_CONFIG),
    EntityType.BROKERS: _Kind(ResourceKind.BROKER, "broker", ConfigSource.DYNAMIC_BROKER_CONFIG),
    EntityType.BROKER_LOGGERS: _Kind(ResourceKind.BROKER_LOGGER, "broker-logger", None),
    EntityType.GROUPS: _Kind(ResourceKind.GROUP, "group", ConfigSource.GROUP_CONFIG),
    EntityType.CLIENT_METRICS: _Kind(
        ResourceKind.CLIENT_METRICS, "client-metric", ConfigSource.CLIENT_METRICS_CONFIG
    ),
}
_DEFAULT_NAME: Final = ""

Type = Annotated[EntityType, typer.Option("--entity-type", help="What has the settings.")]
Name = Annotated[str | None, typer.Option("--entity-name", help="Which one; a broker by its id.")]
Default = Annotated[
    bool, typer.Option("--entity-default", help="The default of all brokers, not one of them.")
]


@app.command(
    epilog=examples(
        "odradek configs describe --entity-type topics --entity-name orders",
        "odradek configs describe --entity-type brokers --entity-name 1 --all",
    )
)
def describe(
    entity_type: Type,
    entity_name: Name = None,
    entity_default: Default = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="All settings, not only those that were changed.")
    ] = False,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show settings: those that were changed, or all."""
    name = choose_name(entity_type, entity_name, entity_default)
    with connect(bootstrap_server) as client:
        resources = _resources(client, entity_type, name)
        described = client.describe_configs(resources)
    documents = []
    for resource, entries in described.items():
        if isinstance(entries, ApiError):
            continue
        shown = [entry for entry in entries.values() if show_all or is_own(resource, entry)]
        if as_json:
            documents.append(_document(entity_type, resource, shown))
        else:
            for line in describe_lines(entity_type, resource, shown, show_all):
                typer.echo(line)
    if as_json:
        print_json(documents)
    report(entries for entries in described.values() if isinstance(entries, ApiError))


@app.command(
    epilog=examples(
        "odradek configs alter --entity-type topics --entity-name orders "
        "--add-config segment.ms=60000,cleanup.policy=\\[compact,delete]",
        "odradek configs alter --entity-type topics --entity-name t --delete-config segment.ms",
    )
)
def alter(
    entity_type: Type,
    entity_name: Name = None,
    entity_default: Default = False,
    add_config: Annotated[
        list[str] | None,
        typer.Option(
            "--add-config",
            metavar="KEY=VALUE,…",
            help="Settings to make; a value with commas stands in square brackets.",
        ),
    ] = None,
    delete_config: Annotated[
        list[str] | None,
        typer.Option("--delete-config", metavar="KEY,…", help="Settings to take back."),
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Change settings; what is not named stays."""
    changes = parse_changes(add_config or (), delete_config or ())
    if not changes:
        raise typer.BadParameter("nothing to do: give --add-config or --delete-config")
    name = choose_name(entity_type, entity_name, entity_default)
    if name is None:
        raise typer.BadParameter("whose settings? give --entity-name", param_hint="--entity-name")
    resource = ConfigResource(_KINDS[entity_type].kind, name)
    with connect(bootstrap_server) as client:
        outcome = client.incremental_alter_configs({resource: changes})[resource]
    if outcome is not None:
        raise outcome
    if as_json:
        print_json({"entityType": entity_type.value, "entityName": name, "altered": True})
    elif name == _DEFAULT_NAME:
        typer.echo("Completed updating default config for brokers in the cluster.")
    else:
        typer.echo(f"Completed updating config for {_KINDS[entity_type].noun} {name}.")


def choose_name(entity_type: EntityType, name: str | None, default: bool) -> str | None:
    """The entity's name on the wire; None: all entities of the type."""
    if default and (name is not None or entity_type is not EntityType.BROKERS):
        raise typer.BadParameter(
            "goes with --entity-type brokers and without a name", param_hint="--entity-default"
        )
    if name == "":
        raise typer.BadParameter("is empty", param_hint="--entity-name")
    return _DEFAULT_NAME if default else name


def parse_changes(add: list[str] | tuple[()], delete: list[str] | tuple[()]) -> list[ConfigChange]:
    """The changes that `--add-config` and `--delete-config` ask for."""
    changes = [ConfigChange(key, value) for text in add for key, value in _split_configs(text)]
    changes += [
        ConfigChange(key.strip(), None, AlterOp.DELETE)
        for text in delete
        for key in text.split(",")
        if key.strip()
    ]
    names = [change.name for change in changes]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"{name!r} is changed twice", param_hint="--add-config")
    return changes


def _split_configs(text: str) -> Iterator[tuple[str, str]]:
    """`a=1,b=[x,y]` as pairs: brackets keep the commas of a value together."""
    parts: list[str] = []
    depth = 0
    start = 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or depth != 0:
            raise typer.BadParameter(f"{part!r} is not KEY=VALUE", param_hint="--add-config")
        bracketed = value.startswith("[") and value.endswith("]")
        yield key.strip(), value[1:-1] if bracketed else value


def is_own(resource: ConfigResource, entry: ConfigEntry) -> bool:
    """Whether a setting was made for this entity."""
    if resource == ConfigResource(ResourceKind.BROKER, _DEFAULT_NAME):
        return entry.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    own = next(row.own for row in _KINDS.values() if row.kind is resource.kind)
    return own is None or entry.source is own


def describe_lines(
    entity_type: EntityType, resource: ConfigResource, entries: list[ConfigEntry], show_all: bool
) -> Iterator[str]:
    """A heading, then a line per setting with where its value comes from."""
    if resource.kind is ResourceKind.BROKER and resource.name == _DEFAULT_NAME:
        yield "Default configs for brokers in the cluster are:"
    else:
        scope = "All" if show_all else "Dynamic"
        yield f"{scope} configs for {_KINDS[entity_type].noun} {resource.name} are:"
    for entry in entries:
        synonyms = ", ".join(
            f"{synonym.source.name}:{synonym.name}={_shown(synonym.value)}"
            for synonym in entry.synonyms
        )
        sensitive = str(entry.sensitive).lower()
        yield f"  {entry.name}={_shown(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def _document(
    entity_type: EntityType, resource: ConfigResource, entries: list[ConfigEntry]
) -> dict[str, object]:
    return {
        "entityType": entity_type.value,
        "entityName": resource.name,
        "configs": [
            {
                "name": entry.name,
                "value": entry.value,
                "source": entry.source.name,
                "readOnly": entry.read_only,
                "sensitive": entry.sensitive,
                "synonyms": [
                    {"name": synonym.name, "value": synonym.value, "source": synonym.source.name}
                    for synonym in entry.synonyms
                ],
            }
            for entry in entries
        ],
    }


def _resources(client: Client, entity_type: EntityType, name: str | None) -> list[ConfigResource]:
    """One entity, or all of its type."""
    kind = _KINDS[entity_type].kind
    if name is not None:
        return [ConfigResource(kind, name)]
    cluster = client.metadata()
    match entity_type:
        case EntityType.TOPICS:
            names = list(cluster.topics)
        case EntityType.BROKERS:
            names = [*map(str, sorted(cluster.brokers)), _DEFAULT_NAME]
        case EntityType.BROKER_LOGGERS:
            names = [*map(str, sorted(cluster.brokers))]
        case _:
            return client.list_config_resources([kind])
    return [ConfigResource(kind, each) for each in names]
