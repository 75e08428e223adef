"""Two brokers never share a folder; SIGTERM stops cleanly, under load too.

A clean stop leaves its marker, so that the next start need not check the logs; a killed broker leaves none.
"""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.storage.log_dir import LogDirRefused
from odradek.testing import EmbeddedBroker

MARKER = ".kafka_cleanshutdown"
RECOVERED = "checked after an unclean stop"


# -- one broker per folder ---------------------------------------------------------------------


def test_a_second_process_is_refused(start_broker: Any, talk: Any, bystander: Any) -> None:
    """It says why and what to do, exits with 1, and the first one notices nothing."""
    first = start_broker()
    second = start_broker({"log.dirs": first.settings["log.dirs"]}, launch=False)
    with bystander(first.address):
        second.launch()
        assert second.wait() == 1
    last_line = second.output().splitlines()[-1]
    assert last_line.startswith("odradek broker: ")
    assert "in use" in last_line
    assert first.settings["log.dirs"] in last_line
    assert "Traceback" not in second.output()
    assert first.is_alive()
    assert first.terminate() == 0


def test_a_second_folder_in_use_is_refused(start_broker: Any, bystander: Any) -> None:
    """One shared folder among several is enough to refuse."""
    first = start_broker()
    shared = first.settings["log.dirs"]
    second = start_broker(launch=False)
    second.settings["log.dirs"] += f",{shared}"
    with bystander(first.address):
        second.launch()
        assert second.wait() == 1
    assert shared in second.output().splitlines()[-1]
    # And its own folder is free again.
    second.settings["log.dirs"] = second.settings["log.dirs"].partition(",")[0]
    second.start()


def test_a_second_embedded_broker_is_refused(tmp_path: Path, bystander: Any) -> None:
    """In the same process too; the first one goes on."""
    with EmbeddedBroker(data_dir=tmp_path) as first:
        host, _, port = first.bootstrap_servers.rpartition(":")
        with bystander((host, int(port))):
            second = EmbeddedBroker(data_dir=tmp_path)
            with pytest.raises(Exception, match="in use"):
                second.start()
    with EmbeddedBroker(data_dir=tmp_path):
        pass  # free again


