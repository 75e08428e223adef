"""Zigzag variable-length integers, as records write their lengths and deltas.

Seven bits a byte, lowest first, the high bit says that more follow; the sign is folded into bit
0, so that small negative numbers stay short. An int32 takes at most 5 bytes, an int64 at most 10.

Readers of records take the one-byte case inline (nearly all are) and call `read_varint` for the
rest.
"""

from __future__ import annotations

from typing import Final

VARINT_BYTES_MAX: Final = 5
VARLONG_BYTES_MAX: Final = 10


def read_varint(data: bytes, position: int, bytes_max: int = VARLONG_BYTES_MAX) -> tuple[int, int]:
    """(value, position after it); ValueError when it is too long, IndexError when `data` ends."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    raw = byte & 0x7F | (data[position + 1] & 0x7F) << 7
    if data[position + 1] < 0x80:
        return (raw >> 1) ^ -(raw & 1), position + 2
    for index in range(2, bytes_max):
        byte = data[position + index]
        raw |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), position + index + 1
    raise ValueError("a variable-length integer is too long")


def write_varint(output: bytearray, value: int) -> None:
    """Append `value`, an int64 at most."""
    raw = (value << 1) ^ (value >> 63)
    while raw > 0x7F:
        output.append(raw & 0x7F | 0x80)
        raw >>= 7
    output.append(raw)


def varint_bytes(value: int) -> int:
    """How many bytes `write_varint` appends."""
    raw = (value << 1) ^ (value >> 63)
    return max(1, (raw.bit_length() + 6) // 7)
