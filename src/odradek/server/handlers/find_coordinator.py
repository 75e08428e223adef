"""FindCoordinator: nobody coordinates groups or transactions yet, and the answer says so.

It is served all the same, because librdkafka decides by its presence whether it may compress with LZ4.
COORDINATOR_NOT_AVAILABLE is the one error that makes a consumer with assigned partitions and a group id
go on in silence.
"""

from __future__ import annotations

import logging
from typing import Final

from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles

log = logging.getLogger(__name__)

_BATCHED_FROM: Final = 4
_WORDS: Final = (
    "this broker has no group or transaction coordinator yet; read with assigned partitions"
)


@handles(ApiKey.FIND_COORDINATOR, versions=range(7))
def find_coordinator(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """Say that there is none."""
    log.debug("client %r at %s: %s", context.client_id, context.client_address, _WORDS)
    err = Err.COORDINATOR_NOT_AVAILABLE
    if context.api_version < _BATCHED_FROM:
        return FindCoordinatorResponse(
            error_code=err, error_message=_WORDS, node_id=-1, host="", port=-1
        )
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, node_id=-1, port=-1, error_code=err, error_message=_WORDS)
            for key in request.coordinator_keys
        ]
    )