def test_the_lock_of_apache_kafka_is_respected(start_broker: Any) -> None:
    """A JVM locks `.lock` with fcntl record locks: such a folder is refused while they are held."""
    broker = start_broker(launch=False)
    data = Path(broker.settings["log.dirs"])
    data.mkdir()
    with (data / ".lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        broker.launch()
        assert broker.wait() == 1
        assert "in use by another broker" in broker.output()
        assert "Traceback" not in broker.output()
    broker.start()


def test_a_jvm_style_lock_refuses_an_embedded_broker(tmp_path: Path) -> None:
    """The same from another process's point of view, as an exception."""
    holder = (
        "import fcntl, sys\n"
        f"lock = open({str(tmp_path / '.lock')!r}, 'w')\n"
        "fcntl.lockf(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(LogDirRefused, match="in use by another broker"):
            EmbeddedBroker(data_dir=tmp_path).start()
    finally:
        process.communicate()
    with EmbeddedBroker(data_dir=tmp_path):
        pass


def test_a_port_in_use_is_told(start_broker: Any, bystander: Any) -> None:
    """Another broker on the port: a sentence and exit code 1; nobody is disturbed."""
    first = start_broker()
    second = start_broker({"listeners": first.settings["listeners"]}, launch=False)
    with bystander(first.address):
        second.launch()
        assert second.wait() == 1
    assert f"cannot listen on 127.0.0.1:{first.port}" in second.output()
    assert "Traceback" not in second.output()


# -- stopping ----------------------------------------------------------------------------------


def test_sigterm_stops_cleanly(start_broker: Any, dial: Any, talk: Any) -> None:
    """Exit code 0 and the marker; the next start checks nothing. A kill leaves no marker."""
    broker = start_broker()
    data = Path(broker.settings["log.dirs"])
    talk.create_topic(dial(broker.address), "t", 3)
    Load(broker.bootstrap_servers, "t", 3).run_for(0.3)
    assert not (data / MARKER).exists()
    assert broker.terminate() == 0
    assert (data / MARKER).is_file()
    broker.start()
    assert not (data / MARKER).exists()
    assert RECOVERED not in broker.output().replace("0 " + RECOVERED, "")
    broker.kill()
    assert not (data / MARKER).exists()
    broker.start()
    assert f"3 {RECOVERED}" in broker.output()


def test_sigint_stops_cleanly_too(start_broker: Any) -> None:
    """Ctrl-C in a terminal."""
    broker = start_broker()
    os.kill(broker.pid, 2)
    assert broker.wait() == 0
    assert (Path(broker.settings["log.dirs"]) / MARKER).is_file()


def test_sigterm_while_starting(start_broker: Any) -> None:
    """At any moment of a start: the process ends soon, and the next start works."""
    broker = start_broker()
    broker.terminate()
    for delay_ms in (50, 100, 150, 200, 300):
        broker.launch()
        time.sleep(delay_ms / 1000)
        # Before its handler is in place a signal ends the process as the system does (-15).
        assert broker.terminate(seconds=10) in (0, -15)
    broker.start()
    assert "Traceback" not in broker.output()


@pytest.mark.parametrize("rounds", [4])
def test_sigterm_under_load_loses_nothing(
    start_broker: Any, dial: Any, talk: Any, rounds: int
) -> None:
    """Everything acknowledged before, while and after the broker was restarted is there."""
    broker = start_broker()
    talk.create_topic(dial(broker.address), "t", 2, {"segment.bytes": "200000"})
    load = Load(broker.bootstrap_servers, "t", 2)
    load.start()
    for _ in range(rounds):
        time.sleep(0.4)
        assert broker.terminate() == 0
        assert (Path(broker.settings["log.dirs"]) / MARKER).is_file()
        broker.start()
    load.stop()
    assert RECOVERED not in broker.output().replace("0 " + RECOVERED, "")
    assert len(load.acknowledged) > 100
    assert read_back(broker.bootstrap_servers, "t", load) == load.acknowledged


class Load:
    """An idempotent producer that keeps what was acknowledged: (partition, offset) → value."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.errors: list[Any] = []
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "batch.num.messages": 100,
                "metadata.recovery.strategy": "none",
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0
        assert not self.errors, self.errors[:3]

    def run_for(self, seconds: float) -> None:
        self.start()
        time.sleep(seconds)
        self.stop()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            for _ in range(10):
                number += 1
                self._producer.produce(
                    self._topic,
                    b"%d" % number + b"-" * 200,
                    partition=number % self._partitions,
                    on_delivery=self._on_delivery,
                )
            self._producer.poll(0.01)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            place = message.partition(), message.offset()
            assert place not in self.acknowledged
            self.acknowledged[place] = message.value()


def read_back(servers: str, topic: str, load: Load) -> dict[tuple[int, int], bytes]:
    """What a consumer finds from the first offset to the last acknowledged one."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False,
         "log_level": 0}
    )  # fmt: skip
    found: dict[tuple[int, int], bytes] = {}
    try:
        partitions = sorted({partition for partition, _ in load.acknowledged})
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        while len(found) < len(load.acknowledged):
            messages = consumer.consume(len(load.acknowledged) - len(found), 30)
            assert messages, f"only {len(found)} of {len(load.acknowledged)} records came"
            for message in messages:
                assert message.error() is None
                found[message.partition(), message.offset()] = message.value()
    finally:
        consumer.close()
    return found


# -- the embedded broker -----------------------------------------------------------------------


@pytest.mark.parametrize("clean", [True, False])
def test_an_embedded_broker_restarts_on_its_port_and_data(
    dial: Callable[..., socket.socket], talk: Any, clean: bool
) -> None:
    """`restart(clean=False)` leaves the disk as a crash of the process would."""
    with EmbeddedBroker() as broker:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        address = host, int(port)
        talk.create_topic(dial(address), "t")
        load = Load(broker.bootstrap_servers, "t", 1)
        load.run_for(0.1)
        broker.restart(clean=clean)
        assert broker.bootstrap_servers == f"{host}:{port}"
        assert talk.ask(dial(address), ApiVersionsRequest(), 0).error_code == 0
        assert read_back(broker.bootstrap_servers, "t", load) == load.acknowledged


def test_an_embedded_broker_leaves_nothing(dial: Any) -> None:
    """Folder, port and threads are gone after the test that used it."""
    before = threading.active_count()
    with EmbeddedBroker() as broker:
        folder = broker.data_dir
        host, _, port = broker.bootstrap_servers.rpartition(":")
        assert folder.is_dir()
    assert not folder.exists()
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        dial((host, int(port)))
