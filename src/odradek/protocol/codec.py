"""Messages to bytes and back.

The functions behind are compiled per (class, version) on first use, by ``protocol.compile``.
Everything that can be wrong with an input is a ``DecodeError``, and no more is built than the input
has bytes for. A decoded message owns its values except ``records``, which are slices of the input.
"""

from __future__ import annotations

import struct
from typing import TypeVar

from odradek.protocol.compile import compile_decoder, compile_encoder
from odradek.protocol.fields import Message, Struct
from odradek.protocol.primitives import Buffer, DecodeError, EncodeError

M = TypeVar("M", bound=Message)

__all__ = [
    "DecodeError",
    "EncodeError",
    "decode",
    "decode_from",
    "encode",
    "encode_part",
    "encode_parts",
]


def encode(message: Message, version: int) -> bytes:
    """The bytes of ``message`` in ``version``."""
    try:
        return b"".join(encode_parts(message, version))
    except TypeError as error:
        raise _unwritable(message, version, error) from error


def encode_parts(message: Message, version: int) -> list[Buffer]:
    """The same bytes in pieces, for ``sendmsg``: records and bytes are not copied."""
    flexible = message.is_flexible(version)
    if version not in message.VERSIONS:
        raise EncodeError(f"{type(message).__name__} has no version {version}")
    return _parts(message, version, flexible)


def encode_part(part: Struct, version: int, of: type[Message]) -> bytes:
    """The bytes of a struct as they appear inside version ``version`` of the message ``of``."""
    try:
        return b"".join(_parts(part, version, of.is_flexible(version)))
    except TypeError as error:
        raise _unwritable(part, version, error) from error


def _parts(value: Struct, version: int, flexible: bool) -> list[Buffer]:
    encoder = value.ENCODERS.get((version, flexible))
    if encoder is None:
        encoder = compile_encoder(type(value), version, flexible)
    parts: list[Buffer] = []
    try:
        encoder(value, parts.append)
    except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as error:
        raise _unwritable(value, version, error) from error
    return parts


def _unwritable(value: Struct, version: int, error: Exception) -> EncodeError:
    return EncodeError(f"{type(value).__name__} v{version} cannot be written: {error}")


def decode(cls: type[M], data: Buffer, version: int, offset: int = 0) -> M:
    """The message that fills ``data`` from ``offset`` to its end."""
    message, end = decode_from(cls, data, offset, version)
    if end != len(data):
        raise DecodeError(f"{cls.__name__} v{version}: {len(data) - end} bytes too many")
    return message


def decode_from(cls: type[M], data: Buffer, offset: int, version: int) -> tuple[M, int]:
    """The message at ``offset``, and the position after it."""
    flexible = cls.FLEXIBLE_FROM is not None and version >= cls.FLEXIBLE_FROM
    decoder = cls.DECODERS.get((version, flexible))
    if decoder is None:
        if version not in cls.VERSIONS:
            raise DecodeError(f"{cls.__name__} has no version {version}")
        decoder = compile_decoder(cls, version, flexible)
    try:
        return decoder(memoryview(data), offset)
    except (struct.error, IndexError) as error:
        raise DecodeError(f"{cls.__name__} v{version}: the input is too short") from error
    except UnicodeDecodeError as error:
        raise DecodeError(f"{cls.__name__} v{version}: a string is not UTF-8") from error
