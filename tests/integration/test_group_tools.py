"""`odradek groups` and `odradek transactions` against a real broker with real members."""

from __future__ import annotations

import itertools
import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.cli.commands import run
from odradek.testing import EmbeddedBroker

SECONDS_MAX = 30.0


class Result(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def cells(self) -> list[list[str]]:
        """The rows of a table, without its headings."""
        return [line.split() for line in self.out.split("\n") if line.strip()][1:]


Shell = Callable[..., Result]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    # The records of these tests are old, but none may be deleted.
    keys = {"group.initial.rebalance.delay.ms": "0", "log.retention.ms": "-1"}
    with EmbeddedBroker(keys) as running:
        yield running


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return itertools.count()


@pytest.fixture
def shell(
    broker: EmbeddedBroker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Runs a command that is expected to end with `code`."""
    monkeypatch.setenv("ODRADEK_BOOTSTRAP_SERVER", broker.bootstrap_servers)

    def call(*arguments: str, code: int = 0) -> Result:
        capfd.readouterr()
        result = Result(run(arguments), *capfd.readouterr())
        assert result.code == code, result
        return result

    return call


@pytest.fixture
def topic(broker: EmbeddedBroker, shell: Shell, numbers: Iterator[int]) -> str:
    """A topic with two partitions and ten records in each."""
    name = f"topic-{next(numbers)}"
    shell("topics", "create", name, "--partitions", "2")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(20):
        producer.produce(name, b"v", partition=number % 2, timestamp=1_000 + number // 2)
    assert producer.flush(SECONDS_MAX) == 0
    return name


def commit(broker: EmbeddedBroker, group: str, *places: TopicPartition) -> None:
    """Commit without joining."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=list(places), asynchronous=False)
    consumer.close()


@contextmanager
def members(
    broker: EmbeddedBroker, count: int, group: str, topic: str, **extra: Any
) -> Iterator[list[Consumer]]:
    """Members of a group, once each has got partitions."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": group,
        "client.id": "reader",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        **extra,
    }
    consumers = [Consumer(settings) for _ in range(count)]
    try:
        for consumer in consumers:
            consumer.subscribe([topic])
        deadline = time.monotonic() + SECONDS_MAX
        while not all(consumer.assignment() for consumer in consumers):
            assert time.monotonic() < deadline, "no partitions were assigned"
            for consumer in consumers:
                consumer.poll(0.05)
        yield consumers
    finally:
        for consumer in consumers:
            consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_described_with_lag_and_members(
    broker: EmbeddedBroker, shell: Shell, topic: str, protocol: str
) -> None:
    """S-9.12, K9-17: LAG is end minus current, by partition, also for a group that has stopped."""
    group = f"described-{protocol}"
    with members(broker, 1, group, topic, **{"group.protocol": protocol}) as (consumer,):
        consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
        described = shell("groups", "describe", group)
        first, second = described.cells
        assert first[:6] == [group, topic, "0", "4", "10", "6"]
        assert second[:6] == [group, topic, "1", "-", "10", "-"]
        assert first[6] == second[6] == consumer.memberid()
        assert first[8] == "reader"
        (row,) = shell("groups", "describe", group, "--members", "--verbose").cells
        assert f"{topic}:0,1" in row
        (row,) = shell("groups", "describe", group, "--state").cells
        assert row[1:3] == [broker.bootstrap_servers, "(1)"]
        assert row[4:] == ["Stable", "1"]
        listed = shell("groups", "list", "--state", "stable", "--type", protocol)
        assert [group, protocol.capitalize(), "Stable"] in listed.cells
        (document,) = json.loads(shell("groups", "describe", group, "--json").out)
        assert document["members"][0]["assignment"] == {topic: [0, 1]}
        assert [offset["lag"] for offset in document["offsets"]] == [6, None]
    left = shell("groups", "describe", group)
    assert left.err.strip() == f"Consumer group '{group}' has no active members."
    assert left.cells[0][6:] == ["-", "-", "-"]


def test_the_classic_spelling_works(broker: EmbeddedBroker, shell: Shell, topic: str) -> None:
    commit(broker, "spelled", TopicPartition(topic, 0, 1))
    tool = "kafka-consumer-groups.sh"
    assert ["spelled", "Empty"] in shell(tool, "--list", "--state").cells
    described = shell(tool, "--describe", "--group", "spelled", "--offsets")
    assert described.cells == [["spelled", topic, "0", "1", "10", "9", "-", "-", "-"]]
    shell(tool, "--delete", "--group", "spelled")
    assert "spelled" not in shell(tool, "--list").out.split()
    assert shell("kafka-transactions.sh", "list").out.startswith("TransactionalId")


def test_why_a_group_rebalanced_is_told(broker: EmbeddedBroker, shell: Shell, topic: str) -> None:
    """D1-08: who joined, who left; on the HTTP port and by `describe --history`."""
    http = broker.http_url.removeprefix("http://")
    group = "its/history ü"
    with members(broker, 2, group, topic) as consumers:
        told = consumers[0].memberid()
    history = shell("groups", "describe", group, "--history", "--verbose", "--http", http)
    assert f"joined: {told}" in history.out
    assert f"left: {told}" in history.out
    quoted = urllib.request.pathname2url(group).replace("/", "%2F")
    with urllib.request.urlopen(f"{broker.http_url}/groups/{quoted}", timeout=10) as answer:
        page = json.load(answer)
    (document,) = json.loads(
        shell("groups", "describe", group, "--history", "--json", "--http", http).out
    )
    assert document["history"] == page["history"]
    assert (page["state"], page["members"]) == ("Empty", [])
    with urllib.request.urlopen(f"{broker.http_url}/groups", timeout=10) as answer:
        lines = {line["group"]: line for line in json.load(answer)["groups"]}
    assert lines[group]["rebalances"] == len(page["history"])


def test_a_broker_that_does_not_say_where_its_history_is_needs_the_option(
    broker: EmbeddedBroker, shell: Shell, topic: str
) -> None:
    """A listener with port 0, as here, is not where it was told to be."""
    commit(broker, "unheard", TopicPartition(topic, 0, 1))
    refused = shell("groups", "describe", "unheard", "--history", code=1)
    assert "give --http HOST:PORT" in refused.err
    assert len(refused.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ("--to-earliest", [0, 0]),
        ("--to-latest", [10, 10]),
        ("--to-current", [4, 10]),
        ("--to-offset 7", [7, 7]),
        ("--to-offset 99", [10, 10]),
        ("--to-datetime 1970-01-01T00:00:01.005", [5, 5]),
        ("--to-datetime 1970-01-01T02:00:09+02:00", [10, 10]),
        ("--by-duration PT1H", [10, 10]),
        ("--by-duration P36500D", [0, 0]),
    ],
)
def test_offsets_are_reset_to(
    broker: EmbeddedBroker, shell: Shell, topic: str, options: str, offsets: list[int]
) -> None:
    """A dry run shows what --execute then does; S-5.12 for times."""
    group = "reset" + options.replace(" ", "=")
    commit(broker, group, TopicPartition(topic, 0, 4))
    asked = ("groups", "reset-offsets", group, "--topic", topic, *options.split())
    dry = shell(*asked)
    rows = [[group, topic, str(number), str(offset)] for number, offset in enumerate(offsets)]
    assert dry.cells == rows
    assert "nothing was changed" in dry.err
    assert len(shell("groups", "describe", group).cells) == 1
    assert "nothing was changed" not in shell(*asked, "--dry-run").err
    assert shell(*asked, "--execute").cells == rows
    described = shell("groups", "describe", group)
    assert [int(row[3]) for row in described.cells] == offsets


def test_a_plan_is_exported_shifted_and_read_from_a_file(
    broker: EmbeddedBroker, shell: Shell, topic: str, tmp_path: Path
) -> None:
    commit(broker, "filed", TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 9))
    asked = ("groups", "reset-offsets", "filed")
    plan = tmp_path / "plan.csv"
    plan.write_text(shell(*asked, "--all-topics", "--to-current", "--export").out)
    assert plan.read_text() == f"{topic},0,4\n{topic},1,9\n"
    shifted = shell(*asked, "--topic", f"{topic}:0", "--shift-by", "-3", "--execute")
    assert shifted.cells == [["filed", topic, "0", "1"]]
    document = json.loads(shell(*asked, "--from-file", str(plan), "--execute", "--json").out)
    assert document["executed"] is True
    assert [row["newOffset"] for row in document["offsets"]] == [4, 9]
    both = shell(
        *("groups", "reset-offsets", "filed", "brand-new", "--topic", topic),
        *("--to-latest", "--export"),
    )
    assert both.out.splitlines()[0] == f"filed,{topic},0,10"
    unshiftable = shell(*asked[:2], "brand-new", "--topic", topic, "--shift-by", "1", code=1)
    assert "no committed offset" in unshiftable.err
    absent = shell(*asked, "--topic", f"{topic}:7", "--to-latest", code=1)
    assert absent.err == f"error: topic '{topic}' has no partition 7, it has 2\n"


def test_a_group_with_members_is_neither_reset_nor_deleted(
    broker: EmbeddedBroker, shell: Shell, topic: str
) -> None:
    with members(broker, 1, "busy", topic):
        refused = shell(
            "groups", "reset-offsets", "busy", "--topic", topic, "--to-latest", "--execute", code=1
        )
        assert refused.err.startswith("error: group 'busy' is Stable with 1 members: stop them")
        assert refused.out == ""
        assert "has members" in shell("groups", "delete", "busy", code=1).err.replace(
            "still has members", "has members"
        )
        kept = shell("groups", "delete-offsets", "busy", "--topic", topic, code=1)
        assert kept.cells == [[topic, "0", "Error"], [topic, "1", "Error"]]
    shell("groups", "delete-offsets", "busy", "--topic", f"{topic}:1")
    deleted = shell("groups", "delete", "busy")
    assert deleted.out == "Deletion of requested consumer groups ('busy') was successful.\n"
    assert shell("groups", "describe", "busy", code=1).err == (
        "error: Consumer group 'busy' does not exist.\n"
    )
    again = shell("groups", "delete", "busy", code=1)
    assert again.err.startswith("error: Group 'busy' could not be deleted: ")


def open_transaction(broker: EmbeddedBroker, topic: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name})
    producer.init_transactions(SECONDS_MAX)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(SECONDS_MAX) == 0
    return producer


def test_transactions_are_listed_described_and_aborted(
    broker: EmbeddedBroker, shell: Shell, topic: str
) -> None:
    producer = open_transaction(broker, topic, "shown-1")
    where = ("--topic", topic, "--partition", "0")
    rows = {row[0]: row[1:] for row in shell("transactions", "list").cells}
    assert rows["shown-1"][0] == "1"
    filters = ("--state", "Ongoing", "--transactional-id-pattern", "shown-.*", "--json")
    (listed,) = json.loads(shell("transactions", "list", *filters).out)
    assert listed["transactionState"] == "Ongoing"
    (described,) = json.loads(
        shell("transactions", "describe", "--transactional-id", "shown-1", "--json").out
    )
    assert described["topicPartitions"] == [f"{topic}-0"]
    assert described["transactionDurationMs"] >= 0
    (seen,) = json.loads(shell("transactions", "describe-producers", *where, "--json").out)
    assert seen["currentTransactionStartOffset"] == 10
    assert shell("transactions", "find-hanging", "--topic", topic).cells == []
    aborted = shell("transactions", "abort", *where, "--start-offset", "10")
    assert aborted.out == (
        f"Aborted the transaction of producer {seen['producerId']} in {topic}-0.\n"
    )
    (seen,) = json.loads(shell("transactions", "describe-producers", *where, "--json").out)
    assert seen["currentTransactionStartOffset"] is None
    again = shell("transactions", "abort", *where, "--start-offset", "10", code=1)
    assert "no transaction is open" in again.err
    del producer
    absent = shell("transactions", "describe", "--transactional-id", "nobody", code=1)
    assert absent.err == "error: there is no transactional id 'nobody'\n"
