"""`odradek configs` reads changes as kafka-configs does and shows where values come from."""

from __future__ import annotations

import pytest
import typer

from odradek.client import (
    AlterOp,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceKind,
)
from odradek.client.configs import ConfigSynonym
from odradek.tools.configs import (
    EntityType,
    choose_name,
    describe_lines,
    is_own,
    parse_changes,
)


def test_changes_are_read_with_commas_and_brackets() -> None:
    assert parse_changes(["segment.ms=1,cleanup.policy=[compact,delete]"], ["a, b"]) == [
        ConfigChange("segment.ms", "1"),
        ConfigChange("cleanup.policy", "compact,delete"),
        ConfigChange("a", None, AlterOp.DELETE),
        ConfigChange("b", None, AlterOp.DELETE),
    ]


@pytest.mark.parametrize("add", ["a", "=1", "a=[1", "a=1,b"])
def test_what_is_no_change_is_refused(add: str) -> None:
    with pytest.raises(typer.BadParameter, match="KEY=VALUE"):
        parse_changes([add], ())


def test_one_setting_is_not_changed_twice() -> None:
    with pytest.raises(typer.BadParameter, match="twice"):
        parse_changes(["a=1"], ["a"])


def test_only_brokers_have_a_default() -> None:
    assert choose_name(EntityType.BROKERS, None, True) == ""
    assert choose_name(EntityType.TOPICS, None, False) is None
    with pytest.raises(typer.BadParameter):
        choose_name(EntityType.TOPICS, None, True)
    with pytest.raises(typer.BadParameter):
        choose_name(EntityType.BROKERS, "1", True)


def test_a_setting_is_shown_with_its_synonyms() -> None:
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    synonym = ConfigSynonym("segment.ms", "60000", source)
    entry = ConfigEntry("segment.ms", "60000", source, False, False, (synonym,))
    resource = ConfigResource(ResourceKind.TOPIC, "t")
    assert is_own(resource, entry)
    assert list(describe_lines(EntityType.TOPICS, resource, [entry], False)) == [
        "Dynamic configs for topic t are:",
        "  segment.ms=60000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.ms=60000}",
    ]
    default = ConfigResource(ResourceKind.BROKER, "")
    assert not is_own(default, entry)
    assert list(describe_lines(EntityType.BROKERS, default, [], False)) == [
        "Default configs for brokers in the cluster are:"
    ]
