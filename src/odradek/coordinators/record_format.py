"""Coordinator records as bytes, in the formats that Apache Kafka writes to its internal topics.

A key is `type int16` and the key's bytes (version 0); a value is `version int16` and its bytes. A table
says which pair of messages belongs to which type; what is not in the table was written by somebody who
knows more than this broker and is skipped, as Apache Kafka does.

Pure functions; any thread may call them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from odradek.coordinators.shard import CoordinatorRecord
from odradek.protocol.codec import DecodeError, decode, decode_from, encode_parts
from odradek.protocol.fields import Message
from odradek.protocol.messages.internal.transaction_log import (
    TransactionLogKey,
    TransactionLogValue,
)

_SHORT: Final = struct.Struct(">h")
_KEY_VERSION: Final = 0


class RecordFormat:
    """The record types of one internal topic, by the number in the key."""

    __slots__ = ("_types",)

    def __init__(self, types: Mapping[type[Message], type[Message]]) -> None:
        self._types = {key.API_KEY: (key, value) for key, value in types.items()}

    def decode(self, key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
        """The record; None when its type is unknown; DecodeError when it is garbled."""
        if key is None or len(key) < _SHORT.size:
            raise DecodeError("a coordinator's record has no key")
        found = self._types.get(_SHORT.unpack_from(key)[0])
        if found is None:
            return None
        key_type, value_type = found
        typed_key = decode(key_type, key, _KEY_VERSION, _SHORT.size)
        if value is None:
            return CoordinatorRecord(typed_key, None)
        if len(value) < _SHORT.size:
            raise DecodeError("a coordinator's record has a value without a version")
        version = _SHORT.unpack_from(value)[0]
        # Trailing bytes are ignored: newer brokers may have appended something.
        typed_value, _ = decode_from(value_type, value, _SHORT.size, version)
        return CoordinatorRecord(typed_key, typed_value, version)


def encode_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Key and value as they go into a batch."""
    key, value, version = record
    api_key = key.API_KEY
    assert api_key is not None
    key_bytes = b"".join((_SHORT.pack(api_key), *encode_parts(key, _KEY_VERSION)))
    if value is None:
        return key_bytes, None
    return key_bytes, b"".join((_SHORT.pack(version), *encode_parts(value, version)))


TRANSACTION_RECORDS: Final = RecordFormat({TransactionLogKey: TransactionLogValue})
