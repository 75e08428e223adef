"""IncrementalAlterConfigs: set, delete, append and subtract on overrides."""

from __future__ import annotations

import pytest

from odradek.config.alter import AlterOp, OpType, apply_ops
from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError
from odradek.config.topic import TopicConfig
from odradek.errors import ApiError, Err

KEYS = TopicConfig.KEYS


def test_set_and_delete() -> None:
    current = {"retention.ms": "1", "segment.ms": "2"}
    ops = [AlterOp("retention.ms", OpType.SET, "5"), AlterOp("segment.ms", OpType.DELETE)]
    assert apply_ops(current, ops, KEYS) == {"retention.ms": "5"}
    assert current == {"retention.ms": "1", "segment.ms": "2"}
    assert apply_ops({}, [AlterOp("segment.ms", OpType.DELETE)], KEYS) == {}


def test_append_starts_from_the_override_else_what_is_inherited_else_the_default() -> None:
    append = [AlterOp("cleanup.policy", OpType.APPEND, "compact")]
    assert apply_ops({}, append, KEYS) == {"cleanup.policy": "delete,compact"}
    assert apply_ops({}, append, KEYS, {"cleanup.policy": ""}) == {"cleanup.policy": "compact"}
    assert apply_ops({"cleanup.policy": "compact"}, append, KEYS) == {"cleanup.policy": "compact"}


def test_subtract_takes_out_every_named_item() -> None:
    name = "leader.replication.throttled.replicas"
    current = {name: "0:1,0:2,1:1"}
    assert apply_ops(current, [AlterOp(name, OpType.SUBTRACT, "0:2,1:1")], KEYS) == {name: "0:1"}
    assert apply_ops({name: "0:1"}, [AlterOp(name, OpType.SUBTRACT, "0:1")], KEYS) == {name: ""}


def test_only_lists_can_be_appended_to() -> None:
    with pytest.raises(ConfigError, match="not a list"):
        apply_ops({}, [AlterOp("retention.ms", OpType.APPEND, "1")], KEYS)
    with pytest.raises(ConfigError, match="did you mean"):
        apply_ops({}, [AlterOp("cleanup.polic", OpType.APPEND, "1")], KEYS)
    ops = [AlterOp("sasl.enabled.mechanisms", OpType.APPEND, "PLAIN")]
    assert apply_ops({}, ops, BrokerConfig.KEYS) == {"sasl.enabled.mechanisms": "GSSAPI,PLAIN"}


def test_a_request_is_refused_that_names_a_key_twice_or_without_value() -> None:
    twice = [AlterOp("retention.ms", OpType.SET, "1"), AlterOp("retention.ms", OpType.DELETE)]
    for ops in (twice, [AlterOp("retention.ms", OpType.SET, None)]):
        with pytest.raises(ApiError) as caught:
            apply_ops({}, ops, KEYS)
        assert caught.value.err is Err.INVALID_REQUEST
