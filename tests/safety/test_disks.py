"""Disks that fill up, fail or turn read-only: their log dir goes offline, the rest goes on, nothing is lost.

A small tmpfs plays the full and the read-only disk; a wrapper around the real one lets single operations
fail. In every case the partitions of the failed dir answer KAFKA_STORAGE_ERROR, those of the other dir work,
and after a repair and a restart every acknowledged record is there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from odradek.errors import Err
from odradek.interfaces import Buffer, File
from odradek.protocol.messages import fetch, produce
from odradek.records.builder import build_batch
from odradek.records.record import Record, read_records
from odradek.runtime.disk import RealDisk
from odradek.testing import EmbeddedBroker

TOPIC = "disks"


class Partitions:
    """Writes to the two partitions of a topic and keeps what was acknowledged."""

    def __init__(self, talk: Any, address: tuple[str, int]) -> None:
        self._talk = talk
        self._address = address
        self.acknowledged: dict[int, list[bytes]] = {0: [], 1: []}

    def create(self, config: dict[str, str] | None = None) -> None:
        with socket.create_connection(self._address, 30) as sock:
            self._talk.create_topic(sock, TOPIC, 2, config)

    def write(self, partition: int, size: int = 1000, timeout_ms: int = 30_000) -> Err:
        """Produce one record with acks=all; its error."""
        number = len(self.acknowledged[partition])
        value = (b"%d:%d:" % (partition, number)).ljust(size, b".")
        batch = bytes(build_batch([Record(0, int(time.time() * 1000), None, value, ())]))
        data = produce.PartitionProduceData(index=partition, records=batch)
        request = produce.ProduceRequest(
            acks=-1,
            timeout_ms=timeout_ms,
            topic_data=[produce.TopicProduceData(name=TOPIC, partition_data=[data])],
        )
        with socket.create_connection(self._address, 60) as sock:
            answer = self._talk.ask(sock, request, 9).responses[0].partition_responses[0]
        if answer.error_code == 0:
            assert answer.base_offset == number
            self.acknowledged[partition].append(value)
        return Err(answer.error_code)

    def read(self, partition: int, offset: int = 0) -> tuple[Err, bytes]:
        wanted = fetch.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=1 << 26
        )
        request = fetch.FetchRequest(
            max_bytes=1 << 26, topics=[fetch.FetchTopic(topic=TOPIC, partitions=[wanted])]
        )
        with socket.create_connection(self._address, 30) as sock:
            found = self._talk.ask(sock, request, 4).responses[0].partitions[0]
        return Err(found.error_code), bytes(found.records or b"")

    def check(self) -> None:
        """Every acknowledged record is there, at its offset."""
        for partition, values in self.acknowledged.items():
            found: list[bytes] = []
            while len(found) < len(values):
                err, records = self.read(partition, len(found))
                assert err is Err.NONE
                assert records, f"partition {partition} ends after {len(found)} of {len(values)}"
                for batch in batches_of(records):
                    (record,) = read_records(batch)
                    assert record.offset == len(found)
                    found.append(record.value or b"")
            assert found[: len(values)] == values


def batches_of(records: bytes) -> Iterator[bytes]:
    position = 0
    while position + 12 <= len(records):
        size = 12 + int.from_bytes(records[position + 8 : position + 12], "big")
        if position + size > len(records):
            return
        yield records[position : position + size]
        position += size


# -- file systems ------------------------------------------------------------------------------


class SmallDisk:
    """A tmpfs of a few megabytes."""

    def __init__(self, path: Path, megabytes: int) -> None:
        self.path = path
        _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path))

    def remount(self, option: str) -> None:
        _run("mount", "-o", f"remount,{option}", str(self.path))

    def fill(self) -> Path:
        """Take all room that is left with a file."""
        filler = self.path / "filler"
        fd = os.open(filler, os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while os.write(fd, bytes(4096)):
                pass
        os.close(fd)
        return filler

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.path)], check=False, capture_output=True)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def small_disk() -> Iterator[Callable[[int], SmallDisk]]:
    """`small_disk(megabytes)` mounts one; skips where that is not permitted."""
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    with ExitStack() as stack:

        def mount(megabytes: int) -> SmallDisk:
            path = Path(tempfile.mkdtemp(prefix="odradek-disk-"))
            stack.callback(shutil.rmtree, path, ignore_errors=True)
            try:
                disk = SmallDisk(path, megabytes)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"mounting a tmpfs is not permitted: {error.stderr.decode()}")
            stack.callback(disk.unmount)
            return disk

        yield mount


@pytest.fixture
def start_on(start_broker: Any, talk: Any) -> Callable[[SmallDisk], tuple[Any, Partitions, int]]:
    """A broker with two log dirs, the second one on a small disk, and a partition on each."""

    def start(disk: SmallDisk) -> tuple[Any, Partitions, int]:
        broker = start_broker(launch=False)
        broker.settings["log.dirs"] += f",{disk.path}/logs"
        broker.start()
        partitions = Partitions(talk, broker.address)
        partitions.create({"segment.bytes": "4000000"})
        (folder,) = (disk.path / "logs").glob(f"{TOPIC}-*")
        return broker, partitions, int(folder.name[-1])

    return start


def test_a_full_disk(small_disk: Any, start_on: Any) -> None:
    """ENOSPC: the dir goes offline with a clean error; with more room, a restart brings it back."""
    disk = small_disk(16)
    broker, partitions, small = start_on(disk)
    other = 1 - small
    errors = []
    for _ in range(40):
        errors.append(partitions.write(small, 900_000))
        assert partitions.write(other) is Err.NONE
    first_error = errors.index(Err.KAFKA_STORAGE_ERROR)
    assert first_error > 8
    assert set(errors[:first_error]) == {Err.NONE}
    assert set(errors[first_error:]) == {Err.KAFKA_STORAGE_ERROR}
    assert partitions.read(small)[0] is Err.KAFKA_STORAGE_ERROR
    assert "goes offline" in broker.output()
    assert "Traceback" not in broker.output()
    assert broker.terminate() == 0
    disk.remount("size=64m")
    broker.start()
    partitions.check()
    assert partitions.write(small, 900_000) is Err.NONE
    assert partitions.write(other) is Err.NONE
    partitions.check()


def test_a_full_disk_that_stays_full(small_disk: Any, start_on: Any) -> None:
    """A restart without a repair: the broker starts, the dir is offline again or serves what it has."""
    disk = small_disk(8)
    broker, partitions, small = start_on(disk)
    while partitions.write(small, 500_000) is Err.NONE:
        pass
    filler = disk.fill()  # not even room for a checkpoint
    broker.kill()
    broker.start()
    assert partitions.write(1 - small) is Err.NONE
    assert partitions.write(small, 900_000) is Err.KAFKA_STORAGE_ERROR
    assert "Traceback" not in broker.output()
    broker.terminate()
    filler.unlink()
    disk.remount("size=32m")
    broker.start()
    partitions.check()
    assert partitions.write(small, 500_000) is Err.NONE


def test_a_disk_that_is_read_only_at_start(small_disk: Any, start_on: Any) -> None:
    """The broker starts with what works; the read-only dir's partitions come back with it."""
    disk = small_disk(16)
    broker, partitions, small = start_on(disk)
    for partition in (0, 1) * 5:
        assert partitions.write(partition) is Err.NONE
    assert broker.terminate() == 0
    disk.remount("ro")
    broker.start()
    assert partitions.write(small) is Err.KAFKA_STORAGE_ERROR
    assert partitions.write(1 - small) is Err.NONE
    assert partitions.read(small)[0] is Err.KAFKA_STORAGE_ERROR
    assert "Traceback" not in broker.output()
    assert broker.terminate() == 0
    disk.remount("rw")
    broker.start()
    partitions.check()
    assert partitions.write(small) is Err.NONE


