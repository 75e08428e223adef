"""The real disk and the simulated one keep the same promises (`interfaces.Disk`, `interfaces.File`)."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from random import Random

import pytest

from odradek.interfaces import Disk
from odradek.runtime.disk import RealDisk
from odradek.testing.sim_disk import SimDisk


@pytest.fixture(params=["real", "simulated"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Disk, str]:
    if request.param == "real":
        return RealDisk(), str(tmp_path)
    disk = SimDisk(Random(0))
    disk.mkdir("/x")
    return disk, "/x"


def test_files_grow_and_are_cut(place: tuple[Disk, str]) -> None:
    disk, folder = place
    path = f"{folder}/f"
    with pytest.raises(FileNotFoundError):
        disk.open(path)
    file = disk.open(path, create=True)
    file.append(b"hello ")
    file.append(memoryview(b"world"))
    assert file.pread(5, 6) == b"world"
    assert file.pread(100, 6) == b"world"
    assert file.pread(10, 100) == b""
    file.truncate(5)
    file.append(b"!")
    file.fsync()
    assert (file.size(), disk.size(path), disk.read_bytes(path)) == (6, 6, b"hello!")
    assert disk.open(path).pread(6, 0) == b"hello!"


def test_names_are_made_renamed_and_removed(place: tuple[Disk, str]) -> None:
    disk, folder = place
    disk.mkdir(f"{folder}/a/b")
    with pytest.raises(FileExistsError):
        disk.mkdir(f"{folder}/a")
    disk.open(f"{folder}/a/f", create=True).append(b"1")
    disk.open(f"{folder}/a/g", create=True).append(b"2")
    assert sorted(disk.listdir(f"{folder}/a")) == ["b", "f", "g"]
    assert disk.subdirs(f"{folder}/a") == ["b"]
    disk.rename(f"{folder}/a/f", f"{folder}/a/g")
    assert disk.read_bytes(f"{folder}/a/g") == b"1"
    assert not disk.exists(f"{folder}/a/f")
    disk.rename(f"{folder}/a", f"{folder}/c")
    assert disk.read_bytes(f"{folder}/c/g") == b"1"
    disk.remove(f"{folder}/c/g")
    with pytest.raises(FileNotFoundError):
        disk.remove(f"{folder}/c/g")
    disk.remove_tree(f"{folder}/c")
    disk.remove_tree(f"{folder}/c")
    assert not disk.exists(f"{folder}/c")
    disk.fsync_dir(folder)


def test_a_file_outlives_its_name(place: tuple[Disk, str]) -> None:
    disk, folder = place
    file = disk.open(f"{folder}/f", create=True)
    file.append(b"still here")
    disk.remove(f"{folder}/f")
    assert file.pread(10, 0) == b"still here"


def test_content_is_replaced_as_a_whole(place: tuple[Disk, str]) -> None:
    disk, folder = place
    disk.write_atomically(f"{folder}/f", b"one")
    disk.write_atomically(f"{folder}/f", b"two")
    assert disk.read_bytes(f"{folder}/f") == b"two"
    assert disk.listdir(folder) == ["f"]


def test_a_lock_is_held_once(place: tuple[Disk, str]) -> None:
    disk, folder = place
    release = disk.lock(f"{folder}/.lock")
    assert release is not None
    assert disk.lock(f"{folder}/.lock") is None
    release()
    release = disk.lock(f"{folder}/.lock")
    assert release is not None
    release()


def test_there_is_room(place: tuple[Disk, str]) -> None:
    disk, folder = place
    total, usable = disk.capacity(folder)
    assert 0 < usable <= total


def test_a_real_descriptor_closes_with_its_last_reference(tmp_path: Path) -> None:
    file = RealDisk().open(str(tmp_path / "f"), create=True)
    fd = file.fileno()
    os.fstat(fd)
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    disk = RealDisk()
    file = disk.open(str(tmp_path / "f"), create=True)
    file.append(b"0123456789")
    disk.write_atomically(str(tmp_path / "g"), b"0123456789")
    assert disk.read_bytes(str(tmp_path / "f")) == disk.read_bytes(str(tmp_path / "g"))


def test_a_crash_keeps_what_was_synced_and_a_part_of_the_rest() -> None:
    kept = set()
    for seed in range(200):
        disk = SimDisk(Random(seed))
        disk.mkdir("/x")
        file = disk.open("/x/f", create=True)
        file.append(b"synced")
        file.fsync()
        disk.fsync_dir("/x")
        file.append(b"lost?")
        disk.crash()
        content = disk.read_bytes("/x/f")
        assert content.startswith(b"synced")
        assert len(content) <= 11
        kept.add(content)
        with pytest.raises(OSError, match="Bad file descriptor"):
            file.pread(1, 0)
    assert {b"synced", b"syncedlost?", b"syncedlo"} <= kept
    assert any(content.endswith(b"\0") for content in kept)


def test_names_that_were_not_synced_may_be_lost_in_order() -> None:
    seen = set()
    for seed in range(50):
        disk = SimDisk(Random(seed))
        disk.mkdir("/x")
        disk.open("/x/a", create=True)
        disk.open("/x/b", create=True)
        disk.crash()
        seen.add(tuple(sorted(disk.listdir("/x"))))
    assert seen == {(), ("a",), ("a", "b")}


def test_a_full_disk_takes_what_fits() -> None:
    disk = SimDisk()
    disk.mkdir("/x")
    file = disk.open("/x/f", create=True)
    disk.free_bytes = 4
    with pytest.raises(OSError, match="No space left") as caught:
        file.append(b"123456")
    assert caught.value.errno == errno.ENOSPC
    assert disk.read_bytes("/x/f") == b"1234"
