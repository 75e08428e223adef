"""The commands against a real broker: what people type, what they see, and what it did."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import odradek
from odradek.cli.commands import run
from odradek.testing import EmbeddedBroker

SOURCE = Path(odradek.__file__).parents[1]


class Result(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Shell:
    """Runs commands in this process against one broker."""

    def __init__(
        self,
        server: str,
        capture: pytest.CaptureFixture[bytes],
        patch: pytest.MonkeyPatch,
    ) -> None:
        patch.setenv("ODRADEK_BOOTSTRAP_SERVER", server)
        self.server = server
        self._capture = capture
        self._patch = patch

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        self._capture.readouterr()
        code = run(arguments)
        captured = self._capture.readouterr()
        return Result(code, captured.out.decode(errors="replace"), captured.err.decode())

    def ok(self, *arguments: str, stdin: str = "") -> Result:
        result = self(*arguments, stdin=stdin)
        assert result.code == 0, result
        return result


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


@pytest.fixture
def shell(
    broker: EmbeddedBroker,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    return Shell(broker.bootstrap_servers, capfdbinary, monkeypatch)


def test_a_topic_is_created_listed_and_described(shell: Shell) -> None:
    """S-2.1, S-2.2, S-7.3, D0-05, D0-08: words and labels are those of kafka-topics."""
    created = shell.ok("topics", "create", "--topic", "helloworld", "--partitions", "3")
    assert created.out == "Created topic helloworld.\n"
    assert "helloworld" in shell.ok("topics", "list").lines
    summary, *partitions = shell.ok("topics", "describe", "--topic", "helloworld").lines
    labels = [part.split(": ")[0] for part in summary.split("\t")]
    assert labels == ["Topic", "TopicId", "PartitionCount", "ReplicationFactor", "Configs"]
    assert "\tPartitionCount: 3\tReplicationFactor: 1\t" in summary
    assert [line.split("\t")[1:3] for line in partitions] == [
        ["Topic: helloworld", f"Partition: {index}"] for index in range(3)
    ]
    assert all(
        [part.split(": ")[0] for part in line.split("\t")[3:]] == ["Leader", "Replicas", "Isr"]
        for line in partitions
    )


def test_settings_are_given_at_creation_and_a_second_creation_is_told_or_ignored(
    shell: Shell,
) -> None:
    """D0-05: --config, --if-not-exists."""
    options = ("--config", "segment.ms=60000", "--config", "cleanup.policy=compact")
    shell.ok("topics", "create", "configured", *options)
    (described,) = json.loads(shell.ok("topics", "describe", "configured", "--json").out)
    assert described["configs"]["segment.ms"] == "60000"
    assert described["configs"]["cleanup.policy"] == "compact"
    again = shell("topics", "create", "configured")
    assert again.code == 1
    assert "already exists" in again.err
    assert shell.ok("topics", "create", "configured", "--if-not-exists").out == ""


def test_a_name_that_metrics_cannot_tell_apart_is_warned_about(shell: Shell) -> None:
    """S-7.4."""
    created = shell.ok("topics", "create", "my_test_topic", "--partitions", "2")
    assert created.err.startswith("WARNING: metric names")
    assert created.out == "Created topic my_test_topic.\n"
    assert shell.ok("topics", "create", "plain-name").err == ""


def test_what_a_broker_refuses_is_said_in_its_words(shell: Shell) -> None:
    many = shell("topics", "create", "wide", "--replication-factor", "3")
    assert many.code == 1
    assert many.err.startswith("error: ")
    assert len(many.err.splitlines()) == 1
    assert "wide" not in shell.ok("topics", "list").lines
    assert shell("topics", "create", "a b").code == 1
    assert shell("topics", "describe", "absent").err == (
        "error: Topic 'absent' does not exist as expected\n"
    )
    assert shell.ok("topics", "delete", "absent", "--if-exists").out == ""


def test_partitions_are_added_with_a_warning_about_keys_and_never_taken_away(
    shell: Shell,
) -> None:
    """S-7.5: key warning, success text, and old records stay."""
    shell.ok("topics", "create", "growing", "--partitions", "2")
    shell.ok("produce", "growing", "--partition", "1", stdin="before\n")
    grown = shell.ok("topics", "alter", "--topic", "growing", "--partitions", "3")
    assert grown.out == "Adding partitions succeeded!\n"
    assert grown.err.startswith("WARNING: records with a key")
    assert "PartitionCount: 3" in shell.ok("topics", "describe", "growing").out
    consumed = shell.ok("consume", "growing", "--from-beginning", "--exit-on-end")
    assert consumed.lines == ["before"]
    fewer = shell("topics", "alter", "growing", "--partitions", "1")
    assert fewer.code == 1
    assert "PartitionCount: 3" in shell.ok("topics", "describe", "growing").out


def test_a_deleted_topic_is_gone(shell: Shell, broker: EmbeddedBroker) -> None:
    """S-7.6: gone from the list."""
    shell.ok("topics", "create", "short-lived")
    assert shell.ok("topics", "delete", "--topic", "short-lived").out == (
        "Deleted topic short-lived.\n"
    )
    assert "short-lived" not in shell.ok("topics", "list").lines


def test_deletion_that_is_disabled_is_refused(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-7.6: with delete.topic.enable=false the broker's words are shown and the topic stays."""
    with EmbeddedBroker({"delete.topic.enable": "false"}) as broker:
        shell = Shell(broker.bootstrap_servers, capfdbinary, monkeypatch)
        shell.ok("topics", "create", "kept")
        refused = shell("topics", "delete", "kept")
        assert refused.code == 1
        assert "disabled" in refused.err
        assert shell.ok("topics", "list").lines == ["kept"]


