"""Where brokers are: `host:port` lists as people write them in `bootstrap.servers`.

Pure. A listener name in front (`PLAINTEXT://host:9092`) and IPv6 in brackets (`[::1]:9092`) are
understood, a missing port means Kafka's 9092.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from odradek.errors import ApiError, Err

DEFAULT_PORT: Final = 9092
# A bootstrap list only has to reach one broker; a longer list is a mistake (a pasted file).
BOOTSTRAP_ADDRESSES_MAX: Final = 1000


class Address(NamedTuple):
    """A host and a port; prints as people write it."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """The addresses of a comma-separated list, in their order and without repetitions."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise _refused(text, "it names no broker")
    if len(parts) > BOOTSTRAP_ADDRESSES_MAX:
        raise _refused(text[:80] + "…", f"it names more than {BOOTSTRAP_ADDRESSES_MAX} brokers")
    return tuple(dict.fromkeys(parse_address(part) for part in parts))


def parse_address(text: str) -> Address:
    """One `[listener://]host[:port]`."""
    rest = text.rsplit("://", 1)[-1]
    if rest.startswith("["):
        host, bracket, tail = rest[1:].partition("]")
        if not bracket or not host or (tail and not tail.startswith(":")):
            raise _refused(text, "an IPv6 address is written [::1]:9092")
        port = tail[1:]
    else:
        host, _, port = rest.partition(":")
        if ":" in port:
            raise _refused(text, "an IPv6 address is written [::1]:9092")
    if not host or host != host.strip() or "/" in rest or " " in rest:
        raise _refused(text, "expected host:port")
    return Address(host, _parse_port(text, port) if port else DEFAULT_PORT)


def _parse_port(text: str, port: str) -> int:
    if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < 65536:
        raise _refused(text, f"{port!r} is no port between 1 and 65535")
    return int(port)


def _refused(text: str, why: str) -> ApiError:
    return ApiError(Err.INVALID_REQUEST, f"cannot use {text!r} as broker address: {why}")
