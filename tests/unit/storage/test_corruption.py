"""Whatever a crash or a bad disk leaves, a log opens, says what it did, and serves no torn batch."""

from __future__ import annotations

import logging
from random import Random
from typing import Any

import pytest

from odradek.storage.partition_log import PartitionLog
from odradek.testing.sim_disk import SimDisk

COUNT = 30
LOG_DIR = "/data/t-0"


@pytest.fixture
def full(store: Any, tools: Any) -> Any:
    """A store whose t-0 has several segments, epochs, producers and an aborted transaction."""
    log = store.create(segment_bytes=1500, index_interval_bytes=100)
    fill(log, tools)
    return store


def fill(log: PartitionLog, tools: Any) -> None:
    for i in range(COUNT):
        tools.append(
            log,
            b"%060d" % i,
            epoch=i // 10,
            timestamp=tools.NOW_MS + i,
            producer_id=5,
            producer_epoch=0,
            base_sequence=i,
        )
    log.high_watermark = log.log_end_offset


def check(log: PartitionLog, tools: Any, at_least: int = COUNT) -> None:
    """Records are those that were written, in order, from the start; and the log goes on."""
    found = tools.read_all(log)
    assert len(found) >= at_least
    assert found == [(i, b"%060d" % i) for i in range(len(found))]
    assert log.log_end_offset == len(found)
    for start in range(0, len(found), 3):
        assert tools.read_all(log, start) == found[start:]
        by_time = log.prepare_find_by_timestamp(tools.NOW_MS + start)()
        assert by_time is not None
        assert by_time.offset == start
    assert tools.append(log, b"more").first_offset == len(found)
    assert len(tools.read_all(log)) == len(found) + 1


def files(store: Any, suffix: str) -> list[str]:
    return sorted(
        f"{LOG_DIR}/{name}" for name in store.disk.listdir(LOG_DIR) if name.endswith(suffix)
    )


def set_content(disk: SimDisk, path: str, content: bytes) -> None:
    file = disk.open(path)
    file.truncate(0)
    file.append(content)
    file.fsync()


def test_a_kill_loses_nothing_that_the_page_cache_has(full: Any, tools: Any) -> None:
    check(full.kill(), tools)


def test_the_last_segment_cut_at_every_byte_of_its_last_batch(
    full: Any, tools: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = files(full, ".log")[-1]
    whole = full.disk.read_bytes(path)
    log = full.manager.get("t", 0)
    last = log.read(COUNT - 1, 1 << 20, upto=COUNT)
    for size in range(last.position, last.position + last.size):
        caplog.clear()
        set_content(full.disk, path, whole[:size])
        recovered = full.kill()
        assert recovered.log_end_offset == COUNT - 1
        assert [offset for offset, _ in tools.read_all(recovered)] == list(range(COUNT - 1))
        assert recovered.size_bytes == sum(full.disk.size(name) for name in files(full, ".log"))
        if size > last.position:
            assert "the log is cut there" in caplog.text


def test_a_flipped_bit_anywhere_in_the_unsynced_log_ends_the_log_there(
    full: Any, tools: Any
) -> None:
    path = files(full, ".log")[-1]
    whole = full.disk.read_bytes(path)
    rng = Random(3)
    # Base offset and leader epoch of a batch are not covered by its CRC.
    for position in rng.sample(range(len(whole)), 60):
        set_content(full.disk, path, whole)
        full.disk.corrupt(path, position, 1 << rng.randrange(8))
        log = full.kill()
        found = tools.read_all(log)
        values = [value for _, value in found]
        assert values == [b"%060d" % i for i in range(len(found))]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("stop", ["restart", "kill"])
def test_flipped_bits_in_indexes_mislead_nobody(
    store: Any, tools: Any, suffix: str, stop: str
) -> None:
    rng = Random(5)
    for case in range(25):
        if case:
            store.manager.delete("t", 0)
        log = store.create(segment_bytes=1500, index_interval_bytes=100)
        fill(log, tools)
        log.flush()
        if stop == "restart":
            store.manager.close()
        for path in files(store, suffix):
            size = store.disk.size(path)
            if size:
                store.disk.corrupt(path, rng.randrange(size), 1 << rng.randrange(8))
        log = store._get_after_open() if stop == "restart" else store.kill()
        check(log, tools)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"", b"\0" * 40, b"\xff" * 13, b"\0\0\0\5"])
@pytest.mark.parametrize("stop", ["restart", "kill"])
def test_missing_empty_and_half_written_indexes_are_rebuilt(
    full: Any, tools: Any, suffix: str, content: bytes | None, stop: str
) -> None:
    if stop == "restart":
        full.manager.close()
    for path in files(full, suffix):
        if content is None:
            full.disk.remove(path)
        else:
            set_content(full.disk, path, content)
    log = full._get_after_open() if stop == "restart" else full.kill()
    check(log, tools)


