"""Listeners: addresses to bind, addresses to tell clients, and the security of each by its name.

    listeners=PLAINTEXT://:9092,OUTSIDE://[::1]:9093     where to listen; no host: every interface
    advertised.listeners=PLAINTEXT://kafka.example:9092  what clients are told; else the same
    listener.security.protocol.map=OUTSIDE:PLAINTEXT     protocol by name, known by its own name too

Files from before listeners existed say host.name, port, advertised.host.name and advertised.port;
these count where the newer keys are not set. Listeners of KRaft controllers are left out, so that a
combined server.properties of Kafka 4 starts a broker. Pure: nothing is resolved or bound here.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError

WILDCARDS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 (recognised, not bound)


class SecurityProtocol(IntEnum):
    """How a listener's connections are secured, by the number on the wire."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


class Listener(NamedTuple):
    """One address. `port` 0: any free one, known once bound. `host` "": every interface."""

    name: str
    host: str
    port: int
    protocol: SecurityProtocol

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def bound_listeners(config: BrokerConfig) -> tuple[Listener, ...]:
    """Where to listen; ConfigError when an address, a name or a protocol is wrong."""
    listeners = _parse_all(config, "listeners", _bind_texts(config))
    if not listeners:
        raise ConfigError("listeners: expected at least one that is not a controller's")
    for listener in listeners:
        if listener.protocol is not SecurityProtocol.PLAINTEXT:
            raise ConfigError(
                f"listeners: {listener.name} uses {listener.protocol.name}, which comes later with "
                "security; use PLAINTEXT"
            )
    ports = [listener.port for listener in listeners if listener.port]
    if len(set(ports)) < len(ports):
        raise ConfigError(f"listeners={_joined(config.listeners)}: expected each port once")
    return listeners


def advertised_listeners(config: BrokerConfig, hostname: str) -> tuple[Listener, ...]:
    """What clients are told; `hostname` stands in for a listener bound to every interface.

    A port of 0 means the one that the listener of that name is bound to: fill it in after binding.
    """
    bound = bound_listeners(config)
    advertised = _parse_all(config, "advertised.listeners", _advertised_texts(config, bound))
    for listener in advertised:
        if config.advertised_listeners and listener.host in WILDCARDS and listener.host:
            raise ConfigError(
                f"advertised.listeners: {listener} means every interface, which no client can "
                "connect to; set advertised.listeners to a name or address that clients reach"
            )
    names = {listener.name for listener in bound}
    for listener in advertised:
        if listener.name not in names:
            raise ConfigError(
                f"advertised.listeners: {listener.name} is not among listeners "
                f"({_joined(sorted(names))})"
            )
    return tuple(
        listener._replace(host=hostname) if listener.host in WILDCARDS else listener
        for listener in advertised
    )


def inter_broker_listener(config: BrokerConfig) -> str:
    """The name of the listener that the other brokers use."""
    bound = bound_listeners(config)
    wanted = config.inter_broker_listener_name
    if wanted is not None:
        if "security.inter.broker.protocol" in config.given:
            raise ConfigError(
                "inter.broker.listener.name and security.inter.broker.protocol: set one of them"
            )
        found = [listener.name for listener in bound if listener.name == wanted.upper()]
    else:
        protocol = SecurityProtocol[config.security_inter_broker_protocol]
        found = [listener.name for listener in bound if listener.name == protocol.name]
        # One plain listener under a name of its own is meant for everyone.
        found = found or [listener.name for listener in bound if listener.protocol is protocol]
    if not found:
        raise ConfigError(
            f"inter.broker.listener.name={wanted or ''}: expected one of "
            f"{_joined(listener.name for listener in bound)}"
        )
    return found[0]


def protocols_by_name(config: BrokerConfig) -> dict[str, SecurityProtocol]:
    """listener.security.protocol.map, read."""
    protocols = {protocol.name: protocol for protocol in SecurityProtocol}
    pairs = [pair.strip() for pair in config.listener_security_protocol_map.split(",")]
    for pair in filter(None, pairs):
        name, _, protocol = pair.partition(":")
        if protocol.strip().upper() not in SecurityProtocol.__members__:
            raise ConfigError(
                f"listener.security.protocol.map: {pair}: expected NAME:PROTOCOL with one of "
                f"{_joined(SecurityProtocol.__members__)}"
            )
        protocols[name.strip().upper()] = SecurityProtocol[protocol.strip().upper()]
    return protocols


def _bind_texts(config: BrokerConfig) -> tuple[str, ...]:
    if "listeners" not in config.given and {"host.name", "port"} & config.given.keys():
        return (f"PLAINTEXT://{_bracketed(config.host_name or '')}:{config.port}",)
    return config.listeners


def _advertised_texts(config: BrokerConfig, bound: tuple[Listener, ...]) -> tuple[str, ...]:
    if config.advertised_listeners:
        return config.advertised_listeners
    host, port = config.advertised_host_name, config.advertised_port
    if host is None and port is None:
        return tuple(str(listener) for listener in bound)
    first = bound[0]
    shown = _bracketed(host if host is not None else first.host)
    return (f"{first.name}://{shown}:{first.port if port is None else port}",)


def _parse_all(config: BrokerConfig, key: str, texts: tuple[str, ...]) -> tuple[Listener, ...]:
    protocols = protocols_by_name(config)
    controllers = {name.upper() for name in config.controller_listener_names}
    listeners = []
    for text in texts:
        name, host, port = _split(key, text)
        if name in controllers:
            continue
        if name not in protocols:
            raise ConfigError(
                f"{key}: {text}: {name} has no protocol; add {name}:PLAINTEXT to "
                "listener.security.protocol.map"
            )
        listeners.append(Listener(name, host, port, protocols[name]))
    names = [listener.name for listener in listeners]
    if len(set(names)) < len(names):
        raise ConfigError(f"{key}={_joined(texts)}: expected each listener name once")
    return tuple(listeners)


def _split(key: str, text: str) -> tuple[str, str, int]:
    """NAME://host:port, NAME://[v6]:port, NAME://:port."""
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ConfigError(f"{key}: {text}: expected an IPv6 address in brackets, NAME://[::1]:9092")
    if not (name and separator and colon and port.isdecimal() and int(port) <= 65535):
        raise ConfigError(f"{key}: {text}: expected NAME://host:port with a port of 0 to 65535")
    return name.upper(), host, int(port)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _joined(parts: Iterable[str]) -> str:
    return ",".join(parts)
