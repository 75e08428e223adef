"""The dirs of a broker: ownership, start, deletion, failure, checkpoints, retention."""

from __future__ import annotations

import errno
import logging
import uuid
from pathlib import Path
from random import Random
from typing import Any

import pytest

from odradek.errors import ApiError, Err
from odradek.storage.checkpoints import decode_meta, decode_offsets
from odradek.storage.log_dir import LogDirRefused
from odradek.storage.log_manager import KnownTopic
from odradek.testing.sim_disk import SimDisk
from odradek.types import TopicPartition


def test_a_new_dir_is_marked_and_opened_again(store: Any) -> None:
    meta = decode_meta(store.disk.read_bytes("/data/meta.properties"))
    assert (meta.cluster_id, meta.node_id) == ("c1", 1)
    store.manager.close()
    store.open()
    assert store.manager.dirs[0].directory_id == meta.directory_id
    assert store.manager.dirs[0].was_clean


@pytest.mark.parametrize(
    ("who", "words"), [({"cluster_id": "other"}, "cluster"), ({"node_id": 2}, "node")]
)
def test_a_dir_of_somebody_else_is_refused(store: Any, who: dict[str, Any], words: str) -> None:
    store.manager.close()
    with pytest.raises(LogDirRefused, match=f"belongs to {words}"):
        store.open(**who)
    store.open()


def test_a_dir_is_used_by_one_broker_at_a_time(real_store: Any) -> None:
    first = real_store.manager
    with pytest.raises(LogDirRefused, match="in use by another broker"):
        real_store.open()
    real_store.manager = first
    first.close()
    real_store.open()


def test_the_marker_of_a_clean_stop_lasts_until_the_next_start(store: Any) -> None:
    store.manager.close(broker_epoch=12)
    content = store.disk.read_bytes("/data/.kafka_cleanshutdown")
    assert content == b'{"version":0,"brokerEpoch":12}'
    store.open()
    assert not store.disk.exists("/data/.kafka_cleanshutdown")


def test_unknown_folders_are_reported_and_left_alone(
    store: Any, tools: Any, caplog: pytest.LogCaptureFixture
) -> None:
    tools.append(store.create("keep", 0), b"a")
    tools.append(store.create("keep", 1), b"b")
    tools.append(store.create("gone", 0), b"c")
    store.manager.close()
    del store.topics["gone"]
    store.topics["keep"] = store.topics["keep"]._replace(partitions={0})
    store.disk.mkdir("/data/lost+found")
    store.open()
    assert sorted(path.name for path in store.manager.unknown_dirs) == [
        "gone-0",
        "keep-1",
        "lost+found",
    ]
    assert "not served and not touched" in caplog.text
    assert store.manager.get("gone", 0) is None
    assert store.disk.exists("/data/gone-0/00000000000000000000.log")


def test_a_topic_made_again_under_its_name_does_not_get_old_records(store: Any, tools: Any) -> None:
    tools.append(store.create(), b"old")
    store.manager.close()
    config = store.config()
    store.topics["t"] = KnownTopic(uuid.uuid4(), config, {0})
    store.open()
    assert store.manager.get("t", 0) is None
    log = store.manager.create("t", 0, store.topics["t"].topic_id, config)
    assert log.log_end_offset == 0
    assert [name for name in store.disk.subdirs("/data") if name.endswith("-stray")]


def test_a_deleted_log_is_renamed_at_once_and_removed_later(store: Any, tools: Any) -> None:
    tools.append(store.create(file_delete_delay_ms=1000), b"a")
    store.manager.delete("t", 0)
    assert store.manager.get("t", 0) is None
    (name,) = store.disk.subdirs("/data")
    assert name.startswith("t-0.")
    assert name.endswith("-delete")
    store.create()
    store.timers.advance(1000)
    assert store.disk.subdirs("/data") == ["t-0"]


def test_folders_deleted_before_a_crash_are_removed_by_the_next_start(
    store: Any, tools: Any
) -> None:
    tools.append(store.create(), b"a")
    store.manager.delete("t", 0)
    store.topics.clear()
    store.manager.close()
    store.open()
    assert store.disk.subdirs("/data") == []


