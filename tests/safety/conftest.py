"""Brokers to break: processes of their own, raw connections, and a well-behaved client to watch.

`start_broker` gives a `BrokerProcess`, which can be killed, stopped and started again on its data and its
port. `dial` opens a plain socket to one. `Bystander` is a client that does nothing wrong: while a test does
its worst, the bystander's requests must be answered, soon and rightly.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

START_SECONDS_MAX = 30.0
# Below the range that the kernel takes for outgoing connections: a client that reconnects to a port where
# nobody listens could otherwise be given that very port for its own end, and be connected to itself.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port where nobody listens."""
    for port in random.Random(os.urandom(8)).sample(PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port
    raise AssertionError("no free port")


class BrokerProcess:
    """`odradek broker` as a process; its log goes to a file beside the data."""

    def __init__(
        self, folder: Path, settings: dict[str, str], open_files: int | None = None
    ) -> None:
        self.folder = folder
        self._open_files = open_files
        self.port = free_port()
        self.log_path = folder / "broker.out"
        self.settings = {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(folder / "data"),
            "odradek.http.listener": "127.0.0.1:0",
            **settings,
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def launch(self) -> None:
        """Start the process and do not wait for it."""
        assert self._process is None
        pairs = [f"--set={key}={value}" for key, value in self.settings.items()]
        with self.log_path.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "odradek", "broker", *pairs],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=self._limit,
            )  # fmt: skip

    def _limit(self) -> None:
        if self._open_files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self._open_files, self._open_files))

    def start(self) -> None:
        """Start, and wait until it serves."""
        seen = len(self.output())
        self.launch()
        deadline = time.monotonic() + START_SECONDS_MAX
        while " serves as node " not in self.output()[seen:]:
            assert self._process is not None
            assert self._process.poll() is None, f"the broker ended:\n{self.output()[seen:]}"
            assert time.monotonic() < deadline, f"the broker does not start:\n{self.output()}"
            time.sleep(0.02)

    def wait(self, seconds: float = 30.0) -> int:
        """Wait for the end of the process; its exit code."""
        assert self._process is not None
        code = self._process.wait(seconds)
        self._process = None
        return code

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self.wait()

    def terminate(self, seconds: float = 30.0) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def output(self) -> str:
        """Everything that the broker has logged in all its lives."""
        return self.log_path.read_text() if self.log_path.exists() else ""

    def rss_mb(self) -> float:
        """The memory that the process holds now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def peak_rss_mb(self) -> float:
        """The most it has held since `reset_peak_rss`."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1e3

    def reset_peak_rss(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


class StartBroker(Protocol):
    """`start_broker({...})` starts a broker process with these keys."""

    def __call__(
        self,
        settings: dict[str, str] | None = None,
        *,
        launch: bool = True,
        open_files: int | None = None,
    ) -> BrokerProcess: ...


@contextlib.contextmanager
def broker_processes() -> Iterator[StartBroker]:
    """Starts brokers; all of them are killed, by their pids, and their folders removed, at the end."""
    with ExitStack() as stack:

        def start(
            settings: dict[str, str] | None = None,
            *,
            launch: bool = True,
            open_files: int | None = None,
        ) -> BrokerProcess:
            folder = Path(tempfile.mkdtemp(prefix="odradek-safety-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            broker = BrokerProcess(folder, settings or {}, open_files)
            stack.callback(broker.kill)
            if launch:
                broker.start()
            return broker

        yield start


@pytest.fixture
def start_broker() -> Iterator[StartBroker]:
    """Starts broker processes for one test."""
    with broker_processes() as start:
        yield start


@pytest.fixture(scope="module")
def start_module_broker() -> Iterator[StartBroker]:
    """Starts broker processes for a module."""
    with broker_processes() as start:
        yield start


@pytest.fixture(scope="module")
def shared_broker(start_module_broker: StartBroker) -> BrokerProcess:
    """A broker process that the tests of a module mistreat one after the other."""
    return start_module_broker()


Dial = Callable[..., socket.socket]


@pytest.fixture
def dial() -> Iterator[Dial]:
    """`dial(address)`: a plain connection, closed at the end of the test."""
    with ExitStack() as stack:

        def connect(address: tuple[str, int], timeout: float = 30.0) -> socket.socket:
            return stack.enter_context(socket.create_connection(address, timeout))

        yield connect


def receive_exactly(sock: socket.socket, size: int) -> bytes:
    """So many bytes; fewer when the other side closes first."""
    data = bytearray()
    while len(data) < size:
        try:
            part = sock.recv(min(size - len(data), 1 << 20))
        except ConnectionResetError:
            break
        if not part:
            break
        data += part
    return bytes(data)


def receive_frame(sock: socket.socket) -> bytes:
    """The next frame without its length; b"" when the other side has closed."""
    head = receive_exactly(sock, 4)
    return receive_exactly(sock, struct.unpack(">i", head)[0]) if len(head) == 4 else b""


def is_closed_by_peer(sock: socket.socket, seconds: float = 10.0) -> bool:
    """Whether the other side closes, after whatever it still has to say."""
    sock.settimeout(seconds)
    try:
        while sock.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def request_frame(request: Any, version: int, correlation_id: int = 1) -> bytes:
    """A whole request: length, header, message."""
    from odradek.protocol import codec, headers

    head = headers.encode_request_header(type(request).API_KEY, version, correlation_id, "safety")
    body = head + codec.encode(request, version)
    return struct.pack(">i", len(body)) + body


class Talk:
    """Requests on a plain socket, through odradek's own codec."""

    frame = staticmethod(request_frame)
    receive_frame = staticmethod(receive_frame)
    receive_exactly = staticmethod(receive_exactly)
    is_closed_by_peer = staticmethod(is_closed_by_peer)

    @staticmethod
    def ask(sock: socket.socket, request: Any, version: int, correlation_id: int = 1) -> Any:
        """Send a request, receive and decode its response."""
        sock.sendall(request_frame(request, version, correlation_id))
        return Talk.receive(sock, type(request).API_KEY, version, correlation_id)

    @staticmethod
    def receive(sock: socket.socket, api_key: int, version: int, correlation_id: int = 1) -> Any:
        """Receive and decode the response to a request of this API, version and correlation id."""
        from odradek.protocol import codec, headers, registry

        answer = memoryview(receive_frame(sock))
        assert answer, "the broker closed the connection"
        got, position = headers.parse_response_header(answer, api_key, version)
        assert got == correlation_id
        return codec.decode(registry.response_type(api_key), answer, version, position)

    @staticmethod
    def create_topic(
        sock: socket.socket, name: str, partitions: int = 1, config: dict[str, str] | None = None
    ) -> None:
        """Create a topic with these settings."""
        from odradek.protocol.messages.create_topics import (
            CreatableTopic,
            CreatableTopicConfig,
            CreateTopicsRequest,
        )

        configs = [CreatableTopicConfig(name=k, value=v) for k, v in (config or {}).items()]
        topic = CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, configs=configs
        )
        answer = Talk.ask(sock, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        assert answer.topics[0].error_code == 0, answer.topics[0].error_message


@pytest.fixture(scope="session")
def talk() -> type[Talk]:
    """Framing, asking, receiving."""
    return Talk


class Bystander:
    """A client that produces and reads back one record after the other, and notes how long it takes."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bystander", daemon=True)
        self._error: BaseException | None = None
        self.seconds: list[float] = []

    def __enter__(self) -> Bystander:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None and error is None:
            raise AssertionError("the bystander's client failed") from self._error

    def _run(self) -> None:
        try:
            with socket.create_connection(self._address, 30) as sock:
                name = f"bystander-{os.urandom(6).hex()}"
                Talk.create_topic(sock, name)
                offset, is_over = 0, False
                while not is_over:
                    # One more round after the test has done its worst.
                    is_over = self._stop.is_set()
                    started = time.monotonic()
                    self._round(sock, name, offset)
                    self.seconds.append(time.monotonic() - started)
                    offset += 1
                    self._ready.set()
                    self._stop.wait(0.02)
        except BaseException as error:  # noqa: BLE001 - handed over to the test
            self._error = error
        finally:
            self._ready.set()

    def _round(self, sock: socket.socket, name: str, offset: int) -> None:
        from odradek.protocol.messages import fetch, produce
        from odradek.records.builder import build_batch
        from odradek.records.record import Record, read_records

        value = b"%d" % offset
        batch = bytes(build_batch([Record(0, int(time.time() * 1000), None, value, ())]))
        data = produce.PartitionProduceData(index=0, records=batch)
        topic_data = produce.TopicProduceData(name=name, partition_data=[data])
        answer = Talk.ask(
            sock, produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic_data]), 9
        )
        done = answer.responses[0].partition_responses[0]
        assert (done.error_code, done.base_offset) == (0, offset)
        wanted = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = fetch.FetchRequest(
            max_wait_ms=1000, min_bytes=1, max_bytes=1 << 20,
            topics=[fetch.FetchTopic(topic=name, partitions=[wanted])],
        )  # fmt: skip
        found = Talk.ask(sock, request, 4).responses[0].partitions[0]
        assert found.error_code == 0
        (record,) = read_records(bytes(found.records))
        assert (record.offset, record.value) == (offset, value)


@pytest.fixture(scope="session")
def bystander() -> type[Bystander]:
    """`with bystander(address) as client:` — fails the test when the client is not served rightly."""
    return Bystander
