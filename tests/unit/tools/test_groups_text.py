"""Groups and transactions in words: the tables of Kafka's tools, column by column."""

from __future__ import annotations

from typing import Any

from odradek.client import (
    Broker,
    CommittedOffset,
    GroupDescription,
    GroupMember,
    GroupType,
    TransactionDescription,
)
from odradek.client.addresses import Address
from odradek.client.nodes import ActiveProducer
from odradek.tools.columns import tab_table
from odradek.tools.group_text import (
    GroupReport,
    document,
    history_lines,
    member_lines,
    offset_lines,
    offset_rows,
    remark,
    state_lines,
)
from odradek.tools.hanging import OpenTransaction, hanging, open_for_longer
from odradek.types import TopicPartition

ORDERS_0, ORDERS_1, OLD_0 = (
    TopicPartition("orders", 0),
    TopicPartition("orders", 1),
    TopicPartition("old", 0),
)
READER = GroupMember("m-1", None, "c", "/10.0.0.1", (ORDERS_0, ORDERS_1), 4, (ORDERS_0,))
GROUP = GroupDescription(
    group_id="billing",
    type=GroupType.CONSUMER,
    state="Reconciling",
    protocol_type="consumer",
    assignor="uniform",
    coordinator_id=1,
    members=(READER,),
    group_epoch=5,
    assignment_epoch=5,
)
COMMITTED = {ORDERS_0: CommittedOffset(7, 3), OLD_0: CommittedOffset(9)}
EVENT = {
    "time_ms": 1_500,
    "started_ms": 500,
    "generation": 5,
    "members": 1,
    "reason": "member m-2 left",
    "joined": [],
    "left": ["m-2", "m-3", "m-4", "m-5"],
    "timed_out": ["m-6"],
    "replaced": [],
    "details": ["something else"],
}
REPORT = GroupReport(
    GROUP,
    Broker(1, Address("h", 9092)),
    offset_rows(GROUP, COMMITTED, {ORDERS_0: 10, ORDERS_1: 4}),
    (EVENT,),
)


def cells(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def test_offsets_show_lag_and_reader_of_every_partition_read_or_committed() -> None:
    """A partition without commit, or of a deleted topic, has dashes."""
    headings, *rows = cells(offset_lines(REPORT, verbose=False))
    assert headings == [
        *("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"),
        *("CONSUMER-ID", "HOST", "CLIENT-ID"),
    ]
    assert rows == [
        ["billing", "old", "0", "9", "-", "-", "-", "-", "-"],
        ["billing", "orders", "0", "7", "10", "3", "m-1", "/10.0.0.1", "c"],
        ["billing", "orders", "1", "-", "4", "-", "m-1", "/10.0.0.1", "c"],
    ]


def test_columns_begin_where_those_of_kafka_do() -> None:
    headings = offset_lines(REPORT, verbose=False)[0]
    assert headings.startswith("GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END")
    assert offset_lines(REPORT, verbose=True)[2].split()[3:5] == ["3", "7"]


def test_members_and_state_with_epochs_when_verbose() -> None:
    assert cells(member_lines(REPORT, verbose=False))[1] == [
        "billing",
        "m-1",
        "/10.0.0.1",
        "c",
        "2",
    ]
    assert cells(member_lines(REPORT, verbose=True))[1][5:] == ["4", "orders:0,1", "5", "orders:0"]
    assert cells(state_lines(REPORT, verbose=True))[1] == (
        ["billing", "h:9092", "(1)", "uniform", "Reconciling", "5", "5", "1"]
    )


def test_a_static_member_has_its_instance_id_in_a_column_of_its_own() -> None:
    member = GroupMember("m", "i-1", "c", "/h", ())
    report = GroupReport(
        GroupDescription("g", GroupType.CLASSIC, "Stable", "", "", 1, (member,)), None
    )
    assert cells(member_lines(report, verbose=False)) == [
        ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"],
        ["g", "m", "i-1", "/h", "c", "0"],
    ]


def test_a_line_of_history_says_when_how_long_and_why() -> None:
    line = history_lines(REPORT, verbose=False)[1]
    assert line.split()[1:5] == ["1970-01-01T00:00:01.500Z", "5", "1", "1000"]
    assert line.endswith("member m-2 left; left: m-2, m-3, m-4 and 1 more; timed out: m-6")
    verbose = history_lines(REPORT, verbose=True)[1]
    assert verbose.endswith("left: m-2, m-3, m-4, m-5; timed out: m-6; something else")


def test_a_rebalancing_group_is_remarked_upon() -> None:
    assert remark(GROUP) == "Warning: Consumer group 'billing' is rebalancing."


def test_the_document_holds_everything() -> None:
    shown: dict[str, Any] = document(REPORT)
    assert shown["coordinator"] == {"id": 1, "host": "h", "port": 9092}
    assert shown["history"] == [EVENT]
    assert shown["members"][0]["assignment"] == {"orders": [0, 1]}
    assert [row["lag"] for row in shown["offsets"]] == [None, 3, None]


def test_the_transactions_table_has_a_tab_after_each_cell() -> None:
    assert tab_table(("Id", "State"), [("long-id", "Ongoing")]) == [
        "Id     \tState  \t",
        "long-id\tOngoing\t",
    ]


def producer(producer_id: int, start: int, last_timestamp: int = 0) -> ActiveProducer:
    return ActiveProducer(producer_id, 0, 0, last_timestamp, -1, start)


def test_only_what_has_been_open_for_too_long_can_hang() -> None:
    producers = [producer(1, 5), producer(2, -1), producer(3, 5, last_timestamp=900)]
    found = open_for_longer(ORDERS_0, producers, now_ms=1000, longest_ms=500)
    assert [each.producer.producer_id for each in found] == [1]


def test_a_transaction_hangs_where_its_coordinator_does_not_know_of_it() -> None:
    known = {
        1: TransactionDescription("a", 1, 1, 0, "Ongoing", 60_000, 0, (ORDERS_0,)),
        2: TransactionDescription("b", 1, 2, 0, "Empty", 60_000, -1, ()),
    }
    found = [OpenTransaction(ORDERS_0, producer(each, 5)) for each in (1, 2, 3)]
    assert [each.producer.producer_id for each in hanging(found, known)] == [2, 3]
