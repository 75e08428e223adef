"""Topics that belong to the broker."""

from __future__ import annotations

from typing import Final

INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)


def is_internal(topic: str) -> bool:
    """Whether clients are told to leave this topic alone."""
    return topic in INTERNAL_TOPICS
