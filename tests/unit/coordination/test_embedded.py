"""A reader may conclude: the SQLite file survives a kill, is used by one process, and damage is named."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from odradek.coordination.contract import Create, OutcomeUnknown, SessionState, StoreUnusable
from odradek.coordination.embedded import FILE_NAME, EmbeddedStore
from odradek.coordination.sqlite_tree import SqliteTree
from odradek.runtime.clock import SystemClock

CLOCK = SystemClock()

WRITER = """
import asyncio, sys
from pathlib import Path
from odradek.coordination.embedded import EmbeddedStore
from odradek.runtime.clock import SystemClock

async def main():
    store = await EmbeddedStore.open(Path(sys.argv[1]), SystemClock())
    await store.create("/claim", b"", ephemeral=True)
    await store.create("/n", b"")
    for number in range(10**9):
        await store.create(f"/n/{number:09d}", b"x" * 100)
        print(number, flush=True)

asyncio.run(main())
"""


def test_every_acknowledged_write_survives_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        acknowledged = -1
        for line in writer.stdout:
            acknowledged = int(line)
            if acknowledged == 20:
                os.kill(writer.pid, signal.SIGKILL)
                break
        acknowledged = max([acknowledged, *map(int, writer.stdout.read().split())])

    async def read_back() -> None:
        store = await EmbeddedStore.open(tmp_path, CLOCK)
        names = await store.children("/n")
        assert names[: acknowledged + 1] == [f"{n:09d}" for n in range(acknowledged + 1)]
        assert len(names) <= acknowledged + 2  # at most the one that was under way
        assert await store.exists("/claim") is None
        await store.close()

    asyncio.run(read_back())


def test_a_second_broker_is_kept_out(tmp_path: Path) -> None:
    async def run() -> None:
        first = await EmbeddedStore.open(tmp_path, CLOCK)
        with pytest.raises(StoreUnusable, match="in use by another broker"):
            await EmbeddedStore.open(tmp_path, CLOCK)
        await first.close()
        await (await EmbeddedStore.open(tmp_path, CLOCK)).close()

    asyncio.run(run())


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME

    async def make() -> None:
        store = await EmbeddedStore.open(tmp_path, CLOCK)
        await store.multi([Create("/a"), *(Create(f"/a/{n}", b"x" * 900) for n in range(200))])
        await store.close()

    async def refused() -> None:
        with pytest.raises(StoreUnusable) as error:
            await EmbeddedStore.open(tmp_path, CLOCK)
        assert str(file) in str(error.value)

    asyncio.run(make())
    content = bytearray(file.read_bytes())
    content[3 * 4096 : 20 * 4096] = os.urandom(17 * 4096)
    file.write_bytes(content)
    asyncio.run(refused())
    file.write_bytes(b"not a database at all" * 1000)
    asyncio.run(refused())


def test_a_foreign_or_newer_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE theirs (x)")
    db.close()

    async def refused(words: str) -> None:
        with pytest.raises(StoreUnusable, match=words):
            await EmbeddedStore.open(tmp_path, CLOCK)

    asyncio.run(refused("another program"))
    file.unlink()
    SqliteTree(file, CLOCK.now_ms).close()
    db = sqlite3.connect(file)
    db.execute("PRAGMA user_version = 99")
    db.close()
    asyncio.run(refused("layout 99"))


def test_a_burst_of_writes_shares_its_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[int] = []
    original = EmbeddedStore._serve

    def counted(self: EmbeddedStore, tree: SqliteTree, batch: list[object]) -> None:
        commits.append(len(batch))
        original(self, tree, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(EmbeddedStore, "_serve", counted)

    async def run() -> None:
        store = await EmbeddedStore.open(tmp_path, CLOCK)
        await store.create("/a")
        await asyncio.gather(*(store.create(f"/a/{n}") for n in range(500)))
        assert len(await store.children("/a")) == 500
        await store.close()

    asyncio.run(run())
    assert len(commits) < 100


def test_a_failing_disk_ends_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: SqliteTree, ops: object) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname = "SQLITE_IOERR_FSYNC"
        raise error

    async def run() -> None:
        store = await EmbeddedStore.open(tmp_path, CLOCK)
        monkeypatch.setattr(SqliteTree, "attempt", fail)
        with pytest.raises(OutcomeUnknown):
            await store.create("/a")
        await asyncio.sleep(0)
        assert store.state is SessionState.LOST
        await store.close()

    asyncio.run(run())


def test_a_full_disk_fails_the_write_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: SqliteTree, ops: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"
        raise error

    async def run() -> None:
        store = await EmbeddedStore.open(tmp_path, CLOCK)
        with monkeypatch.context() as patch:
            patch.setattr(SqliteTree, "attempt", fail)
            with pytest.raises(StoreUnusable, match="full"):
                await store.create("/a")
        await store.create("/a")
        await store.close()

    asyncio.run(run())


def test_the_database_is_never_touched_by_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()
    original = SqliteTree.attempt

    def noted(self: SqliteTree, ops: object) -> object:
        threads.add(threading.get_ident())
        return original(self, ops)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteTree, "attempt", noted)

    async def run() -> None:
        store = await EmbeddedStore.open(tmp_path, CLOCK)
        await store.create("/a")
        await store.close()

    asyncio.run(run())
    assert len(threads) == 1
    assert threading.get_ident() not in threads
