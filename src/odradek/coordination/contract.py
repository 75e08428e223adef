"""The coordination store's contract: a small tree of versioned nodes, as ZooKeeper has it.

A *node* has a path (`/a/b`), bytes, a version that grows by one with each `set`, and children. An
*ephemeral* node belongs to the session that made it and goes away with that session; it has no
children. A *sequence* node gets a growing ten-digit number behind its name.

What callers may rely on, whichever driver is behind it:

* A write is durable when its call returns. `multi` is all or nothing.
* Calls of one client take effect in the order in which they were made.
* Watches fire once, on the loop's thread, after a change is visible, and are **hints**: register,
  read, and on a call register and read again. A watch may also fire when nothing changed, and
  does so when the session is lost.
* Session: CONNECTED ⇄ SUSPENDED → LOST. Suspended, calls may fail with `OutcomeUnknown`: the
  write has happened or has not, so read back before going on. Lost, the session's ephemerals are
  gone and every call fails with `SessionLost`; LOST is final, a client goes on with a new store
  object.

The module is pure: drivers bring the IO.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeAlias

ANY_VERSION: Final = -1
NO_OWNER: Final = 0
SEQUENCE_DIGITS: Final = 10  # ZooKeeper's width, so that names sort as numbers do

Watch: TypeAlias = Callable[[], None]


class StoreError(Exception):
    """Something the store refused or could not do; `path` says where."""

    def __init__(self, path: str, message: str | None = None) -> None:
        super().__init__(message or f"{type(self).__name__}: {path}")
        self.path = path


class NoNode(StoreError):  # noqa: N818 (ZooKeeper's name)
    """The node, or for `create` its parent, does not exist."""


class NodeExists(StoreError):  # noqa: N818
    """`create` of a path that is there already."""


class BadVersion(StoreError):  # noqa: N818
    """The node has another version than the caller expected."""


class NotEmpty(StoreError):  # noqa: N818
    """`delete` of a node that has children."""


class NoChildrenForEphemerals(StoreError):  # noqa: N818
    """`create` below an ephemeral node."""


class SessionLost(StoreError):  # noqa: N818
    """The session is over; its ephemeral nodes are gone."""


class OutcomeUnknown(StoreError):  # noqa: N818
    """The connection broke before the answer came: the write may or may not have happened."""


class StoreUnusable(StoreError):  # noqa: N818
    """The store cannot be opened or written at all; the message names the cause and the remedy."""


class SessionState(Enum):
    """Where a session stands; see SESSION_TRANSITIONS."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    LOST = "lost"


SESSION_TRANSITIONS: Final[Mapping[SessionState, frozenset[SessionState]]] = {
    SessionState.CONNECTED: frozenset({SessionState.SUSPENDED, SessionState.LOST}),
    SessionState.SUSPENDED: frozenset({SessionState.CONNECTED, SessionState.LOST}),
    SessionState.LOST: frozenset(),
}


class Stat(NamedTuple):
    """A node's facts. The zxids number the store's write transactions and only ever grow."""

    version: int
    czxid: int
    mzxid: int
    ctime_ms: int
    mtime_ms: int
    ephemeral_owner: int = NO_OWNER


class Node(NamedTuple):
    """A node's bytes and facts."""

    data: bytes
    stat: Stat


class Create(NamedTuple):
    """Make a node; its parent must exist."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequence: bool = False


class Set(NamedTuple):
    """Replace a node's bytes, if it still has this version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Remove a node without children, if it still has this version."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Change nothing; fail the whole `multi` unless the node has this version."""

    path: str
    version: int


Op: TypeAlias = Create | Set | Delete | Check


class Store(Protocol):
    """One client's session with a coordination store."""

    @property
    def state(self) -> SessionState:
        """Where the session stands now."""
        ...

    @property
    def session_id(self) -> int:
        """The owner that this session's ephemeral nodes carry."""
        ...

    def add_listener(self, listener: Callable[[SessionState], None]) -> None:
        """Call `listener` on the loop's thread at each change of the session's state."""
        ...

    async def get(self, path: str) -> Node:
        """A node's bytes and facts."""
        ...

    async def exists(self, path: str) -> Stat | None:
        """A node's facts, or None."""
        ...

    async def children(self, path: str) -> list[str]:
        """The names (not paths) of a node's children, sorted."""
        ...

    async def tree(self, path: str) -> dict[str, Node]:
        """The node and everything below, by path, parents first. Empty when it does not exist.

        For loading: one round trip where the driver can. A driver need not give one consistent
        moment; a caller who needs that holds off writers (the controller does, by its epoch).
        """
        ...

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        """Make a node and return its path, which for a sequence node has the number at its end."""
        ...

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replace a node's bytes."""
        ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a node without children."""
        ...

    async def multi(self, ops: Sequence[Op]) -> list[str | Stat | None]:
        """All operations, or none and the first one's error.

        One result per operation: the path of a Create, the Stat of a Set, None otherwise.
        """
        ...

    async def watch_data(self, path: str, watch: Watch) -> None:
        """Call `watch` once, after the node is created, set or deleted."""
        ...

    async def watch_children(self, path: str, watch: Watch) -> None:
        """Call `watch` once, after a child of the node came or went, or the node itself went."""
        ...

    async def close(self) -> None:
        """End the session: its ephemeral nodes go, its state becomes LOST."""
        ...


def check_path(path: str) -> str:
    """The path itself, which must be absolute and have no empty, `.` or `..` parts."""
    assert path == "/" or (
        path.startswith("/")
        and not any(part in ("", ".", "..") for part in path[1:].split("/"))
        and "\0" not in path
    ), f"malformed path: {path!r}"
    return path


def parent_of(path: str) -> str:
    """The path one step up; the root's parent is the empty string."""
    if path == "/":
        return ""
    return path[: path.rindex("/")] or "/"


def sequence_name(path: str, number: int) -> str:
    """The path of a sequence node."""
    return f"{path}{number:0{SEQUENCE_DIGITS}d}"


async def ensure_path(store: Store, path: str) -> None:
    """Make the node and its missing ancestors, empty, unless they are there."""
    if path == "/" or await store.exists(path) is not None:
        return
    await ensure_path(store, parent_of(path))
    try:
        await store.create(path)
    except NodeExists:
        pass  # another client was quicker; the node is what matters
