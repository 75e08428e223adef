"""Whether this cluster serves the consumer group protocol (KIP-848)."""

from __future__ import annotations

from typing import Final

from odradek.errors import ApiError, Err
from odradek.server.context import Context

FEATURE: Final = "group.version"
PROTOCOL: Final = "consumer"


def check_enabled(context: Context) -> None:
    """ApiError(UNSUPPORTED_VERSION) unless the cluster agreed on it and this broker offers it."""
    if context.image.features.get(FEATURE, 0) < 1:
        raise ApiError(
            Err.UNSUPPORTED_VERSION, f"the feature {FEATURE} is not finalised at level 1"
        )
    if PROTOCOL not in context.config.group_coordinator_rebalance_protocols:
        raise ApiError(
            Err.UNSUPPORTED_VERSION,
            f"group.coordinator.rebalance.protocols does not list {PROTOCOL}",
        )
