"""How `odradek groups` words a group: the tables of kafka-consumer-groups, or JSON documents. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from odradek.client import Broker, CommittedOffset, GroupDescription, GroupMember
from odradek.client.offsets import by_topic
from odradek.tools.columns import Column, table
from odradek.types import NO_LEADER_EPOCH, TopicPartition

_REBALANCING: Final = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
)
_EMPTY: Final = "Empty"
_OFFSET_HEADINGS: Final = (
    *(Column("GROUP"), Column("TOPIC"), Column("PARTITION", 10)),
    *(Column("CURRENT-OFFSET"), Column("LOG-END-OFFSET"), Column("LAG")),
    *(Column("CONSUMER-ID"), Column("HOST"), Column("CLIENT-ID", 0)),
)
_STATE_HEADINGS: Final = (
    *(Column("GROUP"), Column("COORDINATOR (ID)", 25)),
    *(Column("ASSIGNMENT-STRATEGY", 20), Column("STATE", 20)),
)


@dataclass(frozen=True, slots=True)
class OffsetRow:
    """Where a group is in one partition, and who reads it there."""

    partition: TopicPartition
    committed: CommittedOffset | None
    log_end_offset: int | None
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        """How many offsets are still to be read; None while that is not known."""
        if self.committed is None or self.log_end_offset is None:
            return None
        return self.log_end_offset - self.committed.offset


@dataclass(frozen=True, slots=True)
class GroupReport:
    """All that `describe` found out about a group."""

    group: GroupDescription
    coordinator: Broker | None
    offsets: tuple[OffsetRow, ...] = ()
    history: tuple[Mapping[str, Any], ...] | None = None


def offset_rows(
    group: GroupDescription,
    committed: Mapping[TopicPartition, CommittedOffset],
    ends: Mapping[TopicPartition, int],
) -> tuple[OffsetRow, ...]:
    """A row per partition that the group reads or has read."""
    readers = {place: member for member in group.members for place in member.assignment}
    return tuple(
        OffsetRow(place, committed.get(place), ends.get(place), readers.get(place))
        for place in sorted({*readers, *committed})
    )


def remark(group: GroupDescription) -> str | None:
    """What a reader of the tables should know of the group's state."""
    if group.state in _REBALANCING:
        return f"Warning: Consumer group '{group.group_id}' is rebalancing."
    if group.state == _EMPTY:
        return f"Consumer group '{group.group_id}' has no active members."
    return None


# --- tables ---------------------------------------------------------------------------------------


def offset_lines(report: GroupReport, verbose: bool) -> list[str]:
    """`describe --offsets`."""
    rows: list[list[object]] = []
    for row in report.offsets:
        epoch = row.committed.leader_epoch if row.committed is not None else NO_LEADER_EPOCH
        offset = row.committed.offset if row.committed is not None else None
        member = row.member
        rows.append(
            [
                report.group.group_id,
                row.partition.topic,
                row.partition.partition,
                *([None if epoch == NO_LEADER_EPOCH else epoch] if verbose else []),
                offset,
                row.log_end_offset,
                row.lag,
                *((member.member_id, member.host, member.client_id) if member else (None,) * 3),
            ]
        )
    headings = list(_OFFSET_HEADINGS)
    if verbose:
        headings.insert(3, Column("LEADER-EPOCH"))
    return table(headings, rows)


def member_lines(report: GroupReport, verbose: bool) -> list[str]:
    """`describe --members`."""
    group = report.group
    with_instances = any(member.instance_id for member in group.members)
    headings = [
        Column("GROUP"),
        Column("CONSUMER-ID"),
        *([Column("GROUP-INSTANCE-ID")] if with_instances else []),
        *(Column("HOST"), Column("CLIENT-ID"), Column("#PARTITIONS")),
    ]
    if verbose:
        headings += [
            *(Column("CURRENT-EPOCH"), Column("CURRENT-ASSIGNMENT", 20)),
            *(Column("TARGET-EPOCH"), Column("TARGET-ASSIGNMENT", 20)),
        ]
    rows: list[list[object]] = []
    for member in sorted(group.members, key=lambda member: (member.client_id, member.member_id)):
        row: list[object] = [group.group_id, member.member_id]
        if with_instances:
            row.append(member.instance_id)
        row += [member.host, member.client_id, len(member.assignment)]
        if verbose:
            row += [member.epoch, assignment_text(member.assignment)]
            row += [group.assignment_epoch, assignment_text(member.target or ())]
        rows.append(row)
    return table(headings, rows)


