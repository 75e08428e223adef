"""The node tree inside one SQLite file: plain calls on one connection, by one thread.

Layout: one table, one row per node, keyed by (parent path, name). That one index serves a
look-up, a listing, and, because every path below `/a` has a parent that is `/a` or begins with
`/a/`, a whole subtree in a single range scan that yields parents before children.

The journal is a write-ahead log with `synchronous=FULL`: a committed transaction survives a power
cut, an uncommitted one leaves no trace. Opening takes a lock file, so two processes never share a
tree, and removes the ephemeral nodes of earlier sessions, because whoever held them is dead.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from odradek.coordination.contract import (
    ANY_VERSION,
    NO_OWNER,
    BadVersion,
    Check,
    Create,
    Delete,
    NoChildrenForEphemerals,
    Node,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    Set,
    Stat,
    StoreUnusable,
    check_path,
    parent_of,
    sequence_name,
)

APPLICATION_ID: Final = 0x4F44524B  # "ODRK": tells our file from any other SQLite database
LAYOUT_VERSION: Final = 1

_SCHEMA: Final = f"""
CREATE TABLE node (
    parent TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, version INTEGER NOT NULL,
    czxid INTEGER NOT NULL, mzxid INTEGER NOT NULL, ctime_ms INTEGER NOT NULL,
    mtime_ms INTEGER NOT NULL, owner INTEGER NOT NULL, next_sequence INTEGER NOT NULL,
    PRIMARY KEY (parent, name)
) WITHOUT ROWID;
CREATE INDEX node_owner ON node (owner) WHERE owner <> {NO_OWNER};
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO node VALUES ('', '', x'', 0, 0, 0, 0, 0, {NO_OWNER}, 0);
INSERT INTO counter VALUES ('zxid', 0), ('session', 0);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {LAYOUT_VERSION};
"""  # noqa: S608 (constants only)
_STAT: Final = "version, czxid, mzxid, ctime_ms, mtime_ms, owner"


class Touched(NamedTuple):
    """What a transaction changed: nodes themselves, and nodes whose children came or went."""

    nodes: set[str]
    parents: set[str]


class SqliteTree:
    """The tree, for the thread that opened it."""

    def __init__(self, file: Path, now_ms: Callable[[], int]) -> None:
        self._file = file
        self._now_ms = now_ms
        self._lock = _lock(file)
        try:
            self._db = _open(file)
        except StoreUnusable:
            os.close(self._lock)
            raise
        try:
            self._zxid = self._counter("zxid")
            with self.transaction():
                self.session_id = self._next("session")
                self.remove_ephemerals()
        except sqlite3.Error as error:
            self.close()
            raise StoreUnusable(
                str(file), f"the coordination store {file} cannot be written: {error}"
            ) from error

    def close(self) -> None:
        """Let go of the file. SQLite folds its write-ahead log into the database here."""
        self._db.close()
        os.close(self._lock)

    @contextmanager
    def transaction(self) -> Iterator[Touched]:
        """One durable step, under the next zxid; an exception undoes it."""
        touched = Touched(set(), set())
        self._db.execute("BEGIN IMMEDIATE")
        self._zxid += 1
        self._touched = touched
        try:
            yield touched
            self._db.execute("UPDATE counter SET value = ? WHERE name = 'zxid'", (self._zxid,))
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk may have rolled back by itself
                self._db.execute("ROLLBACK")
            raise

    def attempt(self, ops: tuple[Op, ...]) -> list[str | Stat | None]:
        """The operations, all or none, inside the current transaction."""
        self._db.execute("SAVEPOINT attempt")
        try:
            results = [self._apply(op) for op in ops]
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK TO attempt")
                self._db.execute("RELEASE attempt")
            raise
        self._db.execute("RELEASE attempt")
        return results

    def get(self, path: str) -> Node:
        """A node, or NoNode."""
        row = self._row(f"data, {_STAT}", path)
        if row is None:
            raise NoNode(path)
        return Node(row[0], Stat(*row[1:]))

    def exists(self, path: str) -> Stat | None:
        """A node's facts, or None."""
        row = self._row(_STAT, path)
        return None if row is None else Stat(*row)

    def children(self, path: str) -> list[str]:
        """The names below a node, sorted."""
        rows = self._db.execute(
            "SELECT name FROM node WHERE parent = ? AND name <> '' ORDER BY name", (path,)
        ).fetchall()
        if not rows and self.exists(path) is None:
            raise NoNode(path)
        return [name for (name,) in rows]

    def tree(self, path: str) -> dict[str, Node]:
        """The node and all below it, parents first."""
        stat = self.exists(path)
        if stat is None:
            return {}
        nodes = {path: self.get(path)}
        prefix = "/" if path == "/" else path + "/"
        rows = self._db.execute(
            f"SELECT parent, name, data, {_STAT} FROM node"  # noqa: S608 (column names only)
            " WHERE (parent = ? OR parent >= ? AND parent < ?) AND name <> ''"
            " ORDER BY parent, name",
            (path, prefix, prefix[:-1] + "0"),  # "0" is the character after "/"
        )
        for parent, name, data, *facts in rows:
            child = f"/{name}" if parent == "/" else f"{parent}/{name}"
            nodes[child] = Node(data, Stat(*facts))
        return nodes

    def remove_ephemerals(self) -> None:
        """Remove the ephemeral nodes of every session; needs a transaction."""
        rows = self._db.execute(
            f"SELECT parent, name FROM node WHERE owner <> {NO_OWNER}"  # noqa: S608 (a constant)
        ).fetchall()
        for parent, name in rows:
            self._apply(Delete(f"/{name}" if parent == "/" else f"{parent}/{name}"))

    def _apply(self, op: Op) -> str | Stat | None:
        if isinstance(op, Create):
            return self._create(op)
        if isinstance(op, Set):
            return self._set(op)
        if isinstance(op, Delete):
            self._delete(op)
        else:
            self._require(op)
        return None

    def _create(self, op: Create) -> str:
        path = op.path
        parent = parent_of(path)
        row = self._row("owner, next_sequence", parent)
        if row is None:
            raise NoNode(parent)
        owner, next_sequence = row
        if owner != NO_OWNER:
            raise NoChildrenForEphemerals(parent)
        if op.sequence:
            path = sequence_name(path, next_sequence)
            self._db.execute(
                "UPDATE node SET next_sequence = ? WHERE parent = ? AND name = ?",
                (next_sequence + 1, *_key(parent)),
            )
        now_ms = self._now_ms()
        own = self.session_id if op.ephemeral else NO_OWNER
        try:
            self._db.execute(
                "INSERT INTO node VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, 0)",
                (*_key(path), op.data, self._zxid, self._zxid, now_ms, now_ms, own),
            )
        except sqlite3.IntegrityError:
            raise NodeExists(path) from None
        self._touch(path)
        return path

    def _set(self, op: Set) -> Stat:
        stat = self._require(op)._replace(mzxid=self._zxid, mtime_ms=self._now_ms())
        stat = stat._replace(version=stat.version + 1)
        self._db.execute(
            "UPDATE node SET data = ?, version = ?, mzxid = ?, mtime_ms = ?"
            " WHERE parent = ? AND name = ?",
            (op.data, stat.version, stat.mzxid, stat.mtime_ms, *_key(op.path)),
        )
        self._touched.nodes.add(op.path)
        return stat

    def _delete(self, op: Delete) -> None:
        self._require(op)
        if self._db.execute("SELECT 1 FROM node WHERE parent = ? LIMIT 1", (op.path,)).fetchone():
            raise NotEmpty(op.path)
        self._db.execute("DELETE FROM node WHERE parent = ? AND name = ?", _key(op.path))
        self._touch(op.path)
        self._touched.parents.add(op.path)

    def _require(self, op: Set | Delete | Check) -> Stat:
        stat = self.exists(op.path)
        if stat is None:
            raise NoNode(op.path)
        if op.version not in (ANY_VERSION, stat.version):
            raise BadVersion(op.path)
        return stat

    def _touch(self, path: str) -> None:
        self._touched.nodes.add(path)
        self._touched.parents.add(parent_of(path))

    def _row(self, columns: str, path: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._db.execute(
            f"SELECT {columns} FROM node WHERE parent = ? AND name = ?",  # noqa: S608 (column names)
            _key(check_path(path)),
        ).fetchone()
        return row

    def _counter(self, name: str) -> int:
        row = self._db.execute("SELECT value FROM counter WHERE name = ?", (name,)).fetchone()
        return int(row[0])

    def _next(self, name: str) -> int:
        self._db.execute("UPDATE counter SET value = value + 1 WHERE name = ?", (name,))
        return self._counter(name)


def _key(path: str) -> tuple[str, str]:
    if path == "/":
        return "", ""
    parent, _, name = path.rpartition("/")
    return parent or "/", name


def _lock(file: Path) -> int:
    """Hold the lock file beside the database for as long as the descriptor lives."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(
            file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
    except OSError as error:
        raise StoreUnusable(str(file), f"cannot open the coordination store: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise StoreUnusable(
            str(file),
            f"the coordination store {file} is in use by another broker; give each its own folder",
        ) from error
    return descriptor


def _open(file: Path) -> sqlite3.Connection:
    """Open or make the database; refuse a damaged or a foreign one and say which file it is."""
    db: sqlite3.Connection | None = None
    try:
        db = sqlite3.connect(file, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL").fetchone()
        db.execute("PRAGMA synchronous = FULL")
        if db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] == 0:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        _check(db, file)
    except sqlite3.Error as error:
        if db is not None:
            db.close()
        raise StoreUnusable(
            str(file),
            f"the coordination store {file} cannot be read: {error}. Restore it from a backup,"
            " or move it away to start empty (topics are then unknown; their folders are kept).",
        ) from error
    except StoreUnusable:
        assert db is not None
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection, file: Path) -> None:
    verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
    application_id = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application_id != APPLICATION_ID:
        raise StoreUnusable(str(file), f"{file} is a database of another program; move it away")
    if version != LAYOUT_VERSION:
        raise StoreUnusable(
            str(file),
            f"{file} has layout {version}, this release reads layout {LAYOUT_VERSION};"
            " start the release that wrote it",
        )
