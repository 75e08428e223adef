"""Why a group rebalanced: what is kept of each rebalance, for people.

A group that rebalances too often is the most asked-about trouble of consumers, and the answer is gone
once the group is stable again. So each group keeps its last rebalances: what set it off, who joined, who
left of its own will, who fell silent, and for how long nobody consumed. This is soft state: it starts
empty after a restart and decides nothing.

`RebalanceNotes` gathers what happens between two generations (or epochs); `RebalanceEvent` is the row that
is made of it when the next one begins. Owned by the group, on the loop's thread.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

EVENTS_MAX: Final = 50
# A client's words are cut at the length at which Java clients cut them (KIP-800), and a rebalance that
# a thousand members take part in says as much with its first hundred names.
REASON_CHARS_MAX: Final = 255
NAMES_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class RebalanceEvent:
    """One rebalance: the generation it made, and why."""

    time_ms: int
    generation: int
    reason: str
    started_ms: int = -1
    members: int = 0
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    timed_out: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


def new_history() -> deque[RebalanceEvent]:
    """An empty history that forgets its oldest event when it is full."""
    return deque(maxlen=EVENTS_MAX)


class RebalanceNotes:
    """What has happened to a group since its last generation began."""

    __slots__ = (
        "_details",
        "_joined",
        "_left",
        "_reason",
        "_replaced",
        "_started_ms",
        "_timed_out",
    )

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._reason = ""
        self._started_ms = -1
        self._joined: dict[str, None] = {}
        self._left: dict[str, None] = {}
        self._timed_out: dict[str, None] = {}
        self._replaced: dict[str, None] = {}
        self._details: dict[str, None] = {}

    def start(self, now_ms: int, reason: str) -> None:
        """A rebalance begins; only the first reason is the reason, later ones are details."""
        if self._started_ms < 0:
            self._started_ms = now_ms
            self._reason = reason[: 2 * REASON_CHARS_MAX]
        else:
            self.detail(reason)

    def joined(self, member_id: str) -> None:
        """A member that was not there before."""
        _add(self._joined, member_id)

    def left(self, member_id: str) -> None:
        """A member that said goodbye, or was sent away by an administrator."""
        _add(self._left, member_id)

    def timed_out(self, member_id: str) -> None:
        """A member that fell silent, or did not come back in time."""
        _add(self._timed_out, member_id)

    def replaced(self, group_instance_id: str, old_member_id: str, member_id: str) -> None:
        """A static member that started again under a new member id."""
        _add(self._replaced, f"{group_instance_id}: {old_member_id} -> {member_id}")

    def detail(self, text: str) -> None:
        """Anything else worth knowing, in words."""
        _add(self._details, text[: 2 * REASON_CHARS_MAX])

    def close(self, now_ms: int, generation: int, members: int) -> RebalanceEvent:
        """The next generation begins: make the event, and start over."""
        event = RebalanceEvent(
            time_ms=now_ms,
            generation=generation,
            reason=self._reason,
            started_ms=self._started_ms,
            members=members,
            joined=tuple(self._joined),
            left=tuple(self._left),
            timed_out=tuple(self._timed_out),
            replaced=tuple(self._replaced),
            details=tuple(self._details),
        )
        self._reset()
        return event


def _add(names: dict[str, None], name: str) -> None:
    if len(names) < NAMES_MAX:
        names[name] = None
