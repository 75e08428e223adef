"""SaslHandshake (17). Chooses a SASL mechanism."""

from __future__ import annotations

from odradek.protocol.fields import Message, array_of, int16, message, string


@message(key=17, versions=range(2))
class SaslHandshakeRequest(Message):
    """The mechanism that the client wants."""

    mechanism: str = string()


@message(key=17, versions=range(2))
class SaslHandshakeResponse(Message):
    """Whether it is enabled, and which are."""

    error_code: int = int16()
    mechanisms: list[str] = array_of(string)
