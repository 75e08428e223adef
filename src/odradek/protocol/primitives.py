"""What the compiled codecs lean on: errors, varints, tagged sections, ids.

Encodings (all integers big-endian):

    classic     string  int16 length, UTF-8        null: length -1
                bytes   int32 length, bytes        null: length -1
                array   int32 count, elements      null: count -1
    flexible    the same with an unsigned varint of length + 1 in place of the length, 0 for null,
                and a tagged section at the end of every struct (KIP-482):
                varint count, then per field varint tag, varint size, content; tags ascend
    both        a nullable struct starts with an int8: -1 null, 1 present
                uuid 16 bytes; boolean one byte; float64 IEEE 754

An unsigned varint holds 32 bits in at most five bytes, seven bits each, the low ones first. Reading
helpers take the first byte as already read, because most lengths fit into it and the compiled code
handles that case itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from uuid import UUID

Buffer = bytes | bytearray | memoryview

# Kafka bounds strings to an int16 length in every version, compact ones too.
STRING_BYTES_MAX: Final = 0x7FFF
LENGTH_MAX: Final = 0x7FFF_FFFF
# Elements without a byte of their own on the wire cost nothing to declare, so they get a fixed cap.
EMPTY_ELEMENTS_MAX: Final = 1024

ONE_BYTE: Final = tuple(bytes((i,)) for i in range(128))


class DecodeError(ValueError):
    """The bytes are not a message of this type and version."""


class EncodeError(ValueError):
    """The message cannot be written in this version."""


def bad_length(path: str, length: int) -> DecodeError:
    """The error for a length or count that is negative, or larger than what follows."""
    return DecodeError(f"{path}: length {length} does not fit the input")


def read_uvarint(data: memoryview, first: int, position: int) -> tuple[int, int]:
    """The value whose first byte (with its high bit set) precedes ``position``, and its end."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            if value > 0xFFFF_FFFF:
                break
            return value, position
    raise DecodeError("varint of more than 32 bits")


def uvarint(value: int) -> bytes:
    """``value`` as an unsigned varint."""
    if value < 128:
        return ONE_BYTE[value]
    if value > LENGTH_MAX:
        raise EncodeError(f"length {value - 1} does not fit the protocol")
    out = bytearray()
    while value > 127:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string_prefix(length_plus_one: int) -> bytes:
    """The compact prefix of a string of 127 bytes or more."""
    if length_plus_one > STRING_BYTES_MAX + 1:
        raise EncodeError(
            f"a string of {length_plus_one - 1} bytes; {STRING_BYTES_MAX} is the most"
        )
    return uvarint(length_plus_one)


def tag_count(data: memoryview, first: int, position: int) -> tuple[int, int]:
    """How many tagged fields follow, given the count's first byte, and where they start."""
    count = first
    if first > 127:
        count, position = read_uvarint(data, first, position)
    # A tagged field takes two bytes at least.
    if count * 2 > len(data) - position:
        raise bad_length("tagged fields", count)
    return count, position


def tag_start(data: memoryview, position: int, last_tag: int) -> tuple[int, int, int]:
    """One tagged field's tag, content start and content end; tags must ascend."""
    tag = data[position]
    position += 1
    if tag > 127:
        tag, position = read_uvarint(data, tag, position)
    size = data[position]
    position += 1
    if size > 127:
        size, position = read_uvarint(data, size, position)
    if tag <= last_tag:
        raise DecodeError(f"tag {tag} after tag {last_tag}")
    stop = position + size
    if stop > len(data):
        raise bad_length(f"tag {tag}", size)
    return tag, position, stop


def skip_tags(data: memoryview, first: int, position: int) -> int:
    """The end of a tagged section of which no field is known here."""
    count, position = tag_count(data, first, position)
    tag = -1
    for _ in range(count):
        tag, _, position = tag_start(data, position, tag)
    return position


@lru_cache(maxsize=1024)
def uuid_of(raw: bytes) -> UUID:
    """A UUID of its 16 bytes. Remembered: topic ids repeat in every request, and UUID() is slow."""
    return UUID(bytes=raw)
