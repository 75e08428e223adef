"""The embedded broker cleans up after a start that failed, and tells what happened."""

from __future__ import annotations

import socket
import tempfile
import threading
import urllib.request
from pathlib import Path

import pytest

from odradek.config.declare import ConfigError
from odradek.testing import EmbeddedBroker


@pytest.fixture(autouse=True)
def own_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary folders of the test go here, so that leftovers are seen."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_start_that_failed_leaves_nothing(own_temp: Path) -> None:
    """A port in use: the reason is raised, no folder and no thread stay, and it can be tried again."""
    threads = threading.active_count()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        broker = EmbeddedBroker({"listeners": f"PLAINTEXT://127.0.0.1:{port}"})
        with pytest.raises(OSError, match="cannot listen on"):
            broker.start()
    assert list(own_temp.iterdir()) == []
    assert threading.active_count() == threads
    broker.stop()  # harmless
    with broker:
        assert broker.bootstrap_servers == f"127.0.0.1:{port}"


def test_a_wrong_key_is_told() -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        EmbeddedBroker({"num.partitions": "many"}).start()


def test_a_given_folder_is_kept(own_temp: Path) -> None:
    folder = own_temp / "kept"
    with EmbeddedBroker(data_dir=folder) as broker:
        assert broker.data_dir == folder
    assert (folder / ".kafka_cleanshutdown").exists()


def test_the_inside_can_be_looked_at_from_the_test() -> None:
    """`call` runs on the broker's thread; exceptions come back."""
    with EmbeddedBroker() as broker:
        assert broker.call(lambda _: threading.current_thread().name) == "odradek-embedded"
        with pytest.raises(ZeroDivisionError):
            broker.call(lambda _: 1 // 0)
        with urllib.request.urlopen(broker.http_url + "/healthz", timeout=10) as answer:
            assert answer.status == 200


def test_two_brokers_live_side_by_side() -> None:
    with EmbeddedBroker() as one, EmbeddedBroker() as two:
        assert one.bootstrap_servers != two.bootstrap_servers
        assert one.data_dir != two.data_dir
