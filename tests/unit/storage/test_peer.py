"""Apache Kafka reads what we write, byte for byte, and we read what it writes.

Needs Apache Kafka and Java (`../shared/peers`); skipped where they are absent.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from odradek.records.control import build_end_marker
from odradek.runtime.disk import RealDisk
from odradek.storage.checkpoints import decode_meta, decode_partition_metadata
from odradek.storage.log_manager import KnownTopic
from odradek.storage.partition_log import Origin

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"  # the release moved it
PEER = Path(__file__).resolve().parents[4] / "shared" / "peers" / "kafka-peer"

pytestmark = [
    pytest.mark.peer,
    pytest.mark.slow,
    pytest.mark.skipif(not PEER.exists(), reason="needs Apache Kafka in ../shared/peers"),
    pytest.mark.skipif(shutil.which("java") is None, reason="needs java"),
]


def peer(*arguments: str) -> str:
    done = subprocess.run(
        [PEER, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def dump(*files: Path, options: tuple[str, ...] = ()) -> str:
    return peer("tool", DUMP_LOG, "--files", ",".join(map(str, files)), *options)


def test_dump_log_reads_our_segments_indexes_and_snapshots(real_store: Any, tools: Any) -> None:
    log = real_store.create(segment_bytes=20_000, index_interval_bytes=500)
    for i in range(200):
        tools.append(
            log,
            b"%0200d" % i,
            b"second",
            timestamp=tools.NOW_MS + i,
            producer_id=5,
            producer_epoch=1,
            base_sequence=2 * i,
            transactional=True,
        )
    marker = build_end_marker(
        producer_id=5, producer_epoch=1, commit=False, coordinator_epoch=3, timestamp=tools.NOW_MS
    )
    log.append(memoryview(marker), leader_epoch=0, now_ms=tools.NOW_MS, origin=Origin.COORDINATOR)
    real_store.manager.close()
    folder = log.path
    for suffix in (".log", ".index", ".timeindex"):
        files = sorted(folder.glob(f"*{suffix}"))
        assert len(files) > 2
        text = dump(*files)
        for complaint in ("Found", "mismatch", "invalid", "not", "Error"):
            assert complaint not in text.replace("isvalid", "")
    text = dump(*sorted(folder.glob("*.log")), options=("--print-data-log", "--deep-iteration"))
    assert text.count("isvalid: true") >= 201
    assert "baseOffset: 400 lastOffset: 400 count: 1" in text
    assert "endTxnMarker: ABORT coordinatorEpoch: 3" in text
    text = dump(folder / "00000000000000000401.snapshot")
    assert "producerId: 5 producerEpoch: 1 coordinatorEpoch: 3" in text
    assert "lastSequence: 399" in text or "lastSequence=399" in text
    text = dump(*folder.glob("*.txnindex"))
    assert "producerId: 5 firstOffset: 0 lastOffset: 400 lastStableOffset: 401" in text


RECORDS = 20_000


def free_port() -> int:
    """A port that is free, as is the one after it (the peer's controller takes that)."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


@pytest.fixture(scope="module")
def kafkas_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a Kafka left: topic t with small segments, and an aborted transaction at its end."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    folder, port = tmp_path_factory.mktemp("kafka"), free_port()
    peer("up", str(port), str(folder))
    try:
        servers = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
        new = NewTopic("t", 1, 1, config={"segment.bytes": str(1 << 20)})
        admin = AdminClient(servers)
        for future in admin.create_topics([new]).values():
            future.result(30)
        plain = Producer(
            {**servers, "batch.size": 4000, "linger.ms": 5, "enable.idempotence": True}
        )
        for i in range(RECORDS):
            plain.produce("t", b"%060d" % i, partition=0)
            if i % 2000 == 0:
                plain.flush()
        plain.flush()
        producer = Producer({**servers, "transactional.id": "x"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("t", b"aborted", partition=0)
        producer.flush()
        producer.abort_transaction(30)
    finally:
        peer("down", str(folder))
    return folder


@pytest.fixture
def folder(kafkas_folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(kafkas_folder, tmp_path / "kafka")


def open_as_its_owner(store: Any, logs: Path) -> Any:
    meta = decode_meta((logs / "meta.properties").read_bytes())
    topic_id = decode_partition_metadata((logs / "t-0" / "partition.metadata").read_bytes())
    store.topics["t"] = KnownTopic(topic_id, store.config(segment_bytes=1 << 20), {0})
    return store.open(cluster_id=meta.cluster_id, node_id=meta.node_id)


def test_we_read_what_kafka_wrote(folder: Path, make_store: Any, tools: Any) -> None:
    """Segments, indexes, aborted transactions, producers, epochs, checkpoints, ids."""
    topic = folder / "logs" / "t-0"
    before = {path.name: path.read_bytes() for path in topic.iterdir()}
    manager = open_as_its_owner(make_store(RealDisk(), [folder / "logs"]), folder / "logs")
    assert manager.dirs[0].was_clean
    log = manager.get("t", 0)
    values = [value for _, value in tools.read_all(log)][:RECORDS]
    assert values == [b"%060d" % i for i in range(RECORDS)]
    assert log.log_end_offset == log.high_watermark == RECORDS + 2
    aborted = log.aborted_transactions(0, log.log_end_offset)
    assert [first_offset for _, first_offset in aborted] == [RECORDS]
    assert len(log.active_producers()) == 2
    assert log.epoch_end_offset(0).offset == RECORDS + 2
    manager.close()
    after = {path.name: path.read_bytes() for path in topic.iterdir()}
    assert after == before, "opening and closing a log changes nothing"


def test_recovered_indexes_are_kafkas_own_bytes(folder: Path, make_store: Any, tools: Any) -> None:
    """Rebuilt from the same log, the indexes are the same; and Kafka starts on what we leave."""
    logs, topic = folder / "logs", folder / "logs" / "t-0"
    kinds = (".index", ".timeindex", ".txnindex", ".log")
    before = {p.name: p.read_bytes() for p in topic.iterdir() if p.suffix in kinds}
    (logs / ".kafka_cleanshutdown").unlink()
    (logs / "recovery-point-offset-checkpoint").write_bytes(b"")
    manager = open_as_its_owner(make_store(RealDisk(), [logs]), logs)
    log = manager.get("t", 0)
    assert log.log_end_offset == RECORDS + 2
    for name, content in before.items():
        assert (topic / name).read_bytes() == content, name
    tools.append(log, b"ours")
    manager.close()
    port = free_port()
    peer("up", str(port), str(folder))
    try:
        server = f"127.0.0.1:{port}"
        got = peer("tool", "get-offsets", "--bootstrap-server", server, "--topic", "t")
        assert got.strip().endswith(f"t:0:{RECORDS + 3}")
    finally:
        peer("down", str(folder))
