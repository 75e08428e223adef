"""Calls about settings: describe, change, list what has any.

A resource is a kind and a name; the empty broker name stands for the default of all brokers.
Settings of one broker are known by that broker only, so those requests go to it; the others go to
the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from odradek.client.calls import Calls, settle
from odradek.client.failures import check, error_of
from odradek.client.targets import ANY_BROKER, CONTROLLER, Node, Target
from odradek.errors import ApiError, Err
from odradek.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from odradek.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


class ResourceKind(IntEnum):
    """What can have settings, with its code on the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from, with its code on the wire."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class AlterOp(IntEnum):
    """What to do with a setting; the last two are for lists."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(NamedTuple):
    """A thing with settings."""

    kind: ResourceKind
    name: str


class ConfigSynonym(NamedTuple):
    """One of the places that a value could come from, in the order of precedence."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting as a broker describes it; `value` is None when it is sensitive."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    documentation: str | None = None


class ConfigChange(NamedTuple):
    """One change of one setting."""

    name: str
    value: str | None
    op: AlterOp = AlterOp.SET


ALL_TOPICS_SINCE: Final = 1
_THROUGH_ITS_BROKER: Final = frozenset({ResourceKind.BROKER, ResourceKind.BROKER_LOGGER})


class ConfigCalls(Calls):
    """Settings of topics, brokers, loggers, groups."""

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = None,
        include_synonyms: bool = True,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | ApiError]:
        """All settings (or `keys` only) of each resource, by name."""

        async def ask(
            target: Target, theirs: list[ConfigResource]
        ) -> dict[ConfigResource, dict[str, ConfigEntry] | ApiError]:
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=resource.kind,
                        resource_name=resource.name,
                        configuration_keys=None if keys is None else list(keys),
                    )
                    for resource in theirs
                ],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )
            reply = await self._router.call(request, DescribeConfigsResponse, to=target)
            return {
                ConfigResource(ResourceKind(result.resource_type), result.resource_name): error_of(
                    result.error_code, result.error_message
                )
                or {config.name: _entry(config) for config in result.configs}
                for result in reply.results
            }

        async def attempt(
            pending: list[ConfigResource],
        ) -> dict[ConfigResource, dict[str, ConfigEntry] | ApiError]:
            answers: dict[ConfigResource, dict[str, ConfigEntry] | ApiError] = {}
            for target, theirs in _by_target(pending, ANY_BROKER).items():
                answers.update(await settle(theirs, ask(target, theirs)))
            return answers

        return await self._router.call_each("DescribeConfigs", resources, attempt)

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        *,
        validate_only: bool = False,
    ) -> dict[ConfigResource, ApiError | None]:
        """Change single settings; those that are not named stay as they are (KIP-339)."""

        async def ask(
            target: Target, theirs: list[ConfigResource]
        ) -> dict[ConfigResource, ApiError | None]:
            request = IncrementalAlterConfigsRequest(
                resources=[_altered(resource, changes[resource]) for resource in theirs],
                validate_only=validate_only,
            )
            # APPEND and SUBTRACT ignore what is there, or not there, already: safe to repeat.
            reply = await self._router.call(request, IncrementalAlterConfigsResponse, to=target)
            return {
                ConfigResource(ResourceKind(result.resource_type), result.resource_name): error_of(
                    result.error_code, result.error_message
                )
                for result in reply.responses
            }

        async def attempt(
            pending: list[ConfigResource],
        ) -> dict[ConfigResource, ApiError | None]:
            answers: dict[ConfigResource, ApiError | None] = {}
            for target, theirs in _by_target(pending, CONTROLLER).items():
                answers.update(await settle(theirs, ask(target, theirs)))
            return answers

        return await self._router.call_each("IncrementalAlterConfigs", changes, attempt)

    async def list_config_resources(
        self, kinds: Iterable[ResourceKind] = ()
    ) -> list[ConfigResource]:
        """Resources that have settings of their own; of the given kinds, or of all."""
        wanted = list(kinds)
        reply = await self._router.call(
            ListConfigResourcesRequest(resource_types=[int(kind) for kind in wanted]),
            ListConfigResourcesResponse,
            # Version 0 knows one kind, client metrics.
            min_version=0 if wanted == [ResourceKind.CLIENT_METRICS] else ALL_TOPICS_SINCE,
        )
        check(reply.error_code)
        return [
            ConfigResource(ResourceKind(found.resource_type), found.resource_name)
            for found in reply.config_resources
        ]


def _by_target(
    resources: Iterable[ConfigResource], otherwise: Target
) -> dict[Target, list[ConfigResource]]:
    targets: dict[Target, list[ConfigResource]] = {}
    for resource in resources:
        own = resource.kind in _THROUGH_ITS_BROKER and resource.name != ""
        target: Target = Node(_node_id(resource)) if own else otherwise
        targets.setdefault(target, []).append(resource)
    return targets


def _node_id(resource: ConfigResource) -> int:
    if not resource.name.isdigit():
        raise ApiError(
            Err.INVALID_REQUEST, f"a broker is named by its id, which {resource.name!r} is not"
        )
    return int(resource.name)


def _altered(resource: ConfigResource, changes: Sequence[ConfigChange]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=resource.kind,
        resource_name=resource.name,
        configs=[
            AlterableConfig(
                name=change.name,
                config_operation=change.op,
                value=None if change.op is AlterOp.DELETE else change.value,
            )
            for change in changes
        ],
    )


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    return ConfigEntry(
        name=config.name,
        value=config.value,
        source=_source(config.config_source),
        read_only=config.read_only,
        sensitive=config.is_sensitive,
        synonyms=tuple(
            ConfigSynonym(synonym.name, synonym.value, _source(synonym.source))
            for synonym in config.synonyms
        ),
        documentation=config.documentation,
    )


def _source(code: int) -> ConfigSource:
    try:
        return ConfigSource(code)
    except ValueError:
        return ConfigSource.UNKNOWN
