"""Listeners: what is bound, what is advertised, and what is refused with a reason."""

from __future__ import annotations

import pytest

from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError
from odradek.config.listeners import (
    Listener,
    SecurityProtocol,
    advertised_listeners,
    bound_listeners,
    inter_broker_listener,
)

PLAIN = SecurityProtocol.PLAINTEXT


def broker(**texts: str) -> BrokerConfig:
    return BrokerConfig.from_strings({k.replace("_", "."): v for k, v in texts.items()})[0]


def test_the_default_is_loopback() -> None:
    expected = (Listener("PLAINTEXT", "127.0.0.1", 9092, PLAIN),)
    assert bound_listeners(BrokerConfig()) == expected
    assert advertised_listeners(BrokerConfig(), "box") == expected


def test_names_hosts_and_ports() -> None:
    config = broker(
        listeners="plaintext://:9092,OUTSIDE://[::1]:0",
        listener_security_protocol_map="OUTSIDE:PLAINTEXT",
    )
    assert bound_listeners(config) == (
        Listener("PLAINTEXT", "", 9092, PLAIN),
        Listener("OUTSIDE", "::1", 0, PLAIN),
    )
    assert [str(listener) for listener in advertised_listeners(config, "box")] == [
        "PLAINTEXT://box:9092",
        "OUTSIDE://[::1]:0",
    ]


def test_advertised_listeners_go_their_own_way() -> None:
    config = broker(
        listeners="PLAINTEXT://0.0.0.0:9092", advertised_listeners="PLAINTEXT://kafka.example:19092"
    )
    assert advertised_listeners(config, "box") == (
        Listener("PLAINTEXT", "kafka.example", 19092, PLAIN),
    )


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"listeners": "PLAINTEXT//:9092"}, "expected NAME://host:port"),
        ({"listeners": "PLAINTEXT://host"}, "expected NAME://host:port"),
        ({"listeners": "PLAINTEXT://host:70000"}, "expected NAME://host:port"),
        ({"listeners": "PLAINTEXT://::1:9092"}, "IPv6 address in brackets"),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "each listener name once"),
        (
            {"listeners": "PLAINTEXT://:1,A://:1", "listener.security.protocol.map": "A:PLAINTEXT"},
            "each port once",
        ),
        ({"listeners": "INSIDE://:1"}, "add INSIDE:PLAINTEXT to listener.security.protocol.map"),
        ({"listener.security.protocol.map": "A:TLS"}, "expected NAME:PROTOCOL"),
        ({"listeners": "SSL://:9093"}, "comes later with security"),
        ({"listeners": "SASL_PLAINTEXT://:9093"}, "comes later with security"),
        ({"listeners": ""}, "at least one"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "no client can connect to"),
        ({"advertised.listeners": "OTHER://a:1"}, "OTHER has no protocol"),
        ({"advertised.listeners": "SSL://a:1"}, "not among listeners (PLAINTEXT)"),
    ],
)
def test_what_is_refused(texts: dict[str, str], message: str) -> None:
    config, _ = BrokerConfig.from_strings(texts)
    with pytest.raises(ConfigError) as caught:
        advertised_listeners(config, "box")
    assert message in str(caught.value)


def test_a_combined_file_of_kafka_4_leaves_the_controller_out() -> None:
    config = broker(
        process_roles="broker,controller",
        listeners="PLAINTEXT://:9092,CONTROLLER://:9093",
        advertised_listeners="PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        controller_listener_names="CONTROLLER",
    )
    assert [listener.name for listener in bound_listeners(config)] == ["PLAINTEXT"]
    assert [str(listener) for listener in advertised_listeners(config, "box")] == [
        "PLAINTEXT://localhost:9092"
    ]


def test_files_from_before_listeners() -> None:
    config = broker(host_name="10.0.0.1", port="9095")
    assert [str(listener) for listener in bound_listeners(config)] == ["PLAINTEXT://10.0.0.1:9095"]
    config = broker(port="9095", advertised_host_name="kafka.example", advertised_port="80")
    assert [str(listener) for listener in advertised_listeners(config, "box")] == [
        "PLAINTEXT://kafka.example:80"
    ]
    config = broker(listeners="PLAINTEXT://127.0.0.1:1", port="9095")
    assert bound_listeners(config)[0].port == 1


def test_the_listener_between_brokers() -> None:
    assert inter_broker_listener(BrokerConfig()) == "PLAINTEXT"
    named = {"listeners": "INSIDE://:1", "listener.security.protocol.map": "INSIDE:PLAINTEXT"}
    config, _ = BrokerConfig.from_strings({**named, "inter.broker.listener.name": "INSIDE"})
    assert inter_broker_listener(config) == "INSIDE"
    config, _ = BrokerConfig.from_strings(named)
    assert inter_broker_listener(config) == "INSIDE"
    config, _ = BrokerConfig.from_strings({"inter.broker.listener.name": "INSIDE"})
    with pytest.raises(ConfigError, match="expected one of PLAINTEXT"):
        inter_broker_listener(config)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "[::]"])
def test_all_interfaces_are_advertised_by_name(host: str) -> None:
    """S-9.20: a listener on every interface tells clients the machine's name, not the wildcard."""
    config, _ = BrokerConfig.from_strings({"listeners": f"PLAINTEXT://{host}:9092"})
    (told,) = advertised_listeners(config, "broker.example")
    assert (told.host, told.port) == ("broker.example", 9092)
