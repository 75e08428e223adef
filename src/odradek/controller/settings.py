"""Decisions about settings: the older request that replaces all overrides, and the incremental one.

Pure functions over a metadata image. Each resource gets its own verdict; all changes of one
resource happen, or none. Levels of loggers are not here: they live and die with a process
(`loggers`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from odradek.config import resolve
from odradek.config.alter import AlterOp, OpType, apply_ops
from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError, Key
from odradek.config.group import GroupConfig
from odradek.config.topic import TopicConfig
from odradek.controller.outcome import OK, Outcome, Verdict
from odradek.errors import ApiError, Err
from odradek.metadata.image import ConfigResource, MetadataImage, ResourceType
from odradek.metadata.records import ConfigChanged, MetadataRecord

T = TypeVar("T")
ConfigVerdicts = list[tuple[ConfigResource, Verdict]]

# KIP-714: what a client-metrics subscription may say.
CLIENT_METRICS_KEYS: Final = frozenset({"metrics", "interval.ms", "match"})


def alter_configs(
    image: MetadataImage,
    config: BrokerConfig,
    resources: Sequence[tuple[ConfigResource, Sequence[tuple[str, str | None]]]],
    *,
    validate_only: bool = False,
) -> Outcome[ConfigVerdicts]:
    """Replace all overrides of each resource by the given ones."""

    def replaced(
        resource: ConfigResource, given: Sequence[tuple[str, str | None]]
    ) -> dict[str, str]:
        ops = [AlterOp(name, OpType.SET, value) for name, value in given]
        return apply_ops({}, ops, _declarations(resource))

    return _alter(image, config, resources, replaced, validate_only)


def incremental_alter_configs(
    image: MetadataImage,
    config: BrokerConfig,
    resources: Sequence[tuple[ConfigResource, Sequence[AlterOp]]],
    *,
    validate_only: bool = False,
) -> Outcome[ConfigVerdicts]:
    """Set, remove, or edit in place single overrides of each resource (KIP-339)."""

    def edited(resource: ConfigResource, ops: Sequence[AlterOp]) -> dict[str, str]:
        declarations = _declarations(resource)
        inherited = {
            op.name: _inherited(declarations[op.name], resource, config)
            for op in ops
            if op.op in (OpType.APPEND, OpType.SUBTRACT) and op.name in declarations
        }
        return apply_ops(image.overrides(resource), ops, declarations, inherited)

    return _alter(image, config, resources, edited, validate_only)


def _alter(
    image: MetadataImage,
    config: BrokerConfig,
    resources: Sequence[tuple[ConfigResource, T]],
    change: Callable[[ConfigResource, T], dict[str, str]],
    validate_only: bool,
) -> Outcome[ConfigVerdicts]:
    occurrences = Counter(resource for resource, _ in resources)
    records: list[MetadataRecord] = []
    verdicts: dict[ConfigResource, Verdict] = {}
    for resource, wanted in resources:
        try:
            if occurrences[resource] > 1:
                raise ApiError(Err.INVALID_REQUEST, "Each resource can be changed only once.")
            _require(image, resource)
            overrides = change(resource, wanted)
            _validate(resource, overrides, config)
        except ApiError as error:
            verdicts[resource] = Verdict.of(error)
            continue
        verdicts[resource] = OK
        if overrides != image.overrides(resource):
            records.append(ConfigChanged(resource, overrides))
    return Outcome(() if validate_only else tuple(records), list(verdicts.items()))


def _require(image: MetadataImage, resource: ConfigResource) -> None:
    """ApiError unless the resource is there to have settings."""
    if resource.type is ResourceType.TOPIC and resource.name not in image.topics:
        raise ApiError(
            Err.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist."
        )
    if resource.type is ResourceType.BROKER and resource.name:
        if not resource.name.isdecimal():
            raise ApiError(
                Err.INVALID_REQUEST, f"A broker's name is its number, not '{resource.name}'."
            )
        if int(resource.name) not in image.brokers:
            raise ApiError(
                Err.BROKER_ID_NOT_REGISTERED,
                f"Broker {resource.name} is not registered; known: {sorted(image.brokers)}.",
            )
    if resource.type in (ResourceType.GROUP, ResourceType.CLIENT_METRICS) and not resource.name:
        raise ApiError(Err.INVALID_REQUEST, "A name is needed; there is no default to change.")


def _validate(resource: ConfigResource, overrides: Mapping[str, str], config: BrokerConfig) -> None:
    match resource.type:
        case ResourceType.TOPIC:
            resolve.validate_topic_overrides(overrides, config)
        case ResourceType.BROKER:
            try:
                resolve.validate_broker_dynamic(overrides, per_broker=bool(resource.name))
            except ConfigError as error:  # Kafka's code for a broker's settings
                raise ApiError(Err.INVALID_REQUEST, error.message) from error
        case ResourceType.GROUP:
            resolve.validate_group_overrides(overrides, config)
        case ResourceType.CLIENT_METRICS:
            _validate_client_metrics(overrides)
        case ResourceType.BROKER_LOGGER:
            raise AssertionError("levels of loggers are no metadata")


def _validate_client_metrics(overrides: Mapping[str, str]) -> None:
    for name, value in overrides.items():
        if name not in CLIENT_METRICS_KEYS:
            raise ApiError(
                Err.INVALID_REQUEST,
                f"unknown key {name}: a subscription has {', '.join(sorted(CLIENT_METRICS_KEYS))}",
            )
        if name == "interval.ms" and not (value.isdecimal() and 100 <= int(value) <= 3_600_000):
            raise ConfigError(f"interval.ms={value}: expected 100 to 3600000 milliseconds")


def _declarations(resource: ConfigResource) -> Mapping[str, Key]:
    match resource.type:
        case ResourceType.TOPIC:
            return TopicConfig.KEYS
        case ResourceType.BROKER:
            return BrokerConfig.KEYS
        case ResourceType.GROUP:
            return GroupConfig.KEYS
        case ResourceType.CLIENT_METRICS | ResourceType.BROKER_LOGGER:
            return {}


def _inherited(declared: Key, resource: ConfigResource, config: BrokerConfig) -> str:
    """The text of a list that the resource does not override: where an append starts from."""
    if resource.type is ResourceType.BROKER:
        return declared.format(config.value(declared.name)) or ""
    return declared.format(resolve.inherited(declared, config)) or ""
