"""Where clients are sent: several listeners, and addresses that do not fit (S-9.20)."""

from __future__ import annotations

import socket

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def embedded_broker(config):
    import os

    if os.environ.get("ODRADEK_TEST_BOOTSTRAP"):
        pytest.skip("needs a broker that the test may configure")
    from odradek.testing import EmbeddedBroker

    return EmbeddedBroker(config)


def test_each_listener_tells_its_own_address(open_client, sent):
    """A client that comes in by one listener is sent to that listener, and both serve the data."""
    config = {
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }
    with embedded_broker(config) as broker:
        ports = broker.broker.ports
        assert len(set(ports.values())) == 2
        for port in ports.values():
            admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
            (node,) = admin.list_topics(timeout=30).brokers.values()
            assert node.port == port
        inside, outside = (
            open_client("confluent-kafka", f"127.0.0.1:{ports[name]}")
            for name in ("INSIDE", "OUTSIDE")
        )
        inside.produce("shared", [sent(b"from inside")])
        assert outside.read("shared", 1)[0].value == b"from inside"


def test_an_advertised_address_that_nobody_serves_breaks_clients(open_client, sent):
    """S-9.20: the bootstrap works, the metadata names the wrong address, and that is told."""
    wrong = free_port()
    config = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{wrong}"}
    with embedded_broker(config) as broker:
        settings = {"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 1500}
        errors = []
        producer = Producer({**settings, "error_cb": lambda error: errors.append(str(error))})
        (node,) = producer.list_topics(timeout=30).brokers.values()
        assert node.port == wrong
        failed = []
        producer.produce("t", b"x", on_delivery=lambda error, _: failed.append(error))
        producer.flush(30)
        assert failed[0] is not None
        assert any(str(wrong) in error for error in errors), errors


def test_the_right_advertised_address_works(open_client, sent):
    """S-9.20: and when it fits, it works, under another name for the same place."""
    port = free_port()
    config = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://localhost:{port}",
    }
    with embedded_broker(config) as broker:
        client = open_client("confluent-kafka", broker.bootstrap_servers)
        assert client.produce("t", [sent(b"x")]) == [0]
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        (node,) = admin.list_topics(timeout=30).brokers.values()
        assert node.host == "localhost"


def test_a_client_of_nobody_gives_up():
    """A wrong bootstrap address is the client's own time-out."""
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=0.3)
