"""SaslAuthenticate (36). Carries one step of a SASL exchange."""

from __future__ import annotations

from odradek.protocol.fields import Message, bytes_, int16, int64, message, nullable_string


@message(key=36, versions=range(3), flexible_from=2)
class SaslAuthenticateRequest(Message):
    """The client's bytes."""

    auth_bytes: bytes = bytes_()


@message(key=36, versions=range(3), flexible_from=2)
class SaslAuthenticateResponse(Message):
    """The server's bytes, and how long the session lasts.

    v1 adds session_lifetime_ms.
    """

    error_code: int = int16()
    error_message: str | None = nullable_string()
    auth_bytes: bytes = bytes_()
    session_lifetime_ms: int = int64(since=1, ignorable=True)