def test_a_disk_that_is_not_there_at_start(small_disk: Any, start_on: Any) -> None:
    """An unmounted disk must not look like an empty one: its partitions are not made anew elsewhere."""
    disk = small_disk(16)
    broker, partitions, small = start_on(disk)
    for partition in (0, 1) * 5:
        assert partitions.write(partition) is Err.NONE
    assert broker.terminate() == 0
    kept = disk.path.with_name(disk.path.name + "-kept")
    kept.mkdir()
    try:
        _run("mount", "--move", str(disk.path), str(kept))
        disk.path.chmod(0o500)
        (disk.path / "logs").write_text("a file where a folder should be")
        broker.start()
        assert partitions.write(small) is Err.KAFKA_STORAGE_ERROR
        assert partitions.write(1 - small) is Err.NONE
        assert broker.terminate() == 0
        (disk.path / "logs").unlink()
    finally:
        _run("mount", "--move", str(kept), str(disk.path))
        kept.rmdir()
    broker.start()
    partitions.check()


def test_a_broken_only_dir_at_start(small_disk: Any, start_broker: Any) -> None:
    """With no dir left there is nothing to serve: a sentence and exit code 1."""
    disk = small_disk(4)
    disk.remount("ro")
    broker = start_broker({"log.dirs": str(disk.path / "logs")}, launch=False)
    broker.launch()
    assert broker.wait() == 1
    assert "Read-only file system" in broker.output()
    assert "Traceback" not in broker.output()


