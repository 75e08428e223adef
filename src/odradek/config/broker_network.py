"""Broker keys about listeners, sockets and connections."""

from __future__ import annotations

from odradek.config.checks import at_least, at_least_or, one_of
from odradek.config.declare import (
    CLUSTER_WIDE,
    PER_BROKER,
    Settings,
    key,
    key_family,
    later,
    no_use,
)
from odradek.config.kinds import INT_MAX, Int, List, Long
from odradek.config.units import KIB, MIB, MINUTE_MS


@key_family("Listeners and connections")
class NetworkKeys(Settings):
    """Broker keys about listeners, sockets and connections."""

    listeners: List = key(
        "listeners",
        default=("PLAINTEXT://127.0.0.1:9092",),
        dynamic=PER_BROKER,
        doc="Addresses to listen on, NAME://host:port, separated by commas; port 0 picks one.",
    )
    advertised_listeners: List | None = key(
        "advertised.listeners",
        default=None,
        doc="Addresses that clients are told to connect to; those of listeners when not set.",
    )
    listener_security_protocol_map: str = key(
        "listener.security.protocol.map",
        default="PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        dynamic=PER_BROKER,
        doc="Security protocol of each listener name, NAME:PROTOCOL.",
    )
    inter_broker_listener_name: str | None = key(
        "inter.broker.listener.name", default=None, doc="Listener that the other brokers use."
    )
    security_inter_broker_protocol: str = key(
        "security.inter.broker.protocol",
        default="PLAINTEXT",
        check=one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        doc="Protocol between brokers where no inter.broker.listener.name is set.",
    )
    socket_send_buffer_bytes: Int = key(
        "socket.send.buffer.bytes",
        default=100 * KIB,
        check=at_least_or(1, -1),
        doc="SO_SNDBUF of accepted connections; -1 leaves it to the kernel.",
    )
    socket_receive_buffer_bytes: Int = key(
        "socket.receive.buffer.bytes",
        default=-1,
        check=at_least_or(1, -1),
        doc="SO_RCVBUF of accepted connections; -1 leaves it to the kernel.",
    )
    socket_request_max_bytes: Int = key(
        "socket.request.max.bytes",
        default=100 * MIB,
        check=at_least(1),
        doc="Largest request accepted; a longer one closes the connection.",
    )
    socket_listen_backlog_size: Int = key(
        "socket.listen.backlog.size",
        default=1024,
        check=at_least(1),
        doc="Connections the kernel holds until they are accepted.",
    )
    connections_max_idle_ms: Long = key(
        "connections.max.idle.ms",
        default=10 * MINUTE_MS,
        doc="Close a connection that has been silent this long.",
    )
    max_connections: Int = key(
        "max.connections",
        default=INT_MAX,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Most connections at a time, over all listeners.",
    )
    max_connections_per_ip: Int = key(
        "max.connections.per.ip",
        default=INT_MAX,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Most connections at a time from one address.",
    )
    max_connections_per_ip_overrides: str = key(
        "max.connections.per.ip.overrides",
        default="",
        dynamic=CLUSTER_WIDE,
        doc="Other limits for some addresses, address:count.",
    )
    max_connection_creation_rate: Int = key(
        "max.connection.creation.rate",
        default=INT_MAX,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        use=later("quotas"),
        doc="Most new connections per second.",
    )
    queued_max_requests: Int = key(
        "queued.max.requests",
        default=500,
        check=at_least(1),
        use=no_use(
            "a connection is read only when its last request is answered, so nothing queues"
        ),
        doc="Requests waiting for a thread in Kafka.",
    )
    queued_max_request_bytes: Long = key(
        "queued.max.request.bytes",
        default=-1,
        use=no_use(
            "a connection is read only when its last request is answered, so nothing queues"
        ),
        doc="Bytes of waiting requests in Kafka.",
    )
    request_timeout_ms: Int = key(
        "request.timeout.ms",
        default=30_000,
        use=later("replication"),
        doc="Give up on a request to another node after this long.",
    )
    socket_connection_setup_timeout_ms: Long = key(
        "socket.connection.setup.timeout.ms",
        default=10_000,
        use=later("replication"),
        doc="First time-out of connecting to another node.",
    )
    socket_connection_setup_timeout_max_ms: Long = key(
        "socket.connection.setup.timeout.max.ms",
        default=30_000,
        use=later("replication"),
        doc="Longest time-out of connecting to another node.",
    )
    connection_failed_authentication_delay_ms: Int = key(
        "connection.failed.authentication.delay.ms",
        default=100,
        check=at_least(0),
        use=later("security"),
        doc="Hold back the answer to a failed log-in this long.",
    )
    connections_max_reauth_ms: Long = key(
        "connections.max.reauth.ms",
        default=0,
        use=later("security"),
        doc="Ask clients to log in again after this long.",
    )
    early_start_listeners: List | None = key(
        "early.start.listeners",
        default=None,
        use=no_use("there is no separate authorizer to wait for"),
        doc="Listeners opened before the node is ready.",
    )