@pytest.mark.parametrize("stop", ["restart", "kill"])
def test_broken_snapshots_are_replaced_by_replay(full: Any, tools: Any, stop: str) -> None:
    if stop == "restart":
        full.manager.close()
    for path in files(full, ".snapshot"):
        full.disk.corrupt(path, full.disk.size(path) - 1)
    log = full._get_after_open() if stop == "restart" else full.kill()
    assert [entry.last_sequence for entry in log.active_producers()] == [COUNT - 1]
    check(log, tools)


@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "t-0/leader-epoch-checkpoint",
        "t-0/partition.metadata",
    ],
)
@pytest.mark.parametrize("content", [None, b"", b"0\n5\nt 0 1\n", b"\xff\0garbage", b"0\n1\nt 0"])
@pytest.mark.parametrize("stop", ["restart", "kill"])
def test_broken_text_files_cost_nothing_but_time(
    full: Any, tools: Any, name: str, content: bytes | None, stop: str
) -> None:
    full.manager.housekeeping.write_recovery_points()
    epochs = full.manager.get("t", 0).epoch_end_offset(1)
    if stop == "restart":
        full.manager.close()
    path = f"/data/{name}"
    if content is None:
        if full.disk.exists(path):
            full.disk.remove(path)
    else:
        full.disk.write_atomically(path, content)
    log = full._get_after_open() if stop == "restart" else full.kill()
    if name != "t-0/leader-epoch-checkpoint" or content not in (None, b""):
        assert log.epoch_end_offset(1) == epochs
    check(log, tools)


def test_a_bad_batch_in_the_middle_ends_the_log_and_drops_later_segments(
    full: Any, tools: Any, caplog: pytest.LogCaptureFixture
) -> None:
    first = files(full, ".log")[0]
    full.disk.write_atomically("/data/recovery-point-offset-checkpoint", b"0\n0\n")
    full.disk.corrupt(first, 200)
    log = full.kill()
    assert log.log_end_offset == 1
    assert len(files(full, ".log")) == 1
    assert "later segments" in caplog.text
    check(log, tools, at_least=1)


def test_below_the_recovery_point_nothing_is_read(
    full: Any, tools: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A start after a crash costs what was written since the last sync, not the whole log."""
    full.manager.housekeeping.write_recovery_points()
    first = files(full, ".log")[0]
    full.disk.corrupt(first, 200)
    log = full.kill()
    assert log.log_end_offset == COUNT


def test_garbage_after_a_clean_stop_is_noticed(
    full: Any, tools: Any, caplog: pytest.LogCaptureFixture
) -> None:
    full.manager.close()
    file = full.disk.open(files(full, ".log")[-1])
    file.append(b"garbage")
    log = full._get_after_open()
    assert "in spite of a clean stop" in caplog.text
    check(log, tools)


def test_leftovers_of_an_earlier_run_are_removed(full: Any, tools: Any) -> None:
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000000000.log.cleaned",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000777.index",
    ):
        full.disk.open(f"{LOG_DIR}/{name}", create=True).append(b"x")
    log = full.kill()
    left = full.disk.listdir(LOG_DIR)
    assert not [name for name in left if name.endswith((".deleted", ".cleaned", ".tmp"))]
    assert "00000000000000000777.index" not in left
    check(log, tools)


def test_recovery_says_what_it_did(full: Any, tools: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    full.kill()
    assert "1 checked after an unclean stop" in caplog.text


def test_records_that_lie_do_not_stop_a_look_up_by_time(store: Any, tools: Any) -> None:
    """The batch's CRC is right, its records are not: the answer is where a reader meets it."""
    from odradek.records.batch import crc_of

    log = store.create()
    tools.append(log, b"a", timestamp=tools.NOW_MS)
    data = tools.batch(b"b", timestamp=tools.NOW_MS + 10)
    data[61] = 0xFF
    data[17:21] = crc_of(data).to_bytes(4, "big")
    log.append(data, leader_epoch=0, now_ms=tools.NOW_MS)
    found = log.prepare_find_by_timestamp(tools.NOW_MS + 5)()
    assert found is not None
    assert (found.offset, found.timestamp) == (1, tools.NOW_MS + 10)


def test_bit_rot_below_the_recovery_point_is_reported_to_the_reader(full: Any, tools: Any) -> None:
    from odradek.errors import ApiError, Err

    log = full.restart()
    path = files(full, ".log")[1]
    size = full.disk.size(path)
    for position in range(size):
        full.disk.corrupt(path, position, 0xFF)
    base = log.segments[1].base_offset
    with pytest.raises(ApiError) as caught:
        log.read(base + 1, 1000, upto=COUNT)
    assert caught.value.err is Err.CORRUPT_MESSAGE
