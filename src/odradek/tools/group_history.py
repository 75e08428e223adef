"""Why a group rebalanced: asked of the HTTP port of the broker that coordinates it.

The protocol has no request for this, so it is the one thing that is not asked over it. Where the port
is, the broker says itself (`odradek.http.listener`); a listener on all addresses is reached where
clients reach the broker.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from odradek.client import Broker, ConfigResource, ResourceKind, require
from odradek.client.addresses import Address, parse_address
from odradek.client.sync import Client
from odradek.errors import ApiError, Err

HTTP_KEY: Final = "odradek.http.listener"
_SECONDS_MAX: Final = 10.0
_WILDCARDS: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


def histories(
    client: Client, groups: Mapping[str, Broker | None], given: str | None
) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """The rebalances of each group, from its coordinator, or from the HTTP port that was given."""
    if given is not None:
        return fetch(parse_address(given), groups)
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    brokers = {broker.node_id: broker for broker in groups.values() if broker is not None}
    for node_id, broker in brokers.items():
        theirs = [group_id for group_id, at in groups.items() if at and at.node_id == node_id]
        found.update(fetch(http_address(client, broker), theirs))
    return found


def http_address(client: Client, broker: Broker) -> Address:
    """Where a broker's HTTP port is, by its own settings."""
    resource = ConfigResource(ResourceKind.BROKER, str(broker.node_id))
    entries = require(client.describe_configs([resource], keys=[HTTP_KEY])[resource])
    listener = entries[HTTP_KEY].value if HTTP_KEY in entries else None
    host, _, port = (listener or "").rpartition(":")
    if not port.isdigit() or int(port) == 0:
        raise ApiError(
            Err.UNSUPPORTED_VERSION,
            f"broker {broker.node_id} does not say where it tells of rebalances "
            f"({HTTP_KEY}={listener or ''}): give --http HOST:PORT, if it is an Odradek broker",
        )
    host = host.strip("[]")
    return Address(broker.address.host if host in _WILDCARDS else host, int(port))


def fetch(address: Address, group_ids: Iterable[str]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """The histories of groups from one HTTP port."""
    connection = http.client.HTTPConnection(*address, timeout=_SECONDS_MAX)
    try:
        return {group_id: _history(connection, group_id) for group_id in group_ids}
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise ApiError(
            Err.NETWORK_EXCEPTION,
            f"cannot ask http://{address} for the history: {str(error) or type(error).__name__}; "
            "give --http HOST:PORT, if the broker's HTTP port is elsewhere",
        ) from error
    finally:
        connection.close()


def _history(
    connection: http.client.HTTPConnection, group_id: str
) -> tuple[Mapping[str, Any], ...]:
    connection.request("GET", f"/groups/{quote(group_id, safe='')}")
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise ValueError(f"{answer.status} {answer.reason}")
    return tuple(json.loads(body)["history"])
