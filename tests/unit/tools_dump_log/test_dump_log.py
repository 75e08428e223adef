"""`odradek dump-log` shows what is in a log's files, in Kafka's words, and says what is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from odradek.records.batch import read_header, stamp
from odradek.records.builder import build_batch
from odradek.records.compression import Codec
from odradek.records.control import build_end_marker
from odradek.records.record import Record
from odradek.storage import txn_index
from odradek.storage.indexes import OFFSET_ENTRY, TIME_ENTRY
from odradek.storage.producer_state import ProducerState
from odradek.storage.txn_index import AbortedTransaction
from odradek.tools.dump_log import dump_log, dump_log_command

NOW = 1_700_000_000_000
NAME = "00000000000000000000"
PEER = Path(__file__).parents[4] / "shared" / "peers" / "kafka-peer"


def write_log(folder: Path) -> Path:
    """Five batches: three plain records, a compressed transaction, its marker, binary, a horizon."""
    parts = [
        build_batch(
            [Record(i, NOW + i, None, text) for i, text in enumerate((b"test", b"test1", b"test2"))]
        ),
        build_batch(
            [Record(0, NOW, b"k", b"v", (("h1", b"x"), ("h2", None))), Record(1, NOW, b"t", None)],
            codec=Codec.ZSTD,
            producer_id=7,
            producer_epoch=1,
            base_sequence=4,
            transactional=True,
        ),
        build_end_marker(
            producer_id=7, producer_epoch=1, commit=False, coordinator_epoch=3, timestamp=NOW
        ),
        build_batch([Record(0, NOW, b"\xff\xfe", b"bin")], append_time_ms=NOW + 9),
        build_batch([Record(0, NOW, b"gone", None)], delete_horizon_ms=NOW + 5),
    ]
    offset, content = 0, bytearray()
    for part in parts:
        stamp(part, 0, offset, 2)
        offset += read_header(part).last_offset_delta + 1
        content += part
    path = folder / f"{NAME}.log"
    path.write_bytes(content)
    return path


def dump(*paths: Path, **options: bool) -> list[str]:
    lines: list[str] = []
    dump_log(paths, echo=lines.append, **options)  # type: ignore[arg-type]
    return lines


def test_offsets_times_and_payloads_are_shown(tmp_path: Path) -> None:
    """S-7.7: the first segment shows offsets, CreateTime and the payloads test, test1, test2."""
    path = write_log(tmp_path)
    lines = dump(path, print_data_log=True)
    assert lines[:2] == [f"Dumping {path}", "Log starting offset: 0"]
    assert lines[2].startswith(
        "baseOffset: 0 lastOffset: 2 count: 3 baseSequence: -1 lastSequence: -1 producerId: -1 "
        "producerEpoch: -1 partitionLeaderEpoch: 2 isTransactional: false isControl: false "
        f"deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: {NOW + 2} size: "
    )
    assert lines[2].endswith("isvalid: true")
    assert lines[3:6] == [
        f"| offset: {i} CreateTime: {NOW + i} keySize: -1 valueSize: {len(text)} sequence: -1 "
        f"headerKeys: [] payload: {text}"
        for i, text in enumerate(("test", "test1", "test2"))
    ]


def test_compressed_records_and_markers_are_shown(tmp_path: Path) -> None:
    """S-7.7b: deep iteration reads compressed batches; a marker says how the transaction ended."""
    lines = dump(write_log(tmp_path), deep_iteration=True)
    assert any("compresscodec: zstd" in line and "producerId: 7" in line for line in lines)
    assert (
        f"| offset: 3 CreateTime: {NOW} keySize: 1 valueSize: 1 sequence: 4 headerKeys: [h1,h2]"
        in lines
    )
    assert any(line.endswith("endTxnMarker: ABORT coordinatorEpoch: 3") for line in lines)
    assert any(f"LogAppendTime: {NOW + 9}" in line for line in lines)
    assert any(f"deleteHorizonMs: OptionalLong[{NOW + 5}]" in line for line in lines)


def test_json_has_one_object_a_line(tmp_path: Path) -> None:
    """The same fields for programs; what is not text comes as base64."""
    lines = [json.loads(line) for line in dump(write_log(tmp_path), print_data_log=True, json=True)]
    kinds = [line["type"] for line in lines]
    assert kinds.count("batch") == 5
    assert kinds.count("record") == 8
    records = [line for line in lines if line["type"] == "record"]
    assert records[0]["payload"] == "test"
    assert records[6]["keyBase64"] == "//4="
    assert records[7]["payload"] is None
    batches = [line for line in lines if line["type"] == "batch"]
    assert batches[0]["deleteHorizonMs"] is None
    assert batches[4]["deleteHorizonMs"] == NOW + 5


def test_a_torn_log_says_where_it_ends(tmp_path: Path) -> None:
    """However the file is cut, the whole batches are shown and the rest is counted."""
    path = write_log(tmp_path)
    content = path.read_bytes()
    first_bytes = read_header(content).size_bytes
    for end in range(len(content)):
        path.write_bytes(content[:end])
        lines = dump(path, deep_iteration=True)
        if 0 < end < first_bytes:
            assert f"Found {end} invalid bytes at the end of {path.name}" in lines[-1]
        assert not any("Traceback" in line for line in lines)


def test_a_wrong_crc_is_shown_and_the_walk_goes_on(tmp_path: Path) -> None:
    """One garbled batch does not hide those behind it."""
    path = write_log(tmp_path)
    content = bytearray(path.read_bytes())
    content[65] ^= 0xFF
    path.write_bytes(content)
    lines = dump(path)
    assert lines[2].endswith("isvalid: false")
    assert sum("isvalid: true" in line for line in lines) == 4


def test_indexes_are_shown_and_compared(tmp_path: Path) -> None:
    """Entries that agree with the log are just shown; one that does not is named."""
    log = write_log(tmp_path)
    first = read_header(log.read_bytes())
    index, times = log.with_suffix(".index"), log.with_suffix(".timeindex")
    index.write_bytes(OFFSET_ENTRY.pack(2, 0) + OFFSET_ENTRY.pack(4, first.size_bytes))
    times.write_bytes(TIME_ENTRY.pack(NOW + 2, 2))
    assert dump(index, times) == [
        f"Dumping {index}",
        "offset: 2 position: 0",
        f"offset: 4 position: {first.size_bytes}",
        f"Dumping {times}",
        f"timestamp: {NOW + 2} offset: 2",
    ]
    index.write_bytes(OFFSET_ENTRY.pack(3, 0))
    assert dump(index, verify_index=True)[1:] == [
        f"Mismatches in :{index}\n  Index offset: 3, log offset: 2"
    ]
    times.write_bytes(TIME_ENTRY.pack(NOW, 2) + b"half")
    assert "half an entry" in "\n".join(dump(times))


def test_zeros_at_the_end_of_an_index_are_no_entries(tmp_path: Path) -> None:
    """Kafka allocates its index files beforehand."""
    index = write_log(tmp_path).with_suffix(".index")
    index.write_bytes(OFFSET_ENTRY.pack(2, 0) + bytes(800))
    assert dump(index)[1:] == ["offset: 2 position: 0"]


def test_the_sanity_check_of_indexes(tmp_path: Path) -> None:
    """S-7.7b: whole and rising passes, empty is said, cut off fails."""
    index = write_log(tmp_path).with_suffix(".index")
    for content, words in (
        (OFFSET_ENTRY.pack(2, 0), "passed sanity check."),
        (b"", "is empty."),
        (b"abc", "failed the sanity check"),
        (OFFSET_ENTRY.pack(2, 9) + OFFSET_ENTRY.pack(3, 1), "failed the sanity check"),
    ):
        index.write_bytes(content)
        assert words in dump(index, index_sanity_check=True)[1]


def test_aborted_transactions_snapshots_and_checkpoints_are_shown(tmp_path: Path) -> None:
    """Every kind of file of a partition has its rows."""
    log = write_log(tmp_path)
    aborted = log.with_suffix(".txnindex")
    aborted.write_bytes(txn_index.encode(AbortedTransaction(7, 3, 5, 6)))
    assert dump(aborted)[1] == (
        "version: 0 producerId: 7 firstOffset: 3 lastOffset: 5 lastStableOffset: 6"
    )
    state = ProducerState()
    batch = build_batch(
        [Record(0, NOW, b"k", b"v")], producer_id=7, producer_epoch=1, base_sequence=4
    )
    state.apply(read_header(batch), 3)
    snapshot = tmp_path / "00000000000000000004.snapshot"
    snapshot.write_bytes(state.encode())
    assert dump(snapshot)[1] == (
        "producerId: 7 producerEpoch: 1 coordinatorEpoch: -1 currentTxnFirstOffset: "
        f"OptionalLong.empty lastTimestamp: {NOW} firstSequence: 4 lastSequence: 4 lastOffset: 3 "
        f"offsetDelta: 0 timestamp: {NOW}"
    )
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    assert str(snapshot) in dump(snapshot)[1]
    epochs = tmp_path / "leader-epoch-checkpoint"
    epochs.write_text("0\n1\n2 0\n")
    assert dump(epochs)[1] == "epoch: 2 startOffset: 0"
    epochs.write_text("0\n2\n2 0\n")
    assert "cannot be read" in dump(epochs)[1]
    unknown = tmp_path / "partition.metadata"
    assert dump(unknown)[1] == f"Ignoring unknown file {unknown}"


def test_the_command(tmp_path: Path) -> None:
    """Files as arguments or, as Kafka's tool has it, after --files; problems end with code 1."""
    app = typer.Typer()
    app.command()(dump_log_command)
    path, runner = write_log(tmp_path), CliRunner()
    assert "payload: test2" in runner.invoke(app, [str(path), "--print-data-log"]).output
    assert runner.invoke(app, ["--files", f"{path},{path}"]).output.count("Dumping") == 2
    assert runner.invoke(app, []).exit_code == 2
    assert runner.invoke(app, [str(tmp_path / f"{NAME}1.log")]).exit_code == 0
    assert runner.invoke(app, [str(tmp_path / "00000000000000000009.log")]).exit_code == 1


@pytest.mark.peer
@pytest.mark.slow
def test_the_text_is_kafkas(tmp_path: Path) -> None:
    """Apache Kafka's own tool prints the same lines for the same files."""
    if not PEER.exists() or shutil.which("java") is None:
        pytest.skip("no Apache Kafka in ../shared/peers, or no java")
    log = write_log(tmp_path)
    first = read_header(log.read_bytes())
    log.with_suffix(".index").write_bytes(OFFSET_ENTRY.pack(4, first.size_bytes))
    names = ",".join(str(log.with_suffix(suffix)) for suffix in (".log", ".index"))
    theirs = subprocess.run(
        [
            PEER,
            "tool",
            "org.apache.kafka.tools.DumpLogSegments",
            "--print-data-log",
            "--files",
            names,
        ],
        capture_output=True,
        check=True,
        timeout=120,
    ).stdout.decode()
    ours = dump(log, log.with_suffix(".index"), print_data_log=True)
    assert ours == theirs.splitlines()
