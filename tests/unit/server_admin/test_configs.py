"""A reader may conclude: settings are shown with their source and changed by both requests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from odradek.config.describe import ConfigSource
from odradek.errors import Err
from odradek.metadata import ResourceType
from odradek.protocol.messages import alter_configs, incremental_alter_configs
from odradek.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from odradek.protocol.messages.list_config_resources import ListConfigResourcesRequest

SET, DELETE, APPEND = 0, 1, 2


@pytest.fixture
def topic_desk(open_desk: Callable[..., Any]) -> Any:
    desk = open_desk(log_retention_ms="5000")
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    desk.ask(CreateTopicsRequest(topics=[topic]))
    return desk


def describe(
    desk: Any, kind: int, name: str, keys: list[str] | None = None, version: int = 4, **asked: bool
) -> Any:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    request = DescribeConfigsRequest(resources=[resource], **asked)
    (result,) = desk.ask(request, version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def change(desk: Any, kind: int, name: str, *ops: tuple[str, int, str | None], **more: Any) -> Any:
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            incremental_alter_configs.AlterableConfig(name=key, config_operation=op, value=value)
            for key, op, value in ops
        ],
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource], **more)
    (response,) = desk.ask(request).responses
    assert (response.resource_type, response.resource_name) == (kind, name)
    return response


class TestDescribe:
    @pytest.mark.parametrize("version", range(1, 5))
    def test_a_topic_at_every_version(self, topic_desk: Any, version: int) -> None:
        result = describe(topic_desk, ResourceType.TOPIC, "t", ["retention.ms"], version)
        assert result.error_code == Err.NONE
        (entry,) = result.configs
        assert (entry.name, entry.value) == ("retention.ms", "5000")
        assert entry.config_source == ConfigSource.STATIC_BROKER
        assert entry.synonyms == []
        assert not entry.documentation

    def test_synonyms_and_documentation_when_asked_for(self, topic_desk: Any) -> None:
        change(topic_desk, ResourceType.TOPIC, "t", ("retention.ms", SET, "7"))
        (entry,) = describe(
            topic_desk,
            ResourceType.TOPIC,
            "t",
            ["retention.ms"],
            include_synonyms=True,
            include_documentation=True,
        ).configs
        assert (entry.value, entry.config_source) == ("7", ConfigSource.DYNAMIC_TOPIC)
        assert [(s.name, s.value) for s in entry.synonyms][:2] == [
            ("retention.ms", "7"),
            ("log.retention.ms", "5000"),
        ]
        assert entry.documentation

    def test_no_keys_means_all_keys(self, topic_desk: Any) -> None:
        everything = describe(topic_desk, ResourceType.TOPIC, "t").configs
        assert len(everything) > 20
        assert describe(topic_desk, ResourceType.TOPIC, "t", []).configs == everything

    def test_brokers(self, topic_desk: Any) -> None:
        assert describe(topic_desk, ResourceType.BROKER, "").configs == []
        change(topic_desk, ResourceType.BROKER, "", ("log.retention.ms", SET, "6000"))
        (entry,) = describe(topic_desk, ResourceType.BROKER, "").configs
        assert (entry.name, entry.value) == ("log.retention.ms", "6000")
        values = {c.name: c for c in describe(topic_desk, ResourceType.BROKER, "1").configs}
        assert values["log.retention.ms"].config_source == ConfigSource.DYNAMIC_DEFAULT_BROKER
        assert values["log.dirs"].read_only

    @pytest.mark.parametrize(
        ("kind", "name", "err"),
        [
            (ResourceType.TOPIC, "nope", Err.UNKNOWN_TOPIC_OR_PARTITION),
            (ResourceType.TOPIC, "a/b", Err.INVALID_TOPIC_EXCEPTION),
            (ResourceType.BROKER, "7", Err.INVALID_REQUEST),
            (ResourceType.BROKER, "x", Err.INVALID_REQUEST),
            (ResourceType.BROKER_LOGGER, "7", Err.INVALID_REQUEST),
            (ResourceType.GROUP, "", Err.INVALID_REQUEST),
            (99, "x", Err.INVALID_REQUEST),
        ],
    )
    def test_what_is_not_there(self, desk: Any, kind: int, name: str, err: Err) -> None:
        result = describe(desk, kind, name)
        assert result.error_code == err
        assert result.error_message


class TestAlter:
    def test_incremental_changes_and_refusals(self, topic_desk: Any) -> None:
        """D0-05: a topic is altered in place."""
        ok = change(
            topic_desk,
            ResourceType.TOPIC,
            "t",
            ("retention.ms", SET, "7"),
            ("cleanup.policy", APPEND, "compact"),
        )
        assert ok.error_code == Err.NONE
        overrides = topic_desk.controller.image.topics["t"].overrides
        assert set(overrides) == {"retention.ms", "cleanup.policy"}
        for refused, err in (
            (change(topic_desk, ResourceType.TOPIC, "u"), Err.UNKNOWN_TOPIC_OR_PARTITION),
            (change(topic_desk, ResourceType.TOPIC, "t", ("x", SET, "1")), Err.INVALID_CONFIG),
            (change(topic_desk, ResourceType.TOPIC, "t", ("x", 9, "1")), Err.INVALID_REQUEST),
            (change(topic_desk, 99, "t"), Err.INVALID_REQUEST),
        ):
            assert refused.error_code == err
            assert refused.error_message

    @pytest.mark.parametrize("version", range(3))
    def test_the_older_request_replaces_all(self, topic_desk: Any, version: int) -> None:
        change(topic_desk, ResourceType.TOPIC, "t", ("retention.ms", SET, "7"))

        def replace(kind: int, name: str, **values: str) -> Any:
            configs = [
                alter_configs.AlterableConfig(name=key.replace("_", "."), value=value)
                for key, value in values.items()
            ]
            resource = alter_configs.AlterConfigsResource(
                resource_type=kind, resource_name=name, configs=configs
            )
            request = alter_configs.AlterConfigsRequest(resources=[resource])
            (response,) = topic_desk.ask(request, version).responses
            return response

        assert replace(ResourceType.TOPIC, "t", segment_ms="5000").error_code == Err.NONE
        assert topic_desk.controller.image.topics["t"].overrides == {"segment.ms": "5000"}
        assert replace(ResourceType.TOPIC, "u").error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
        assert replace(ResourceType.BROKER_LOGGER, "1").error_code == Err.INVALID_REQUEST


class TestLoggers:
    NAME = "odradek.controller.shell"

    @pytest.fixture(autouse=True)
    def _put_back(self) -> Iterator[None]:
        logger = logging.getLogger(self.NAME)
        level = logger.level
        yield
        logger.setLevel(level)

    def level(self, desk: Any) -> str:
        (entry,) = describe(desk, ResourceType.BROKER_LOGGER, "1", [self.NAME]).configs
        assert entry.config_source == ConfigSource.DYNAMIC_BROKER_LOGGER
        level: str = entry.value
        return level

    def test_levels_are_set_and_given_back(self, desk: Any) -> None:
        before = self.level(desk)
        kind = ResourceType.BROKER_LOGGER
        assert change(desk, kind, "1", (self.NAME, SET, "TRACE")).error_code == Err.NONE
        assert self.level(desk) == "TRACE"
        assert change(desk, kind, "1", (self.NAME, DELETE, None)).error_code == Err.NONE
        assert self.level(desk) == before
        change(desk, kind, "1", (self.NAME, SET, "DEBUG"), validate_only=True)
        assert self.level(desk) == before

    @pytest.mark.parametrize(
        ("op", "err"),
        [
            (("no.such.logger", SET, "INFO"), Err.INVALID_CONFIG),
            ((NAME, SET, "LOUD"), Err.INVALID_CONFIG),
            ((NAME, APPEND, "INFO"), Err.INVALID_REQUEST),
            (("root", DELETE, None), Err.INVALID_REQUEST),
        ],
    )
    def test_what_cannot_be(self, desk: Any, op: tuple[str, int, str | None], err: Err) -> None:
        refused = change(desk, ResourceType.BROKER_LOGGER, "1", op)
        assert refused.error_code == err
        assert refused.error_message


def test_list_config_resources(topic_desk: Any) -> None:
    change(topic_desk, ResourceType.CLIENT_METRICS, "m", ("interval.ms", SET, "1000"))
    change(topic_desk, ResourceType.GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"))

    def listed(version: int, *kinds: int) -> set[tuple[int, str]]:
        response = topic_desk.ask(ListConfigResourcesRequest(resource_types=list(kinds)), version)
        assert response.error_code == Err.NONE
        return {(r.resource_type, r.resource_name) for r in response.config_resources}

    assert listed(0) == {(ResourceType.CLIENT_METRICS, "m")}
    assert listed(1, ResourceType.TOPIC) == {(ResourceType.TOPIC, "t")}
    assert listed(1) == {
        (ResourceType.TOPIC, "t"),
        (ResourceType.BROKER, "1"),
        (ResourceType.BROKER_LOGGER, "1"),
        (ResourceType.CLIENT_METRICS, "m"),
        (ResourceType.GROUP, "g"),
    }
    unknown = topic_desk.ask(ListConfigResourcesRequest(resource_types=[77]), 1)
    assert unknown.error_code == Err.UNSUPPORTED_VERSION