def test_the_metadata_disk_is_full(small_disk: Any, start_broker: Any, talk: Any) -> None:
    """Changes of metadata are refused as long as they cannot be stored, and work afterwards."""
    disk = small_disk(8)
    broker = start_broker({"log.dirs": str(disk.path / "logs")})
    with socket.create_connection(broker.address, 60) as sock:
        talk.create_topic(sock, "before")
        filler = disk.fill()
        with pytest.raises(AssertionError, match="disk"):  # the words of the reply
            talk.create_topic(sock, "during", 50)
        filler.unlink()
    broker.kill()
    broker.start()
    assert "Traceback" not in broker.output()
    with socket.create_connection(broker.address, 60) as sock:
        talk.create_topic(sock, "after")


# -- single operations -------------------------------------------------------------------------


class Trouble:
    """Which operations fail below a folder, with which error."""

    def __init__(self) -> None:
        self._armed: dict[str, int] = {}
        self._lock = threading.Lock()
        self.below = ""

    def arm(self, operation: str, number: int = errno.EIO) -> None:
        with self._lock:
            self._armed[operation] = number

    def heal(self) -> None:
        with self._lock:
            self._armed.clear()

    def maybe_fail(self, operation: str, path: str) -> None:
        with self._lock:
            number = self._armed.get(operation)
        if number is not None and self.below and path.startswith(self.below):
            raise OSError(number, os.strerror(number), path)