def test_settings_are_changed_and_taken_back(shell: Shell) -> None:
    """S-7.9, D3-11: configs alter, and the older way through topics alter."""
    shell.ok("topics", "create", "tuned")
    entity = ("--entity-type", "topics", "--entity-name", "tuned")
    added = shell.ok("configs", "alter", *entity, "--add-config", "segment.ms=60000")
    assert added.out == "Completed updating config for topic tuned.\n"
    heading, line = shell.ok("configs", "describe", *entity).lines
    assert heading == "Dynamic configs for topic tuned are:"
    assert line.startswith("  segment.ms=60000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:")
    shell.ok("configs", "alter", *entity, "--delete-config", "segment.ms")
    assert len(shell.ok("configs", "describe", *entity).lines) == 1
    every = shell.ok("configs", "describe", *entity, "--all").lines
    assert any(line.startswith("  retention.ms=604800000 ") for line in every)

    shell.ok("topics", "alter", "tuned", "--config", "max.message.bytes=2000000")
    assert "max.message.bytes=2000000" in shell.ok("configs", "describe", *entity).out
    shell.ok("topics", "alter", "tuned", "--deleteConfig", "max.message.bytes")
    assert len(shell.ok("configs", "describe", *entity).lines) == 1

    unknown = shell("configs", "alter", *entity, "--add-config", "no.such.key=1")
    assert unknown.code == 1
    assert "no.such.key" in unknown.err


def test_a_brokers_settings_are_described(shell: Shell) -> None:
    result = shell.ok("configs", "describe", "--entity-type", "brokers", "--all", "--json")
    documents = json.loads(result.out)
    names = {config["name"] for config in documents[0]["configs"]}
    assert {"log.segment.bytes", "num.partitions"} <= names


def test_lines_become_records_with_keys_headers_and_tombstones(shell: Shell) -> None:
    """S-2.4: each line becomes a record; what is read is what was written."""
    shell.ok("topics", "create", "lines")
    produced = shell.ok(
        *("produce", "lines", "--key-separator", ":", "--null-value", "--json"),
        *("--header", "origin=test", "--timestamp", "1700000000000", "--compression", "gzip"),
        stdin="k1:v1\nno key\nk1:\n",
    )
    assert json.loads(produced.out) == {
        "topic": "lines",
        "delivered": 3,
        "failed": 0,
        "partitions": {"0": 3},
    }
    consumed = shell.ok("consume", "lines", "--from-beginning", "--exit-on-end", "--json")
    records = [json.loads(line) for line in consumed.lines]
    assert [(r["offset"], r["key"], r["value"]) for r in records] == [
        (0, "k1", "v1"),
        (1, None, "no key"),
        (2, "k1", None),
    ]
    assert records[0]["timestamp"] == 1700000000000
    assert records[0]["headers"] == [{"name": "origin", "value": "test"}]


