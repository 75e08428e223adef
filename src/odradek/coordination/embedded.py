"""The embedded driver: the whole coordination store in one SQLite file, for a broker on its own.

One dedicated thread owns the database; the loop's thread never touches it. Calls are queued and
answered through futures, in order. The thread takes everything that is queued and makes it
**one** transaction, so a burst of writes shares one fsync (group commit); each call is still all
or nothing by itself, and no call is answered before the commit that holds it. If that commit
fails, all its calls fail.

The session lives as long as the object. It is never suspended; it is lost when the store is
closed or when the disk fails under a commit: then nobody can say what a crash would leave, so
nothing more is tried.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from odradek.coordination.contract import (
    ANY_VERSION,
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
    StoreError,
    StoreUnusable,
    Watch,
)
from odradek.coordination.sqlite_tree import SqliteTree, Touched
from odradek.interfaces import Clock

log = logging.getLogger(__name__)
T = TypeVar("T")

FILE_NAME: Final = "coordination.sqlite"
BATCH_CALLS_MAX: Final = 1000  # bounds how long the first call of a burst waits for the last
# SQLite undoes these by itself and for certain; any other failure of a commit leaves the file in
# doubt.
CLEAN_FAILURES: Final = ("SQLITE_FULL", "SQLITE_BUSY", "SQLITE_NOMEM")


class _Call(NamedTuple):
    path: str
    work: Callable[[SqliteTree], Any]
    future: asyncio.Future[Any]
    writes: bool


class EmbeddedStore:
    """A `contract.Store` in `<data dir>/coordination.sqlite`. Make one with `open`."""

    def __init__(self, file: Path, clock: Clock, loop: asyncio.AbstractEventLoop) -> None:
        self._file = file
        self._clock = clock
        self._loop = loop
        self._state = SessionState.CONNECTED
        self._session_id = 0
        self._listeners: list[Callable[[SessionState], None]] = []
        self._data_watches: dict[str, list[Watch]] = {}
        self._child_watches: dict[str, list[Watch]] = {}
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._opened: asyncio.Future[int] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._run, name="coordination-store", daemon=True)

    @classmethod
    async def open(cls, data_dir: Path, clock: Clock) -> EmbeddedStore:
        """Open or make the store of a data directory; StoreUnusable says why it cannot be."""
        store = cls(data_dir / FILE_NAME, clock, asyncio.get_running_loop())
        store._thread.start()
        store._session_id = await store._opened
        return store

    @property
    def state(self) -> SessionState:
        """Where the session stands now."""
        return self._state

    @property
    def session_id(self) -> int:
        """The owner that this session's ephemeral nodes carry."""
        return self._session_id

    def add_listener(self, listener: Callable[[SessionState], None]) -> None:
        """Call `listener` on the loop's thread at each change of the session's state."""
        self._listeners.append(listener)

    async def get(self, path: str) -> Node:
        """A node's bytes and facts."""
        return await self._read(path, lambda tree: tree.get(path))

    async def exists(self, path: str) -> Stat | None:
        """A node's facts, or None."""
        return await self._read(path, lambda tree: tree.exists(path))

    async def children(self, path: str) -> list[str]:
        """The names of a node's children, sorted."""
        return await self._read(path, lambda tree: tree.children(path))

    async def tree(self, path: str) -> dict[str, Node]:
        """The node and everything below it, in one query."""
        return await self._read(path, lambda tree: tree.tree(path))

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
        """All operations, or none and the first one's error."""
        frozen = tuple(ops)
        path = frozen[0].path if frozen else "/"
        return await self._submit(path, lambda tree: tree.attempt(frozen), writes=True)

    async def watch_data(self, path: str, watch: Watch) -> None:
        """Call `watch` once, after the node is created, set or deleted."""
        self._require_session(path)
        self._data_watches.setdefault(path, []).append(watch)

    async def watch_children(self, path: str, watch: Watch) -> None:
        """Call `watch` once, after a child of the node came or went, or the node itself went."""
        self._require_session(path)
        self._child_watches.setdefault(path, []).append(watch)
        if await self.exists(path) is None:
            watches = self._child_watches.get(path, [])
            if watch in watches:
                watches.remove(watch)
            raise NoNode(path)

    async def close(self) -> None:
        """End the session: its ephemeral nodes go, its state becomes LOST."""
        if self._state is not SessionState.LOST:
            try:
                await self._submit("/", lambda tree: tree.remove_ephemerals(), writes=True)
            except StoreError as error:  # the next opening removes them just as well
                log.warning("could not remove ephemeral nodes of %s: %s", self._file, error)
            self._lose()
        self._calls.put(None)
        await asyncio.shield(self._ended)

    async def _read(self, path: str, work: Callable[[SqliteTree], T]) -> T:
        return await self._submit(path, work, writes=False)

    async def _submit(self, path: str, work: Callable[[SqliteTree], T], *, writes: bool) -> T:
        self._require_session(path)
        future: asyncio.Future[T] = self._loop.create_future()
        self._calls.put(_Call(path, work, future, writes))
        return await future

    def _require_session(self, path: str) -> None:
        if self._state is SessionState.LOST:
            raise SessionLost(path)

    def _lose(self) -> None:
        """The session is over: tell listeners, wake every watcher."""
        if self._state is SessionState.LOST:
            return
        self._state = SessionState.LOST
        for listener in self._listeners:
            listener(self._state)
        self._fire(self._data_watches, frozenset(self._data_watches))
        self._fire(self._child_watches, frozenset(self._child_watches))

    @staticmethod
    def _fire(watches: dict[str, list[Watch]], paths: AbstractSet[str]) -> None:
        for path in paths & watches.keys():
            for watch in watches.pop(path):
                watch()

    # From here on: the store's own thread.

    def _run(self) -> None:
        try:
            tree = SqliteTree(self._file, self._clock.now_ms)
        except Exception as error:  # noqa: BLE001 (whoever opens the store gets it)
            self._to_loop(self._opened.set_exception, error)
            return
        self._to_loop(self._opened.set_result, tree.session_id)
        try:
            while batch := self._take():
                self._serve(tree, batch)
        finally:
            tree.close()
            self._to_loop(self._ended.set_result, None)

    def _take(self) -> list[_Call]:
        """Wait for a call, then take all that are there; empty when the store is closed."""
        call = self._calls.get()
        batch: list[_Call] = []
        try:
            while call is not None:
                batch.append(call)
                if len(batch) == BATCH_CALLS_MAX:
                    return batch
                call = self._calls.get_nowait()
        except Empty:
            return batch
        if batch:
            self._calls.put(None)  # serve these first, and stop the next time around
        return batch

    def _serve(self, tree: SqliteTree, batch: list[_Call]) -> None:
        """One batch, one commit, then all its answers."""
        touched = Touched(set(), set())
        lost = False
        try:
            if any(call.writes for call in batch):
                with tree.transaction() as touched:
                    answers = [_answer(tree, call) for call in batch]
            else:
                answers = [_answer(tree, call) for call in batch]
        except sqlite3.Error as error:
            lost = error.sqlite_errorname not in CLEAN_FAILURES
            log.error("the coordination store %s failed: %s", self._file, error)
            answers = [self._failure(call, error, lost) for call in batch]
            touched = Touched(set(), set())
        self._to_loop(self._deliver, batch, answers, touched, lost)

    def _failure(self, call: _Call, error: sqlite3.Error, lost: bool) -> StoreError:
        words = f"the coordination store {self._file} failed: {error}"
        return (OutcomeUnknown if lost and call.writes else StoreUnusable)(call.path, words)

    def _to_loop(self, callback: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:  # the loop is closed: nobody is left to be told
            log.debug("the coordination store's loop has ended")

    # And back on the loop's thread.

    def _deliver(
        self, batch: list[_Call], answers: list[Any], touched: Touched, lost: bool
    ) -> None:
        for call, answer in zip(batch, answers, strict=True):
            if call.future.done():
                continue  # the caller was cancelled
            if isinstance(answer, BaseException):
                call.future.set_exception(answer)
            else:
                call.future.set_result(answer)
        self._fire(self._data_watches, touched.nodes)
        self._fire(self._child_watches, touched.parents)
        if lost:
            self._lose()


def _answer(tree: SqliteTree, call: _Call) -> Any:
    try:
        return call.work(tree)
    except sqlite3.Error:
        raise  # the file's error: the whole batch fails
    except Exception as error:  # noqa: BLE001 (the caller's own error: the others go on)
        return error