def test_new_logs_go_to_the_dir_with_the_fewest(make_store: Any) -> None:
    store = make_store(SimDisk(Random(1)), [Path("/a"), Path("/b")])
    store.open()
    for partition in range(6):
        store.create("t", partition)
    assert sorted(log.dir.path for log in store.manager) == ["/a"] * 3 + ["/b"] * 3
    with pytest.raises(ApiError) as caught:
        store.manager.create("x", 0, uuid.uuid4(), store.config(), Path("/elsewhere"))
    assert caught.value.err is Err.LOG_DIR_NOT_FOUND


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_failed_write_takes_its_dir_offline_and_no_other(
    make_store: Any, tools: Any, number: int
) -> None:
    store = make_store(SimDisk(Random(1)), [Path("/a"), Path("/b")])
    store.open()
    logs = {log.dir.path: log for log in (store.create("t", 0), store.create("t", 1))}
    for log in logs.values():
        tools.append(log, b"kept")
    if number == errno.EIO:
        store.disk.fail("append", errno.EIO, "/a/")
    else:
        store.disk.free_bytes = 30
    with pytest.raises(ApiError) as caught:
        tools.append(logs["/a"], b"lost")
    assert caught.value.err is Err.KAFKA_STORAGE_ERROR
    store.disk.heal()
    (offline,) = store.offline
    assert offline[0] == Path("/a")
    assert offline[1] == [logs["/a"].topic_partition]
    for call in (
        lambda: tools.append(logs["/a"], b"later"),
        lambda: logs["/a"].read(0, 100, upto=1),
        logs["/a"].prepare_max_timestamp,
    ):
        with pytest.raises(ApiError):
            call()
    tools.append(logs["/b"], b"more")
    errors = {described.path: described.error for described in store.manager.describe()}
    assert errors == {"/a": Err.KAFKA_STORAGE_ERROR, "/b": Err.NONE}
    store.manager.close()
    assert not store.disk.exists("/a/.kafka_cleanshutdown")
    assert store.disk.exists("/b/.kafka_cleanshutdown")
    store.open()
    for path, count in (("/a", 1), ("/b", 2)):
        log = store.manager.get("t", logs[path].topic_partition.partition)
        assert len(tools.read_all(log)) == count


def test_a_failed_sync_takes_the_dir_offline(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"a")
    store.disk.fail("fsync", path_part=".log")
    log.flush()
    assert store.offline
    assert log.recovery_point == 0


def test_a_known_log_is_not_made_anew_while_a_dir_is_offline(make_store: Any, tools: Any) -> None:
    store = make_store(SimDisk(Random(1)), [Path("/a"), Path("/b")])
    store.open()
    store.manager.dirs[0].fail(OSError(errno.EIO, "broken"))
    with pytest.raises(ApiError):
        store.manager.create("t", 0, tools.TOPIC_ID, store.config(), is_new=False)
    assert store.manager.create("t", 0, tools.TOPIC_ID, store.config()).dir.path == "/b"


def test_a_start_without_a_working_dir_is_refused(make_store: Any) -> None:
    disk = SimDisk(Random(1))
    disk.fail("mkdir")
    store = make_store(disk, [Path("/a")])
    with pytest.raises(LogDirRefused, match="no log dir can be used"):
        store.open()


def test_checkpoints_are_written_from_time_to_time(store: Any, tools: Any) -> None:
    log = store.create(segment_bytes=200)
    for i in range(5):
        tools.append(log, b"%0100d" % i)
    log.high_watermark = 4
    log.advance_log_start(log.segments[1].base_offset)
    store.timers.advance(120_000)
    tp = TopicPartition("t", 0)

    def read(name: str) -> dict[TopicPartition, int]:
        return decode_offsets(store.disk.read_bytes(f"/data/{name}"))

    assert read("recovery-point-offset-checkpoint") == {tp: log.segments[-1].base_offset}
    assert read("replication-offset-checkpoint") == {tp: 4}
    assert log.high_watermark == 4
    assert store.kill().high_watermark == 4


