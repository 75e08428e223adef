"""A store that fails on demand: what a network does to a session, for tests of the code above it.

`FaultyStore` wraps any store and passes calls on until it is told otherwise:

* `suspend()` / `resume()`: calls fail with `OutcomeUnknown` and nothing happens behind them;
* `break_next_write(applied=…)`: the next write does or does not happen, and the caller cannot tell;
* `lose()`: the session is over: its ephemeral nodes go, listeners and watches hear of it.

The conformance suite runs on a wrapped store too, so the wrapper is as true to the contract as the
drivers are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from odradek.coordination.contract import (
    ANY_VERSION,
    SESSION_TRANSITIONS,
    Create,
    Delete,
    Node,
    NoNode,
    Op,
    OutcomeUnknown,
    SessionLost,
    SessionState,
    Set,
    Stat,
    Store,
    Watch,
)


class FaultyStore:
    """A `contract.Store` over another one, with faults."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self._state = SessionState.CONNECTED
        self._listeners: list[Callable[[SessionState], None]] = []
        self._watches: list[Watch] = []
        self._ephemerals: list[str] = []
        self._break_next: bool | None = None

    @property
    def state(self) -> SessionState:
        """Where the session stands now."""
        return self._state

    @property
    def session_id(self) -> int:
        """The owner that this session's ephemeral nodes carry."""
        return self._inner.session_id

    def suspend(self) -> None:
        """The connection breaks; the session lives."""
        self._move(SessionState.SUSPENDED)

    def resume(self) -> None:
        """The connection is back in time."""
        self._move(SessionState.CONNECTED)

    def break_next_write(self, *, applied: bool) -> None:
        """The next write's answer gets lost; `applied` says whether the write itself did."""
        self._break_next = applied

    async def lose(self) -> None:
        """The session expires."""
        for path in reversed(self._ephemerals):
            try:
                await self._inner.delete(path)
            except NoNode:
                pass  # its owner had removed it already
        self._end()

    def add_listener(self, listener: Callable[[SessionState], None]) -> None:
        """Call `listener` at each change of the session's state."""
        self._listeners.append(listener)

    async def get(self, path: str) -> Node:
        """A node's bytes and facts."""
        self._require(path)
        return await self._inner.get(path)

    async def exists(self, path: str) -> Stat | None:
        """A node's facts, or None."""
        self._require(path)
        return await self._inner.exists(path)

    async def children(self, path: str) -> list[str]:
        """The names of a node's children, sorted."""
        self._require(path)
        return await self._inner.children(path)

    async def tree(self, path: str) -> dict[str, Node]:
        """The node and everything below it."""
        self._require(path)
        return await self._inner.tree(path)

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequence: bool = False
    ) -> str:
        """Make a node and return its path."""
        (result,) = await self.multi((Create(path, data, ephemeral, sequence),))
        assert isinstance(result, str)
        return result

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replace a node's bytes."""
        (result,) = await self.multi((Set(path, data, version),))
        assert isinstance(result, Stat)
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Remove a node without children."""
        await self.multi((Delete(path, version),))

    async def multi(self, ops: Sequence[Op]) -> list[str | Stat | None]:
        """All operations, or none and the first one's error; or nobody knows."""
        path = ops[0].path if ops else "/"
        self._require(path)
        broken, self._break_next = self._break_next, None
        if broken is False:
            raise OutcomeUnknown(path)
        results = await self._inner.multi(ops)
        for op, result in zip(ops, results, strict=True):
            if isinstance(op, Create) and op.ephemeral:
                assert isinstance(result, str)
                self._ephemerals.append(result)
        if broken:
            raise OutcomeUnknown(path)
        return results

    async def watch_data(self, path: str, watch: Watch) -> None:
        """Call `watch` once, after the node is created, set or deleted."""
        self._require(path)
        await self._inner.watch_data(path, self._once(watch))

    async def watch_children(self, path: str, watch: Watch) -> None:
        """Call `watch` once, after a child of the node came or went, or the node itself went."""
        self._require(path)
        await self._inner.watch_children(path, self._once(watch))

    async def close(self) -> None:
        """End the session."""
        await self._inner.close()
        if self._state is not SessionState.LOST:
            self._end()

    def _require(self, path: str) -> None:
        if self._state is SessionState.LOST:
            raise SessionLost(path)
        if self._state is SessionState.SUSPENDED:
            raise OutcomeUnknown(path)

    def _once(self, watch: Watch) -> Watch:
        """The watch, to be fired by the inner store or by the loss of the session, not by both."""

        def fire() -> None:
            if fire in self._watches:
                self._watches.remove(fire)
                watch()

        self._watches.append(fire)
        return fire

    def _end(self) -> None:
        self._move(SessionState.LOST)
        for watch in tuple(self._watches):
            watch()

    def _move(self, state: SessionState) -> None:
        assert state in SESSION_TRANSITIONS[self._state], f"{self._state} → {state}"
        self._state = state
        for listener in self._listeners:
            listener(state)
