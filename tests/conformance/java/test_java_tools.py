"""Apache Kafka's command-line tools, unmodified, against our broker: what they print and what it did.

All run in one JVM (`Tools.java`), one after the other, since starting one costs more than most of them do.
Scenarios S-2.4 (console producer), D3-12 (producer perf), S-9.2 (topics by command).
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

pytestmark = pytest.mark.peer

CLASSES = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "producer-perf": "org.apache.kafka.tools.ProducerPerformance",
    "console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "features": "org.apache.kafka.tools.FeatureCommand",
    "log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
}


class Shown(NamedTuple):
    """What a tool printed, and its exit code."""

    code: int
    text: str


class Shell:
    """Types commands into `Tools.java`."""

    def __init__(self, jars: Path, servers: str) -> None:
        source = Path(__file__).with_name("Tools.java")
        self._servers = servers
        self._process = subprocess.Popen(
            ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF",
             "-cp", f"{jars}/*", str(source)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, tool: str, *arguments: str, typed: list[str] | None = None) -> Shown:
        words = [CLASSES[tool], *arguments]
        if tool == "cluster":
            words[2:2] = ["--bootstrap-server", self._servers]
        else:
            words[1:1] = ["--bootstrap-server", self._servers]
        if typed is not None:
            words += ["<", *typed]
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write("\t".join(words) + "\n")
        stdin.flush()
        code, lines = None, []
        for line in stdout:
            if line == "=== end\n":
                break
            if code is None and line.startswith("=== "):
                code = int(line.split()[1])
            else:
                lines.append(line)
        assert code is not None, f"the JVM is gone: {lines}"
        return Shown(code, "".join(lines))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def kafka(kafka_jars, broker):
    """`kafka("topics", "--list")`: run a tool on the broker."""
    shell = Shell(kafka_jars, broker.bootstrap_servers)
    yield shell
    shell.close()


@pytest.fixture
def name():
    return f"tools-{uuid4().hex[:10]}"


def test_topics_are_created_described_altered_listed_and_deleted(kafka, name, settle):
    """kafka-topics: the whole life of a topic."""
    made = kafka("topics", "--create", "--topic", name, "--partitions", "2",
                 "--config", "retention.ms=1000000")  # fmt: skip
    assert made == (0, f"Created topic {name}.\n\n")
    settle()
    again = kafka("topics", "--create", "--topic", name)
    assert again.code == 1
    assert f"Topic '{name}' already exists" in again.text
    shown = kafka("topics", "--describe", "--topic", name).text
    assert "PartitionCount: 2" in shown
    assert "ReplicationFactor: 1" in shown
    assert "retention.ms=1000000" in shown
    assert shown.count("Leader:") == 2
    assert kafka("topics", "--alter", "--topic", name, "--partitions", "3").code == 0
    settle()
    assert "PartitionCount: 3" in kafka("topics", "--describe", "--topic", name).text
    assert name in kafka("topics", "--list").text.split()
    assert kafka("topics", "--delete", "--topic", name).code == 0
    settle()
    assert name not in kafka("topics", "--list").text.split()
    missing = kafka("topics", "--describe", "--topic", name)
    assert missing.code == 1
    assert "does not exist" in missing.text


def test_typed_lines_become_records(kafka, name):
    """S-2.4: lines typed into the console producer come out of the console consumer."""
    lines = ["hello world", "k\u00e4fka", "third"]
    assert kafka("topics", "--create", "--topic", name).code == 0
    assert kafka("console-producer", "--topic", name, "--sync", typed=lines).code == 0
    shown = kafka("console-consumer", "--topic", name, "--partition", "0", "--offset", "earliest",
                  "--max-messages", "3")  # fmt: skip
    assert shown.text.split("\n")[:3] == lines
    shown = kafka("console-consumer", "--topic", name, "--partition", "0", "--offset", "1",
                  "--max-messages", "1", "--formatter-property", "print.offset=true",
                  "--formatter-property", "print.key=true",
                  "--formatter-property", "print.timestamp=true")  # fmt: skip
    assert "Offset:1\tnull\tk\u00e4fka" in shown.text


def test_offsets_and_deleted_records(kafka, name, tmp_path):
    """kafka-get-offsets and kafka-delete-records."""
    assert kafka("topics", "--create", "--topic", name).code == 0
    typed = [f"{i}" for i in range(5)]
    assert kafka("console-producer", "--topic", name, "--sync", typed=typed).code == 0
    assert f"{name}:0:5" in kafka("get-offsets", "--topic", name).text
    plan = tmp_path / "plan.json"
    plan.write_text(
        f'{{"partitions": [{{"topic": "{name}", "partition": 0, "offset": 2}}], "version": 1}}'
    )
    shown = kafka("delete-records", "--offset-json-file", str(plan))
    assert "low_watermark: 2" in shown.text
    assert f"{name}:0:2" in kafka("get-offsets", "--topic", name, "--time", "earliest").text


def test_settings_are_described_and_altered(kafka, name, settle):
    """kafka-configs on a topic and on the broker."""
    assert kafka("topics", "--create", "--topic", name).code == 0
    entity = ("--entity-type", "topics", "--entity-name", name)
    altered = kafka("configs", "--alter", *entity, "--add-config",
                    "retention.ms=123456,cleanup.policy=[compact,delete]")  # fmt: skip
    assert f"Completed updating config for topic {name}" in altered.text
    settle()
    shown = kafka("configs", "--describe", *entity).text
    assert "retention.ms=123456" in shown
    assert "cleanup.policy=compact,delete" in shown
    everything = kafka("configs", "--describe", "--all", *entity).text
    assert "segment.bytes=1073741824" in everything
    assert kafka("configs", "--alter", *entity, "--delete-config", "retention.ms").code == 0
    wrong = kafka("configs", "--alter", *entity, "--add-config", "retention.ms=soon")
    assert wrong.code == 1
    assert "retention.ms" in wrong.text
    defaults = kafka("configs", "--describe", "--entity-type", "brokers", "--entity-default")
    assert "Default configs for brokers in the cluster are" in defaults.text


def test_the_broker_shows_its_insides(kafka, name):
    """kafka-broker-api-versions, kafka-log-dirs, kafka-features, kafka-cluster."""
    assert kafka("topics", "--create", "--topic", name).code == 0
    versions = kafka("api-versions")
    assert "Produce(0): 0 to" in versions.text
    assert "ApiVersions(18): 0 to 4" in versions.text
    dirs = kafka("log-dirs", "--describe", "--topic-list", name)
    assert f'"partition":"{name}-0"' in dirs.text
    assert '"error":null' in dirs.text
    features = kafka("features", "describe")
    assert features.code == 0
    assert "metadata.version" in features.text
    assert "Cluster ID: " in kafka("cluster", "cluster-id").text


def test_producer_perf_reports(kafka, name):
    """D3-12: the perf tool sends its records and prints its figures."""
    assert kafka("topics", "--create", "--topic", name).code == 0
    shown = kafka("producer-perf", "--topic", name, "--num-records", "500", "--record-size", "100",
                  "--throughput", "-1")  # fmt: skip
    assert "500 records sent" in shown.text
    assert f"{name}:0:500" in kafka("get-offsets", "--topic", name).text
