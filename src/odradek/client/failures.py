"""What can go wrong between a client and its brokers, as `ApiError`s with words that say what to
do.

Each is also an error code of the wire, so that a caller needs to know one exception type, and the
retry rules one question: `may_retry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from odradek.client.addresses import Address
from odradek.errors import ApiError, Err

# Retriable on the wire (a replica may not have heard of a new topic yet), but an answer for people:
# who asks for a topic that is not there wants to hear so, not to wait.
_DEFINITIVE: Final = frozenset(
    {
        Err.UNKNOWN_TOPIC_OR_PARTITION,
        Err.UNKNOWN_TOPIC_ID,
        Err.INCONSISTENT_TOPIC_ID,
        Err.CORRUPT_MESSAGE,
        # The broker gave up waiting for something it has already begun.
        Err.REQUEST_TIMED_OUT,
    }
)


class BrokerUnreachableError(ApiError):
    """Nobody accepts connections where we were told to look."""

    def __init__(self, addresses: Sequence[Address], why: str) -> None:
        places = ", ".join(str(address) for address in addresses)
        super().__init__(
            Err.BROKER_NOT_AVAILABLE,
            f"no broker answers at {places} ({why}): is it running? "
            "start one with `odradek broker`",
        )
        self.why = why


class AdvertisedUnreachableError(ApiError):
    """A broker was found, but the address that it told us to use does not answer."""

    def __init__(self, node_id: int, address: Address, why: str) -> None:
        super().__init__(
            Err.NETWORK_EXCEPTION,
            f"broker {node_id} says it is at {address}, where nothing answers ({why}): "
            "is it down, or is its advertised.listeners not reachable from here?",
        )


class ConnectionLostError(ApiError):
    """The connection broke. `sent`: the request had left, so it may have taken effect."""

    def __init__(self, address: Address, why: str, *, sent: bool) -> None:
        super().__init__(Err.NETWORK_EXCEPTION, f"lost the connection to {address}: {why}")
        self.why = why
        self.sent = sent


class UnknownOutcomeError(ApiError):
    """A request that changes something was cut off half-way, and sending it again is not safe."""

    def __init__(self, what: str, cause: ApiError) -> None:
        super().__init__(
            Err.NETWORK_EXCEPTION,
            f"{cause.message}; {what} may or may not have taken effect: look, then run it again",
        )


class NotKafkaError(ApiError):
    """Something answers, but not with Kafka's protocol."""

    def __init__(self, address: Address, why: str) -> None:
        super().__init__(
            Err.CORRUPT_MESSAGE,
            f"{address} does not speak Kafka's protocol ({why}): is it another service's port, "
            "or one that expects TLS?",
        )


class UnsupportedError(ApiError):
    """The broker is too old (or too new) for what was asked."""

    def __init__(self, address: Address, what: str, why: str) -> None:
        super().__init__(
            Err.UNSUPPORTED_VERSION, f"the broker at {address} cannot do {what}: {why}"
        )


def may_retry(error: ApiError) -> bool:
    """Whether the same request, sent again a little later, may well succeed."""
    if isinstance(error, UnknownOutcomeError):
        return False
    return error.err.retriable and error.err not in _DEFINITIVE


def err_of(code: int) -> Err:
    """The row of a code; codes of the future count as an unknown server error."""
    found = Err._value2member_map_.get(code, Err.UNKNOWN_SERVER_ERROR)
    assert isinstance(found, Err)
    return found


def error_of(code: int, message: str | None = None) -> ApiError | None:
    """What a reply's `error_code` and `error_message` say, or None when all is well."""
    if code == Err.NONE:
        return None
    err = err_of(code)
    words = message or err.text or err.name.replace("_", " ").lower()
    if err is Err.UNKNOWN_SERVER_ERROR and code != err and not message:
        words = f"error code {code}, which this client does not know"
    return ApiError(err, words)


def check(code: int, message: str | None = None) -> None:
    """Raise what `error_of` finds."""
    if (error := error_of(code, message)) is not None:
        raise error
