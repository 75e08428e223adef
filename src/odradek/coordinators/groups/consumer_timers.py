"""The timers behind the members of consumer groups: who is not heard of in time is removed.

- *session*: between two heartbeats.
- *revocation*: to give up partitions, from when the member was told.
- *join*, *sync*: for members that speak the classic protocol, from when they were told to join again, or
  were let in, until they do what comes next.

Soft state: gone when the shard is, set up again after loading.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from odradek.coordinators.shard import Outcome, ShardTimers

# Removes a member that did not do in time what the words say.
Fence = Callable[[str, str, str], Outcome[None]]


class MemberTimers:
    """The timers of all members of a shard's consumer groups."""

    __slots__ = ("_awaited", "_fence", "_timers")

    def __init__(self, timers: ShardTimers, fence: Fence) -> None:
        self._timers = timers
        self._fence = fence
        # Members that were told to join again; the clock starts when they are told first.
        self._awaited: set[tuple[str, str]] = set()

    def begin_session(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """The member was heard of."""
        words = "sent no heartbeat in time"
        self._schedule("session", group_id, member_id, timeout_ms, words)

    def await_sync(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """A classic member was let in, and is to ask for its assignment."""
        words = "did not ask for its assignment in time"
        self._schedule("sync", group_id, member_id, timeout_ms, words)

    def synced(self, group_id: str, member_id: str) -> None:
        """It has asked."""
        self._timers.cancel(_key("sync", group_id, member_id))

    def await_join(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """A classic member was told to join again, perhaps not for the first time."""
        if (group_id, member_id) not in self._awaited:
            self._awaited.add((group_id, member_id))
            words = "did not join again in time"
            self._schedule("join", group_id, member_id, timeout_ms, words)

    def joined(self, group_id: str, member_id: str) -> None:
        """It has joined again."""
        self._awaited.discard((group_id, member_id))
        self._timers.cancel(_key("join", group_id, member_id))

    def await_revocation(
        self, group_id: str, member_id: str, timeout_ms: int, operation: Callable[[], Outcome[None]]
    ) -> None:
        """The member was told to give up partitions."""
        self._timers.schedule(_key("revocation", group_id, member_id), timeout_ms, operation)

    def revoked(self, group_id: str, member_id: str) -> None:
        """It has given them up."""
        self._timers.cancel(_key("revocation", group_id, member_id))

    def forget(self, group_id: str, member_id: str) -> None:
        """The member is gone."""
        self._awaited.discard((group_id, member_id))
        for what in ("session", "revocation", "join", "sync"):
            self._timers.cancel(_key(what, group_id, member_id))

    def soon(self, what: str, group_id: str, operation: Callable[[], Outcome[None]]) -> None:
        """Do something about a group after what is under way."""
        self._timers.schedule(_key(what, group_id, ""), 0, operation)

    def _schedule(
        self, what: str, group_id: str, member_id: str, timeout_ms: int, words: str
    ) -> None:
        self._timers.schedule(
            _key(what, group_id, member_id),
            timeout_ms,
            partial(self._over, group_id, member_id, words),
        )

    def _over(self, group_id: str, member_id: str, words: str) -> Outcome[None]:
        self._awaited.discard((group_id, member_id))
        return self._fence(group_id, member_id, words)


def _key(what: str, group_id: str, member_id: str) -> str:
    return f"consumer-{what}:{group_id}:{member_id}"