def state_lines(report: GroupReport, verbose: bool) -> list[str]:
    """`describe --state`."""
    group = report.group
    where = f"{report.coordinator.address} " if report.coordinator is not None else ""
    row: list[object] = [
        group.group_id,
        f"{where} ({group.coordinator_id})",
        group.assignor,
        group.state,
    ]
    headings = list(_STATE_HEADINGS)
    if verbose:
        headings += [Column("GROUP-EPOCH"), Column("TARGET-ASSIGNMENT-EPOCH", 25)]
        row += [group.group_epoch, group.assignment_epoch]
    return table([*headings, Column("#MEMBERS", 0)], [[*row, len(group.members)]])


def history_lines(report: GroupReport, verbose: bool) -> list[str]:
    """`describe --history`: a line per rebalance, the latest last."""
    headings = (
        *(Column("GROUP"), Column("TIME", 24), Column("GENERATION", 10), Column("#MEMBERS", 8)),
        *(Column("TOOK-MS", 7), Column("WHY", 0)),
    )
    rows = [
        (
            report.group.group_id,
            time_text(event["time_ms"]),
            event["generation"],
            event["members"],
            event["time_ms"] - event["started_ms"] if event["started_ms"] >= 0 else None,
            "; ".join(_why(event, verbose)),
        )
        for event in report.history or ()
    ]
    return table(headings, rows)


class View(Enum):
    """What `describe` shows."""

    OFFSETS = "offsets"
    MEMBERS = "members"
    STATE = "state"
    HISTORY = "history"


VIEWS: Final[Mapping[View, Callable[[GroupReport, bool], list[str]]]] = {
    View.OFFSETS: offset_lines,
    View.MEMBERS: member_lines,
    View.STATE: state_lines,
    View.HISTORY: history_lines,
}


def assignment_text(partitions: Iterable[TopicPartition]) -> str:
    """`orders:0,1;payments:2`."""
    grouped = by_topic(list(partitions))
    return ";".join(f"{topic}:{','.join(map(str, indexes))}" for topic, indexes in grouped.items())


def time_text(time_ms: int) -> str:
    """A time as people and programs both read it."""
    when = datetime.fromtimestamp(time_ms / 1000, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# Names of one event that a line shows; `--verbose` and `--json` show all that the broker kept.
_NAMES_SHOWN: Final = 3


def _why(event: Mapping[str, Any], verbose: bool) -> Iterable[str]:
    if event["reason"]:
        yield event["reason"]
    for key in ("joined", "left", "timed_out", "replaced"):
        names: Sequence[str] = event[key]
        if names:
            shown = names if verbose else names[:_NAMES_SHOWN]
            more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
            yield f"{key.replace('_', ' ')}: {', '.join(shown)}{more}"
    if verbose:
        yield from event["details"]


# --- documents ------------------------------------------------------------------------------------


def document(report: GroupReport) -> dict[str, object]:
    """A group for `--json`."""
    group, coordinator = report.group, report.coordinator
    shown: dict[str, object] = {
        "group": group.group_id,
        "type": group.type.value,
        "state": group.state,
        "protocolType": group.protocol_type,
        "assignmentStrategy": group.assignor,
        "coordinator": {
            "id": group.coordinator_id,
            "host": coordinator.address.host if coordinator else None,
            "port": coordinator.address.port if coordinator else None,
        },
        "groupEpoch": group.group_epoch,
        "targetAssignmentEpoch": group.assignment_epoch,
        "members": [_member_document(member) for member in group.members],
        "offsets": [_offset_document(row) for row in report.offsets],
    }
    if report.history is not None:
        shown["history"] = list(report.history)
    return shown


def _member_document(member: GroupMember) -> dict[str, object]:
    return {
        "consumerId": member.member_id,
        "groupInstanceId": member.instance_id,
        "clientId": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "assignment": by_topic(list(member.assignment)),
        "targetAssignment": None if member.target is None else by_topic(list(member.target)),
        "upgraded": member.upgraded,
    }


def _offset_document(row: OffsetRow) -> dict[str, object]:
    committed, member = row.committed, row.member
    return {
        "topic": row.partition.topic,
        "partition": row.partition.partition,
        "currentOffset": committed.offset if committed else None,
        "leaderEpoch": committed.leader_epoch if committed else None,
        "metadata": committed.metadata if committed else None,
        "logEndOffset": row.log_end_offset,
        "lag": row.lag,
        "consumerId": member.member_id if member else None,
        "host": member.host if member else None,
        "clientId": member.client_id if member else None,
    }