def test_reading_starts_and_stops_where_it_is_told(shell: Shell) -> None:
    shell.ok("topics", "create", "numbers")
    shell.ok("produce", "numbers", stdin="".join(f"{number}\n" for number in range(10)))

    def read(*options: str) -> list[str]:
        return shell.ok("consume", "numbers", *options).lines

    assert read("--offset", "7", "--exit-on-end") == ["7", "8", "9"]
    assert read("--offset", "-2", "-e") == ["8", "9"]
    assert read("--offset", "beginning", "--max-messages", "2") == ["0", "1"]
    assert read("--timeout-ms", "300") == []
    assert read("-o", "9", "-e", "--format", r"%t-%p@%o %k %s\n") == ["numbers-0@9  9"]
    assert shell("consume", "numbers", "--offset", "99", "-e").code == 1
    absent = shell("consume", "absent", "-e")
    assert absent.err == "error: topic 'absent' does not exist\n"


def test_a_file_is_produced(shell: Shell, tmp_path: Path) -> None:
    shell.ok("topics", "create", "from-file")
    file = tmp_path / "lines.txt"
    file.write_text("one\r\ntwo\nthree")
    shell.ok("produce", "from-file", "--file", str(file))
    consumed = shell.ok("consume", "from-file", "--from-beginning", "-e")
    assert consumed.lines == ["one", "two", "three"]


def test_ctrl_c_sends_what_was_typed(broker: EmbeddedBroker, shell: Shell) -> None:
    """S-2.4: typing lines and then Ctrl-C loses none of them."""
    shell.ok("topics", "create", "typed")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, "-m", "odradek", "produce", "typed", "-b", broker.bootstrap_servers],
        stdin=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\nsecond\n")
        process.stdin.flush()
        consumed = shell.ok("consume", "typed", "--offset", "beginning", "--max-messages", "2")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert consumed.lines == ["first", "second"]


def test_log_dirs_and_api_versions_are_shown(shell: Shell, broker: EmbeddedBroker) -> None:
    shell.ok("topics", "create", "kept-here")
    shell.ok("produce", "kept-here", stdin="x\n")
    document = json.loads(shell.ok("log-dirs", "--topic-list", "kept-here", "--json").out)
    (log_dir,) = document["brokers"][0]["logDirs"]
    (replica,) = log_dir["partitions"]
    assert replica["partition"] == "kept-here-0"
    assert replica["size"] > 0
    assert "kept-here-0" in shell.ok("log-dirs").out
    versions = shell.ok("api-versions").lines
    assert versions[0] == f"{broker.bootstrap_servers} -> ("
    assert any(line.startswith("\tMetadata(3): ") for line in versions)


def test_the_files_of_a_log_are_shown(shell: Shell, broker: EmbeddedBroker) -> None:
    """What was produced is found in the segment by dump-log, in either spelling."""
    shell.ok("topics", "create", "dumped")
    shell.ok("produce", "dumped", stdin="test\ntest1\n")
    (segment,) = broker.data_dir.glob("**/dumped-0/00000000000000000000.log")
    dumped = shell.ok("dump-log", "--print-data-log", str(segment))
    assert "payload: test1" in dumped.out
    classic = shell.ok("kafka-dump-log.sh", "--files", str(segment), "--print-data-log")
    assert classic.out == dumped.out


def test_records_are_deleted_up_to_an_offset(shell: Shell) -> None:
    shell.ok("topics", "create", "pruned")
    shell.ok("produce", "pruned", stdin="a\nb\nc\n")
    deleted = shell.ok("delete-records", "--topic", "pruned", "--before", "2")
    assert deleted.out == "partition: pruned-0\tlow_watermark: 2\n"
    assert shell.ok("consume", "pruned", "--from-beginning", "-e").lines == ["c"]
    beyond = shell("delete-records", "--topic", "pruned", "--before", "100")
    assert beyond.code == 1
    assert beyond.err.startswith("error: pruned-0: ")


def test_the_classic_spelling_works(shell: Shell) -> None:
    """D3-11: commands as documents print them."""
    created = shell.ok(
        *("kafka-topics.sh", "--create", "--zookeeper", "localhost:2181"),
        *("--topic", "classic", "--config", "max.message.bytes=2000000"),
    )
    assert created.out == "Created topic classic.\n"
    assert "classic" in shell.ok("kafka-topics.sh", "--list").lines
    shell.ok("kafka-console-producer.sh", "--topic", "classic", stdin="hi\n")
    consumed = shell.ok(
        *("kafka-console-consumer.sh", "--topic", "classic", "--from-beginning"),
        *("--max-messages", "1"),
    )
    assert consumed.lines == ["hi"]
