"""Which committed offsets, and which groups, have been silent for too long (pure).

An offset expires `offsets.retention.minutes` after the group lost its last member, or, where that is not
known (simple consumers, topics that a living group no longer reads), after it was committed. A commit of
an old client may carry its own time instead. Offsets of a topic that the group reads stay, and so do
those that an open transaction is about to replace. A group without members and offsets goes away.
"""

from __future__ import annotations

from typing import Final

from odradek.coordinators.groups.group import Group, GroupTable, GroupType
from odradek.coordinators.groups.offsets import OffsetAndMetadata, Offsets
from odradek.coordinators.groups.records import NO_EXPIRY, offset_tombstone
from odradek.coordinators.shard import CoordinatorRecord

# What one run removes: one or two batches. The rest goes with the next one, soon after.
RECORDS_PER_RUN_MAX: Final = 2000


def expired(
    table: GroupTable, offsets: Offsets, now_ms: int, retention_ms: int
) -> list[CoordinatorRecord]:
    """Tombstones for what has expired, up to a limit."""
    records: list[CoordinatorRecord] = []
    for group in table:
        records += _expired_of_group(group, offsets, now_ms, retention_ms)
        if len(records) >= RECORDS_PER_RUN_MAX:
            break
    return records


def _expired_of_group(
    group: Group, offsets: Offsets, now_ms: int, retention_ms: int
) -> list[CoordinatorRecord]:
    group_id = group.group_id
    records: list[CoordinatorRecord] = []
    kept = offsets.has_open_transaction(group_id)
    may_expire = _may_expire(group)
    empty_since_ms = group.expired_since() if group.is_empty else None
    for topic, partition, committed in offsets.of_group(group_id):
        if (
            may_expire
            and _is_over(committed, empty_since_ms, now_ms, retention_ms)
            and not group.is_subscribed_to(topic)
            and not offsets.is_pending(group_id, topic, partition)
        ):
            records.append(offset_tombstone(group_id, topic, partition))
        else:
            kept = True
    if not kept and group.is_empty:
        records += group.tombstones()
    return records


def _may_expire(group: Group) -> bool:
    """While a classic group rebalances, or is not about topics at all, nobody knows what it reads."""
    if group.is_empty or group.type is GroupType.CONSUMER:
        return True
    return group.protocol_type == "consumer" and group.state_name == "Stable"


def _is_over(
    committed: OffsetAndMetadata, empty_since_ms: int | None, now_ms: int, retention_ms: int
) -> bool:
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp_ms
    since_ms = committed.commit_timestamp_ms if empty_since_ms is None else empty_since_ms
    return now_ms - since_ms >= retention_ms
