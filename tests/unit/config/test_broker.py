"""A broker's configuration: read from text, with notes for what has no effect and clear errors."""

from __future__ import annotations

import pytest

from odradek.config.broker import BrokerConfig, data_folder
from odradek.config.declare import ConfigError
from odradek.config.kinds import Password
from odradek.errors import ApiError, Err


def notes_of(texts: dict[str, str]) -> dict[str, str]:
    _, notes = BrokerConfig.from_strings(texts)
    return {note.key: note.text for note in notes}


def test_attributes_are_keys_with_underscores_and_types() -> None:
    config, notes = BrokerConfig.from_strings(
        {
            "log.segment.bytes": " 1048576 ",
            "auto.create.topics.enable": "FALSE",
            "log.cleaner.min.cleanable.ratio": "0.25",
            "log.cleanup.policy": "compact, delete",
            "log.dirs": "/a,/b",
            "log.retention.ms": "-1",
        }
    )
    assert notes == []
    assert config.log_segment_bytes == 1048576
    assert config.auto_create_topics_enable is False
    assert config.log_cleaner_min_cleanable_ratio == 0.25
    assert config.log_cleanup_policy == {"compact", "delete"}
    assert config.log_dirs == ("/a", "/b")
    assert config.log_retention_ms == -1
    assert config.log_retention_minutes is None
    assert config.given["log.segment.bytes"] == "1048576"


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("log.retention.hours", "abc", "log.retention.hours=abc: expected a whole number"),
        ("num.partitions", "1_000", "num.partitions=1_000: expected a whole number"),
        ("num.partitions", "0", "num.partitions=0: expected at least 1"),
        (
            "num.partitions",
            "3000000000",
            "num.partitions=3000000000: expected a whole number between -2147483648 and 2147483647",
        ),
        ("log.preallocate", "yes", "log.preallocate=yes: expected true or false"),
        (
            "log.message.timestamp.type",
            "Now",
            "log.message.timestamp.type=Now: expected one of CreateTime, LogAppendTime",
        ),
        ("log.retention.minutes", "0", "log.retention.minutes=0: expected at least 1, or -1"),
        (
            "log.cleanup.policy",
            "delete,shrink",
            "log.cleanup.policy=delete,shrink: expected a list of compact, delete",
        ),
        (
            "remote.log.storage.system.enable",
            "true",
            "remote.log.storage.system.enable=true: not true: there is no tiered storage",
        ),
    ],
)
def test_a_bad_value_names_the_key_and_what_is_allowed(key: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig.from_strings({key: text})
    assert str(caught.value) == message
    assert isinstance(caught.value, ApiError)
    assert caught.value.err is Err.INVALID_CONFIG


def test_an_unknown_key_gets_a_note_with_the_nearest_one() -> None:
    assert notes_of({"log.retetnion.ms": "5"}) == {
        "log.retetnion.ms": "unknown key log.retetnion.ms, did you mean log.retention.ms?"
    }
    assert notes_of({"xyzzy": "5"}) == {"xyzzy": "unknown key xyzzy"}


def test_keys_without_effect_get_a_note_with_the_reason() -> None:
    notes = notes_of({"num.network.threads": "8", "replica.lag.time.max.ms": "1000"})
    assert notes["num.network.threads"] == "has no effect: one thread owns all connections"
    assert "replication" in notes["replica.lag.time.max.ms"]


def test_a_key_for_one_listener_is_checked_like_the_key() -> None:
    assert "security" in notes_of({"listener.name.inside.ssl.client.auth": "none"}).popitem()[1]
    with pytest.raises(ConfigError, match=r"ssl\.client\.auth=maybe"):
        BrokerConfig.from_strings({"listener.name.inside.ssl.client.auth": "maybe"})
    assert "did you mean" in notes_of({"listener.name.inside.ssl.client.oath": "x"}).popitem()[1]


def test_node_id_and_broker_id_are_one_number() -> None:
    for key in ("node.id", "broker.id"):
        config, _ = BrokerConfig.from_strings({key: "7"})
        assert (config.node_id, config.broker_id) == (7, 7)
    assert BrokerConfig.from_strings({})[0].node_id == 1
    with pytest.raises(ConfigError, match="differ"):
        BrokerConfig.from_strings({"node.id": "1", "broker.id": "2"})


def test_log_dirs_go_before_log_dir_and_the_users_folder_is_the_default() -> None:
    assert BrokerConfig.from_strings({"log.dir": "/a"})[0].log_dirs == ("/a",)
    assert BrokerConfig.from_strings({"log.dir": "/a", "log.dirs": "/b"})[0].log_dirs == ("/b",)
    home = {"HOME": "/home/k"}
    assert BrokerConfig.from_strings({}, home)[0].log_dirs == ("/home/k/.local/share/odradek/data",)
    assert data_folder({**home, "XDG_DATA_HOME": "/x"}) == "/x/odradek/data"
    assert data_folder({}) is None
    with pytest.raises(ConfigError, match="each folder once"):
        BrokerConfig.from_strings({"log.dirs": "/a,/a"})


def test_a_secret_is_not_shown() -> None:
    config, _ = BrokerConfig.from_strings({"ssl.key.password": "hush"})
    assert config.ssl_key_password == "hush"
    assert isinstance(config.ssl_key_password, Password)
    assert "hush" not in repr(config)


def test_a_configuration_does_not_change_but_can_be_replaced() -> None:
    config = BrokerConfig(log_segment_bytes=1000)
    with pytest.raises(AttributeError, match="does not change"):
        config.log_segment_bytes = 5  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del config.log_segment_bytes
    changed = config.replace(num_partitions=3)
    assert (changed.log_segment_bytes, changed.num_partitions) == (1000, 3)
    assert changed.given == {"log.segment.bytes": "1000", "num.partitions": "3"}
    assert config.num_partitions == 1
    assert config == BrokerConfig(log_segment_bytes=1000)
    assert hash(config) == hash(BrokerConfig(log_segment_bytes=1000))
    assert config != changed
    assert repr(config) == "BrokerConfig(log_segment_bytes=1000)"
    with pytest.raises(ConfigError, match="at least 14"):
        BrokerConfig(log_segment_bytes=1)
    with pytest.raises(TypeError, match="no_such_key"):
        BrokerConfig(no_such_key=1)  # type: ignore[call-arg]


def test_objects_have_slots_not_a_dict() -> None:
    assert not hasattr(BrokerConfig(), "__dict__")


def test_a_zookeeper_era_file_is_accepted() -> None:
    config, notes = BrokerConfig.from_strings(
        {
            "broker.id": "0",
            "port": "9092",
            "num.network.threads": "2",
            "num.io.threads": "8",
            "socket.send.buffer.bytes": "1048576",
            "socket.receive.buffer.bytes": "1048576",
            "socket.request.max.bytes": "104857600",
            "log.dirs": "/var/kafka",
            "num.partitions": "2",
            "log.retention.hours": "168",
            "log.segment.bytes": "536870912",
            "log.retention.check.interval.ms": "60000",
            "log.cleaner.enable": "false",
            "zookeeper.connect": "localhost:2181",
            "zookeeper.connection.timeout.ms": "1000000",
        }
    )
    assert config.zookeeper_connect == "localhost:2181"
    assert not any("unknown" in note.text for note in notes)
