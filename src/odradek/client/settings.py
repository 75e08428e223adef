"""The bounds and waits of a client, in one frozen value. Kafka's names and figures where it has
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from ssl import SSLContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Every wait and every buffer of a client has its bound here."""

    client_id: str = "odradek"
    # Until TCP (and TLS) answer; Kafka's socket.connection.setup.timeout.ms.
    connect_timeout_ms: int = 10_000
    # One request on the wire: request.timeout.ms.
    request_timeout_ms: int = 30_000
    # One call with all its retries: default.api.timeout.ms.
    api_timeout_ms: int = 60_000
    # How long the very first contact is tried again before "is it running?". None by default: a
    # person at a terminal wants to know at once.
    bootstrap_wait_ms: int = 0
    # Requests on one connection that wait for their reply; Kafka's producer uses five.
    in_flight_max: int = 5
    # A reply larger than this is taken for garbage: it is socket.request.max.bytes, which bounds
    # the frames of the other direction.
    response_bytes_max: int = 100 * 1024 * 1024
    # Cached leaders; the oldest go first.
    cached_topics_max: int = 10_000
    # Cached coordinators of groups and transactional ids, likewise.
    cached_coordinators_max: int = 10_000
    ssl: SSLContext | None = None
