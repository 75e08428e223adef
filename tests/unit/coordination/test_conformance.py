"""A reader may conclude: every driver of the coordination store keeps the contract."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from odradek.coordination.contract import (
    BadVersion,
    Check,
    Create,
    Delete,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    SessionLost,
    SessionState,
    Set,
    Store,
    ensure_path,
)

StoreFactory = Callable[[], Awaitable[Store]]
Story = Callable[[Store], Awaitable[None]]


def tell(open_store: StoreFactory, story: Story) -> None:
    """Run one story on one session."""

    async def run() -> None:
        store = await open_store()
        try:
            await story(store)
        finally:
            await store.close()

    asyncio.run(run())


class TestNodes:
    def test_a_node_is_created_read_changed_and_deleted(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            assert await store.create("/a", b"one") == "/a"
            data, stat = await store.get("/a")
            assert (data, stat.version, stat.ephemeral_owner) == (b"one", 0, 0)
            changed = await store.set("/a", b"two")
            assert changed.version == 1
            assert changed.mzxid > stat.mzxid
            assert changed.czxid == stat.czxid
            assert (await store.get("/a")) == (b"two", changed)
            await store.delete("/a")
            assert await store.exists("/a") is None
            with pytest.raises(NoNode):
                await store.get("/a")

        tell(open_store, story)

    def test_what_cannot_be_says_so(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            await store.create("/a")
            with pytest.raises(NodeExists):
                await store.create("/a")
            with pytest.raises(NoNode):
                await store.create("/x/y")
            with pytest.raises(NoNode):
                await store.set("/x", b"")
            with pytest.raises(NoNode):
                await store.delete("/x")
            with pytest.raises(NoNode):
                await store.children("/x")
            await store.create("/a/b")
            with pytest.raises(NotEmpty):
                await store.delete("/a")

        tell(open_store, story)

    def test_versions_guard_writes(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            await store.create("/a")
            await store.set("/a", b"1", version=0)
            with pytest.raises(BadVersion):
                await store.set("/a", b"2", version=0)
            with pytest.raises(BadVersion):
                await store.delete("/a", version=0)
            await store.delete("/a", version=1)

        tell(open_store, story)

    def test_children_are_names_in_order(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            for path in ("/a", "/a/c", "/a/b", "/a/b/deep", "/ab"):
                await store.create(path)
            assert await store.children("/a") == ["b", "c"]
            assert await store.children("/a/c") == []
            assert {"a", "ab"} <= set(await store.children("/"))

        tell(open_store, story)

    def test_a_tree_is_read_whole_and_no_further(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            for path in ("/a", "/a/b", "/a/b/c", "/a!", "/a0", "/ab"):
                await store.create(path, path.encode())
            tree = await store.tree("/a")
            assert list(tree) == ["/a", "/a/b", "/a/b/c"]
            assert tree["/a/b/c"].data == b"/a/b/c"
            assert list(await store.tree("/a/b/c")) == ["/a/b/c"]
            assert await store.tree("/nothing") == {}
            assert {"/", "/a", "/a/b/c", "/a!"} <= set(await store.tree("/"))

        tell(open_store, story)

    def test_sequence_numbers_grow_even_after_deletes(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            await store.create("/q")
            first = await store.create("/q/n-", b"", sequence=True)
            await store.delete(first)
            second = await store.create("/q/n-", b"", sequence=True)
            assert first < second
            assert len(first) == len("/q/n-") + 10

        tell(open_store, story)

    def test_ensure_path_makes_what_is_missing(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            await store.create("/a")
            await ensure_path(store, "/a/b/c")
            await ensure_path(store, "/a/b/c")
            assert await store.exists("/a/b/c") is not None

        tell(open_store, story)


class TestMulti:
    def test_all_or_nothing(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            await store.create("/a", b"0")
            with pytest.raises(BadVersion) as refused:
                await store.multi([Create("/b"), Set("/a", b"1"), Check("/a", 9)])
            assert refused.value.path == "/a"
            assert await store.exists("/b") is None
            assert (await store.get("/a")).data == b"0"

        tell(open_store, story)

    def test_results_come_one_per_operation(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            await store.multi([Create("/a"), Create("/a/b"), Create("/z")])
            results = await store.multi(
                [
                    Check("/a", 0),
                    Create("/a/s", sequence=True),
                    Set("/a/b", b"x", 0),
                    Delete("/z", 0),
                ]
            )
            assert results[0] is None
            assert results[1] == "/a/s0000000000"
            assert results[2] == (await store.get("/a/b")).stat
            assert results[3] is None

        tell(open_store, story)

    def test_one_failure_in_a_burst_does_not_touch_the_others(
        self, open_store: StoreFactory
    ) -> None:
        async def story(store: Store) -> None:
            await store.create("/a")
            writes = [store.create(f"/a/{n}" if n != 5 else "/no/parent") for n in range(10)]
            results = await asyncio.gather(*writes, return_exceptions=True)
            assert [n for n, r in enumerate(results) if isinstance(r, Exception)] == [5]
            assert len(await store.children("/a")) == 9

        tell(open_store, story)


class TestSessions:
    def test_ephemerals_go_with_their_session(self, open_store: StoreFactory) -> None:
        async def run() -> None:
            first = await open_store()
            await first.create("/kept", b"k")
            await first.create("/mine", ephemeral=True)
            assert (await first.get("/mine")).stat.ephemeral_owner == first.session_id
            with pytest.raises(NoChildrenForEphemerals):
                await first.create("/mine/child")
            await first.close()
            second = await open_store()
            assert await second.exists("/mine") is None
            assert (await second.get("/kept")).data == b"k"
            assert second.session_id != first.session_id
            await second.close()

        asyncio.run(run())

    def test_a_closed_session_is_lost_and_says_so(self, open_store: StoreFactory) -> None:
        async def run() -> None:
            store = await open_store()
            heard: list[SessionState] = []
            woken: list[str] = []
            store.add_listener(heard.append)
            await store.watch_data("/a", lambda: woken.append("/a"))
            assert store.state is SessionState.CONNECTED
            await store.close()
            assert store.state is SessionState.LOST
            assert heard == [SessionState.LOST]
            assert woken == ["/a"]
            with pytest.raises(SessionLost):
                await store.get("/")
            with pytest.raises(SessionLost):
                await store.create("/a")
            await store.close()  # harmless

        asyncio.run(run())


class TestWatches:
    def test_data_watches_fire_once_per_registration(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            fired: list[str] = []
            await store.watch_data("/a", lambda: fired.append("created"))
            await store.create("/a")
            await store.set("/a", b"1")
            assert fired == ["created"]
            await store.watch_data("/a", lambda: fired.append("set"))
            await store.set("/a", b"2")
            await store.watch_data("/a", lambda: fired.append("deleted"))
            await store.delete("/a")
            assert fired == ["created", "set", "deleted"]

        tell(open_store, story)

    def test_child_watches_hear_of_children_only(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            fired: list[str] = []
            with pytest.raises(NoNode):
                await store.watch_children("/a", lambda: fired.append("never"))
            await store.create("/a")
            await store.watch_children("/a", lambda: fired.append("child"))
            await store.set("/a", b"1")
            assert fired == []
            await store.create("/a/b")
            await store.set("/a/b", b"1")
            assert fired == ["child"]
            await store.watch_children("/a", lambda: fired.append("gone"))
            await store.delete("/a/b")
            assert fired == ["child", "gone"]

        tell(open_store, story)

    def test_a_failed_write_wakes_nobody(self, open_store: StoreFactory) -> None:
        async def story(store: Store) -> None:
            fired: list[str] = []
            await store.create("/a")
            await store.watch_data("/a", lambda: fired.append("set"))
            with pytest.raises(BadVersion):
                await store.multi([Check("/a", 7), Set("/a", b"")])
            assert fired == []

        tell(open_store, story)
