"""Which topics the members of a classic group read, where their bytes tell.

The bytes of a JoinGroup protocol belong to clients; the broker needs none of it to balance a group. But
consumers of every language follow one layout (`ConsumerProtocolSubscription` after an int16 version), and by
it the broker knows which offsets of a living group nobody needs any more. Bytes it cannot read say
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from odradek.protocol.codec import DecodeError, decode_from
from odradek.protocol.messages.consumer_protocol import ConsumerProtocolSubscription

_VERSION_BYTES: Final = 2
_VERSION_MAX: Final = ConsumerProtocolSubscription.VERSIONS[-1]


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """All topics that the members' metadata names; None when one of them cannot be read."""
    topics: set[str] = set()
    for each in metadata:
        version = int.from_bytes(each[:_VERSION_BYTES], "big", signed=True)
        if len(each) < _VERSION_BYTES or version < 0:
            return None
        try:
            # A newer version only adds at the end, so the newest we know reads it too.
            subscription, _ = decode_from(
                ConsumerProtocolSubscription, each, _VERSION_BYTES, min(version, _VERSION_MAX)
            )
        except DecodeError:
            return None
        topics.update(subscription.topics)
    return frozenset(topics)
