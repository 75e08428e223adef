"""What `/groups` and `/groups/<id>` show: the groups this broker coordinates, and why they rebalanced.

Made on the loop's thread from the shards' own state. The history of rebalances is soft: it begins with
this process, or with the moment this broker became the group's coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from odradek.client.group_values import GroupDescription, classic_group, consumer_group
from odradek.client.offsets import by_topic
from odradek.coordinators.group_coordinator import GroupCoordinator
from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.consumer_group import ConsumerGroup
from odradek.types import TopicPartition


def describe_groups(groups: GroupCoordinator) -> Mapping[str, Any]:
    """A line per group, and how much there is to read about it."""
    return {
        "groups": [
            {
                "group": group.group_id,
                "type": group.type.value,
                "state": group.state_name,
                "protocol_type": group.protocol_type,
                "members": len(group.members),
                "rebalances": len(group.history),
            }
            for _, shard in groups.runtime.shards()
            for group in shard.table
            if isinstance(group, ClassicGroup | ConsumerGroup)
        ],
        "loading": groups.runtime.is_loading(),
    }


def describe_group(
    groups: GroupCoordinator, node_id: int, group_id: str
) -> Mapping[str, Any] | None:
    """One group with members, assignment and history; None when it is not here."""
    for _, shard in groups.runtime.shards():
        group = shard.table.get(group_id)
        if isinstance(group, ClassicGroup):
            return _page(classic_group(group.describe(), node_id), group, group.generation)
        if isinstance(group, ConsumerGroup):
            described = consumer_group(shard.consumer.describe(group_id), node_id)
            return _page(described, group, group.group_epoch)
    return None


def _page(
    described: GroupDescription, group: ClassicGroup | ConsumerGroup, generation: int
) -> Mapping[str, Any]:
    return {
        "group": described.group_id,
        "type": described.type.value,
        "state": described.state,
        "protocol_type": described.protocol_type,
        "assignor": described.assignor,
        "generation": generation,
        "assignment_epoch": described.assignment_epoch,
        "members": [
            {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "epoch": member.epoch,
                "assignment": _by_topic(member.assignment),
                "target": None if member.target is None else _by_topic(member.target),
            }
            for member in described.members
        ],
        "history": [asdict(event) for event in group.history],
    }


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    return by_topic(list(partitions))