class TroubledFile:
    """A real file with trouble."""

    def __init__(self, file: File, path: str, trouble: Trouble) -> None:
        self._file = file
        self._path = path
        self._trouble = trouble

    def append(self, data: Buffer) -> None:
        self._trouble.maybe_fail("append", self._path)
        self._file.append(data)

    def fsync(self) -> None:
        self._trouble.maybe_fail("fsync", self._path)
        self._file.fsync()

    def pread(self, size: int, position: int) -> bytes:
        self._trouble.maybe_fail("pread", self._path)
        return self._file.pread(size, position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class TroubledDisk(RealDisk):
    """The real disk with trouble."""

    __slots__ = ("trouble",)

    def __init__(self) -> None:
        self.trouble = Trouble()

    def open(self, path: str, *, create: bool = False) -> Any:
        self.trouble.maybe_fail("create" if create else "open", path)
        return TroubledFile(super().open(path, create=create), path, self.trouble)

    def rename(self, old: str, new: str) -> None:
        self.trouble.maybe_fail("rename", old)
        super().rename(old, new)

    def write_atomically(self, path: str, content: bytes) -> None:
        self.trouble.maybe_fail("write_atomically", path)
        super().write_atomically(path, content)


@pytest.fixture
def troubled(
    tmp_path: Path, talk: Any
) -> Iterator[tuple[EmbeddedBroker, Partitions, int, Trouble]]:
    """A broker on two dirs in this process; its second dir can be troubled."""
    disk = TroubledDisk()
    good, bad = tmp_path / "good", tmp_path / "bad"
    keys = {"log.dirs": f"{good},{bad}", "log.flush.scheduler.interval.ms": "100"}
    with EmbeddedBroker(keys, data_dir=tmp_path, disk=disk) as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        partitions = Partitions(talk, (host, int(port)))
        partitions.create({"segment.bytes": "100000", "flush.ms": "200"})
        (folder,) = bad.glob(f"{TOPIC}-*")
        for partition in (0, 1) * 5:
            assert partitions.write(partition) is Err.NONE
        disk.trouble.below = str(bad)
        yield broker, partitions, int(folder.name[-1]), disk.trouble


def health(broker: EmbeddedBroker) -> str:
    with urllib.request.urlopen(broker.http_url + "/healthz", timeout=10) as answer:
        return str(answer.read().decode())


def test_a_fetch_that_waits_on_a_failing_dir(troubled: Any, talk: Any) -> None:
    """It is told at once, not when its time is up."""
    _, partitions, bad, trouble = troubled
    wanted = fetch.FetchPartition(partition=bad, fetch_offset=5, partition_max_bytes=1 << 20)
    request = fetch.FetchRequest(
        max_wait_ms=60_000,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[fetch.FetchTopic(topic=TOPIC, partitions=[wanted])],
    )
    with socket.create_connection(partitions._address, 10) as sock:
        sock.sendall(talk.frame(request, 4))
        time.sleep(0.2)
        trouble.arm("append")
        assert partitions.write(bad) is Err.KAFKA_STORAGE_ERROR
        answer = talk.receive(sock, 1, 4).responses[0].partitions[0]
        assert Err(answer.error_code) is Err.KAFKA_STORAGE_ERROR


def test_a_topic_deleted_on_a_failing_dir(troubled: Any, talk: Any) -> None:
    """Its metadata goes, its files stay for the operator, and the broker goes on."""
    from odradek.protocol.messages.delete_topics import DeleteTopicsRequest

    broker, partitions, _, trouble = troubled
    trouble.arm("rename")
    with socket.create_connection(partitions._address, 30) as sock:
        answer = talk.ask(sock, DeleteTopicsRequest(topic_names=[TOPIC], timeout_ms=10_000), 4)
        assert answer.responses[0].error_code == 0
        talk.create_topic(sock, "another", 2)
    trouble.heal()
    broker.restart()


@pytest.mark.parametrize("operation", ["append", "create", "fsync", "write_atomically"])
@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.ENOSPC], ids=os.strerror)
def test_an_operation_that_fails_takes_its_dir_offline(
    troubled: Any, operation: str, number: int
) -> None:
    """Whatever it was: the error is told, nothing is retried as success, the other dir goes on."""
    broker, partitions, bad, trouble = troubled
    trouble.arm(operation, number)
    deadline = time.monotonic() + 20
    while partitions.write(bad, 20_000) is Err.NONE:  # rolls and flushes come by themselves
        assert time.monotonic() < deadline, "the failure was never noticed"
    for _ in range(3):
        assert partitions.write(bad) is Err.KAFKA_STORAGE_ERROR
        assert partitions.read(bad)[0] is Err.KAFKA_STORAGE_ERROR
        assert partitions.write(1 - bad) is Err.NONE
    assert "degraded" in health(broker)
    trouble.heal()
    assert partitions.write(bad) is Err.KAFKA_STORAGE_ERROR  # for the rest of this run
    broker.restart()
    partitions.check()
    assert partitions.write(bad) is Err.NONE
    assert '"ok"' in health(broker)


def test_a_sync_that_fails_under_a_waiting_producer(
    troubled: Any, talk: Any, tmp_path: Path
) -> None:
    """With flush.messages=1 an acknowledgement means "on the disk": a failed sync gives none."""
    broker, partitions, bad, trouble = troubled
    set_flush_messages(talk, partitions, "1")
    assert partitions.write(bad) is Err.NONE
    trouble.arm("fsync")
    started = time.monotonic()
    err = partitions.write(bad, timeout_ms=60_000)
    assert err in (Err.KAFKA_STORAGE_ERROR, Err.NOT_LEADER_OR_FOLLOWER)
    assert time.monotonic() - started < 10
    assert partitions.write(1 - bad) is Err.NONE
    trouble.heal()
    broker.restart(clean=False)
    partitions.check()


def set_flush_messages(talk: Any, partitions: Partitions, value: str) -> None:
    from odradek.protocol.messages.incremental_alter_configs import (
        AlterableConfig,
        AlterConfigsResource,
        IncrementalAlterConfigsRequest,
    )

    change = AlterableConfig(name="flush.messages", config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[change])
    with socket.create_connection(partitions._address, 30) as sock:
        answer = talk.ask(sock, IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0


def test_new_topics_avoid_a_failed_dir(troubled: Any, talk: Any) -> None:
    """Partitions made while a dir is offline land on the others, and stay there."""
    broker, partitions, bad, trouble = troubled
    trouble.arm("append")
    assert partitions.write(bad) is Err.KAFKA_STORAGE_ERROR
    host, _, port = broker.bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port)), 30) as sock:
        talk.create_topic(sock, "new", 4)
    assert not list(Path(trouble.below).glob("new-*"))
    trouble.heal()
    broker.restart()
    partitions.check()
