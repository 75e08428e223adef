"""The coordination store: a tree of versioned nodes that outlives any broker."""

from odradek.coordination.contract import (
    BadVersion,
    NodeExists,
    NoNode,
    NotEmpty,
    OutcomeUnknown,
    SessionLost,
    SessionState,
    Store,
    StoreError,
    StoreUnusable,
)
from odradek.coordination.embedded import EmbeddedStore

__all__ = [
    "BadVersion",
    "EmbeddedStore",
    "NoNode",
    "NodeExists",
    "NotEmpty",
    "OutcomeUnknown",
    "SessionLost",
    "SessionState",
    "Store",
    "StoreError",
    "StoreUnusable",
]
