"""Keys and values of control records.

Both start with an int16 version, which the user of the codec reads or writes.
"""

from __future__ import annotations

from odradek.protocol.fields import Message, int16, int32, message


@message(versions=range(1))
class ControlRecordTypeSchema(Message):
    """The key: which kind of control record it is."""

    type: int = int16()


@message(versions=range(1))
class EndTxnMarker(Message):
    """The value of a commit or abort marker."""

    coordinator_epoch: int = int32()
