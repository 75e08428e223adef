"""kcat (an old librdkafka underneath) against our broker: S-9.3 (-P, -C, -L, -Q), D3-12 (from stdin)."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

KCAT = shutil.which("kcat") or shutil.which("kafkacat")
pytestmark = pytest.mark.skipif(KCAT is None, reason="kcat is not installed")


@pytest.fixture
def kcat(broker):
    """`kcat("-C", ..., typed=b"...")`: run it on the broker; returns what it printed."""

    def run(*arguments: str, typed: bytes = b"") -> str:
        command = [KCAT, "-b", broker.bootstrap_servers, *arguments]
        done = subprocess.run(command, input=typed, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run


def test_lines_go_in_and_come_out(kcat, topic):
    """S-9.3: -P from stdin, -C from the beginning to the end."""
    kcat("-P", "-t", topic, typed=b"one\ntwo\nthree\n")
    assert kcat("-C", "-t", topic, "-o", "beginning", "-e", "-q") == "one\ntwo\nthree\n"
    assert kcat("-C", "-t", topic, "-p", "0", "-o", "-1", "-e", "-q") == "three\n"
    assert kcat("-C", "-t", topic, "-p", "0", "-o", "1", "-c", "1", "-q") == "two\n"


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_keys_headers_and_codecs(kcat, topic, codec, wire):
    """Keys and headers come back, and the codec asked for is the one stored."""
    kcat("-P", "-t", topic, "-K", ":", "-H", "h=v", "-z", codec,
         typed=b"k1:" + b"value " * 100 + b"\nk2:v2\n")  # fmt: skip
    shown = kcat("-C", "-t", topic, "-e", "-q", "-f", "%o|%k|%S|%h\n")
    assert shown == "0|k1|600|h=v\n1|k2|2|h=v\n"
    attributes = bytes(wire.fetch(topic).records)[22]
    assert attributes & 7 == {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}[codec]


def test_metadata_lists_brokers_and_partitions(kcat, make_topic, broker):
    """S-9.3: -L shows this broker, the controller, and each partition with its leader."""
    topic = make_topic(partitions=3)
    found = json.loads(kcat("-L", "-J", "-t", topic))
    (node,) = found["brokers"]
    assert node["name"] == broker.bootstrap_servers
    (described,) = found["topics"]
    assert [p["partition"] for p in described["partitions"]] == [0, 1, 2]
    assert {p["leader"] for p in described["partitions"]} == {node["id"]}


def test_offsets_by_time(kcat, topic):
    """-Q asks for the offset of a time; -1 and -2 are the end and the beginning."""
    kcat("-P", "-t", topic, typed=b"a\nb\n")
    assert kcat("-Q", "-t", f"{topic}:0:-2").split() == [topic, "[0]", "offset", "0"]
    assert kcat("-Q", "-t", f"{topic}:0:-1").split() == [topic, "[0]", "offset", "2"]
    assert kcat("-Q", "-t", f"{topic}:0:1").split() == [topic, "[0]", "offset", "0"]


def test_many_lines_from_stdin(kcat, topic):
    """D3-12: kcat as a producer of lines, 100 bytes each; all arrive, in order."""
    lines = [f"{i:099d}" for i in range(20_000)]
    kcat("-P", "-t", topic, "-X", "acks=all", typed="".join(f"{x}\n" for x in lines).encode())
    assert kcat("-C", "-t", topic, "-e", "-q").splitlines() == lines


def test_a_file_is_one_record(kcat, topic, tmp_path):
    """A file given by name is sent whole; D3-12 at 64 KB."""
    file = tmp_path / "large"
    file.write_bytes(b"x" * 64_000)
    kcat("-P", "-t", topic, str(file))
    assert kcat("-C", "-t", topic, "-e", "-q", "-f", "%S\n") == "64000\n"
