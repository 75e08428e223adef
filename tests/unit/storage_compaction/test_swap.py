"""A crash at any point of the exchange of segments loses nothing and leaves one picture of the log."""

from __future__ import annotations

import os
from typing import Any

import pytest

from odradek.storage.compaction import recover_swap_files

World = Any  # see conftest


class CrashError(BaseException):
    """The machine stops here."""


def prepare(world: World) -> None:
    world.put(
        ("gone", "aborted"),
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    world.end(1, commit=False)
    world.put(("a", "1"), ("b", "1"))
    world.roll()
    world.put(("a", "2"))
    world.roll()
    world.put(("b", "2"))
    world.roll()
    world.put(("x", "1"))


def crash_after(world: World, monkeypatch: pytest.MonkeyPatch, calls: int) -> bool:
    """Clean, and stop at the rename or removal number `calls`; whether it came to that."""
    done = 0
    rename, remove = world.disk.rename, world.disk.remove

    def counted(work: Any) -> Any:
        def call(*args: str) -> None:
            nonlocal done
            if done == calls:
                raise CrashError
            done += 1
            work(*args)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(type(world.disk), "rename", staticmethod(counted(rename)))
        patch.setattr(type(world.disk), "remove", staticmethod(counted(remove)))
        try:
            world.clean()
        except CrashError:
            return True
    return False


def visible(world: World) -> dict[str | None, str | None]:
    """What a reader of committed records learns: the last value of each key."""
    aborted = dict(world.log.aborted_transactions(0, world.log.log_end_offset))
    found = {key: value for _, key, value in world.records()}
    if aborted:
        found.pop("gone", None)
    return found


def test_a_crash_at_every_step_of_the_exchange(
    new_world: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """After each possible crash: no leftovers, no lost value, aborted records stay invisible."""
    step = 0
    while True:
        (tmp_path / str(step)).mkdir()
        world = new_world(path=str(step))
        prepare(world)
        crashed = crash_after(world, monkeypatch, step)
        recover_swap_files(world.disk, str(world.path))
        names = world.files()
        assert not any(name.endswith((".cleaned", ".swap", ".deleted")) for name in names)
        logs = sorted(name for name in names if name.endswith(".log"))
        assert logs[0] == "00000000000000000000.log"
        world.reload()
        assert visible(world) == {"a": "2", "b": "2", "x": "1"}, step
        offsets = [offset for offset, _, _ in world.records()]
        assert offsets == sorted(set(offsets))
        if not crashed:
            break
        step += 1
    assert step > 8


def test_half_renamed_files_are_undone(world: World) -> None:
    """A `.swap` log next to a `.cleaned` index of the same segment was never in use."""
    prepare(world)
    for name in ("00000000000000000000.log.swap", "00000000000000000000.index.cleaned"):
        (world.path / name).write_bytes(b"half")
    recover_swap_files(world.disk, str(world.path))
    assert not any(name.endswith((".swap", ".cleaned")) for name in world.files())
    assert "00000000000000000000.log" in world.files()


def test_the_rest_of_a_swap_is_renamed(world: World) -> None:
    """When the log already has its name, indexes that wait as `.swap` follow it."""
    prepare(world)
    base = world.path / "00000000000000000004.timeindex"
    os.rename(base, f"{base}.swap")
    recover_swap_files(world.disk, str(world.path))
    assert base.exists()


def test_a_swap_that_cannot_be_read_does_not_replace_anything(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """When the old segments are still there, a broken new one is dropped and reported."""
    prepare(world)
    (world.path / "00000000000000000000.log.swap").write_bytes(b"garbage" * 20)
    recover_swap_files(world.disk, str(world.path))
    assert "00000000000000000000.log" in world.files()
    assert "00000000000000000004.log" in world.files()
    assert "stay" in caplog.text


def test_a_folder_without_leftovers_is_left_as_it_is(world: World) -> None:
    """Nothing is touched in the usual case."""
    prepare(world)
    before = world.files()
    recover_swap_files(world.disk, str(world.path))
    assert world.files() == before