def test_a_crash_after_a_checkpoint_checks_only_what_came_later(
    store: Any, tools: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    log = store.create()
    tools.append(log, b"a")
    log.flush()
    store.manager.housekeeping.write_recovery_points()
    tools.append(log, b"b")
    store.disk.crash()
    log = store._get_after_open()
    assert tools.read_all(log)[0] == (0, b"a")


def test_retention_by_time_rolls_and_empties_an_old_log(store: Any, tools: Any) -> None:
    log = store.create(retention_ms=1000, segment_bytes=300)
    for i in range(10):
        tools.append(log, b"%0100d" % i)
    log.high_watermark = 10
    store.clock.ms += 1001
    store.manager.housekeeping.apply_retention()
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (10, 10, 0)
    assert tools.append(log, b"x").first_offset == 10
    left = store.disk.listdir("/data/t-0")
    assert any(name.endswith(".log.deleted") for name in left)
    store.timers.advance(60_000)
    left = store.disk.listdir("/data/t-0")
    assert not any(name.endswith(".deleted") for name in left)
    log = store.restart()
    assert tools.read_all(log) == [(10, b"x")]


def test_retention_by_size_and_never_above_the_high_watermark(store: Any, tools: Any) -> None:
    log = store.create(retention_bytes=500, retention_ms=-1, segment_bytes=300)
    for i in range(20):
        tools.append(log, b"%0100d" % i)
    log.high_watermark = 3
    store.manager.housekeeping.apply_retention()
    assert log.log_start_offset <= 3
    log.high_watermark = 20
    store.manager.housekeeping.apply_retention()
    assert 500 <= log.size_bytes < 800
    assert [offset for offset, _ in tools.read_all(log)] == list(range(log.log_start_offset, 20))


def test_a_compacted_topic_loses_no_segment_to_age(store: Any, tools: Any) -> None:
    log = store.create(cleanup_policy="compact", retention_ms=1, segment_bytes=300)
    for i in range(10):
        tools.append(log, b"%0100d" % i)
    log.high_watermark = 10
    store.clock.ms += 10_000
    store.manager.housekeeping.apply_retention()
    assert log.log_start_offset == 0


def test_flush_ms_syncs_logs_that_waited(make_store: Any, tools: Any) -> None:
    store = make_store(
        SimDisk(Random(1)), [Path("/a")], **{"log.flush.scheduler.interval.ms": "100"}
    )
    store.open()
    log = store.create(flush_ms=1000)
    tools.append(log, b"a")
    store.timers.advance(900)
    assert log.recovery_point == 0
    store.timers.advance(200)
    assert log.recovery_point == 1


def test_describe_names_sizes(store: Any, tools: Any) -> None:
    log = store.create()
    tools.append(log, b"a")
    (described,) = store.manager.describe()
    assert described.error is Err.NONE
    assert described.usable_bytes > 0
    (entry,) = described.logs
    assert (entry.topic_partition, entry.size_bytes) == (TopicPartition("t", 0), log.size_bytes)


def test_too_many_open_files_are_not_a_broken_disk(store: Any, tools: Any) -> None:
    log = store.create()
    store.disk.fail("open", errno.EMFILE)
    with pytest.raises(ApiError, match="raise the limit of open files"):
        tools.append(log, b"a")
    store.disk.heal()
    assert not store.offline
    assert tools.append(log, b"a").first_offset == 0
    store.disk.fail("open", errno.EMFILE)
    with pytest.raises(ApiError):
        store.create("other")
    store.disk.heal()
    assert store.create("other").log_end_offset == 0
    assert not store.offline


def test_idle_logs_hold_no_files_open(real_store: Any, tools: Any) -> None:
    log = real_store.create()
    tools.append(log, b"a")
    log.high_watermark = 1
    real_store.manager.housekeeping.apply_retention()
    assert log._active._log is not None
    real_store.manager.housekeeping.apply_retention()
    assert log._active._log is None
    assert tools.append(log, b"b").first_offset == 1
    assert tools.read_all(log) == [(0, b"a"), (1, b"b")]


def test_retention_of_many_logs_lets_the_loop_breathe(store: Any, tools: Any) -> None:
    logs = [store.create("t", i, retention_ms=1) for i in range(250)]
    for log in logs:
        tools.append(log, b"a")
        log.high_watermark = 1
    store.clock.ms += 1000
    store.manager.housekeeping.apply_retention()
    assert 0 < sum(log.log_start_offset for log in logs) < 250
    store.timers.advance(100)
    assert all(log.log_start_offset == 1 for log in logs)


def test_checkpoints_that_did_not_change_are_not_written_again(store: Any, tools: Any) -> None:
    tools.append(store.create(), b"a")
    store.manager.housekeeping.write_high_watermarks()
    store.disk.fail("write_atomically")
    store.manager.housekeeping.write_high_watermarks()
    assert not store.offline
