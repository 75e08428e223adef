"""Envelope (58). Wraps a request that a broker forwards to the controller."""

from __future__ import annotations

from odradek.protocol.fields import Message, bytes_, int16, message, nullable_bytes


@message(key=58, versions=range(1), flexible_from=0)
class EnvelopeRequest(Message):
    """The request's bytes, and on whose behalf."""

    request_data: bytes = bytes_()
    request_principal: bytes | None = nullable_bytes()
    client_host_address: bytes = bytes_()


@message(key=58, versions=range(1), flexible_from=0)
class EnvelopeResponse(Message):
    """The response's bytes."""

    response_data: bytes | None = nullable_bytes(default=None)
    error_code: int = int16()
