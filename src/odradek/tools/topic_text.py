"""How `odradek topics describe` words a topic: the labels of kafka-topics, or a JSON document.
Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from odradek.client import ConfigEntry, ConfigSource, Partition, Topic
from odradek.types import uuid_to_text

TopicConfigs: TypeAlias = Mapping[str, ConfigEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """What `describe` was asked to leave out; nothing set shows all."""

    under_replicated: bool = False
    unavailable: bool = False
    under_min_isr: bool = False
    at_min_isr: bool = False
    overrides_only: bool = False

    @property
    def some_partitions(self) -> bool:
        """Whether only partitions in some state are asked for, without the topics' own lines."""
        return self.under_replicated or self.unavailable or self.under_min_isr or self.at_min_isr

    def wants(self, partition: Partition, min_isr: int, live: Collection[int]) -> bool:
        """Whether a partition is in a state that was asked for."""
        if not self.some_partitions:
            return not self.overrides_only
        in_sync = len(partition.isr)
        return (
            (self.under_replicated and partition.under_replicated)
            or (self.unavailable and partition.leader not in live)
            or (self.under_min_isr and in_sync < min_isr)
            or (self.at_min_isr and in_sync == min_isr)
        )


def overrides(configs: TopicConfigs) -> dict[str, str]:
    """The settings that are not the built-in defaults, as kafka-topics shows them."""
    return {
        name: entry.value or ""
        for name, entry in configs.items()
        if entry.source is not ConfigSource.DEFAULT_CONFIG
    }


def describe_lines(
    topic: Topic, configs: TopicConfigs, show: Show, live: Collection[int]
) -> Iterator[str]:
    """A topic's line, then a line per partition."""
    own = overrides(configs)
    if show.overrides_only and not _has_own(configs):
        return
    if not show.some_partitions:
        yield "\t".join(
            (
                f"Topic: {topic.name}",
                f"TopicId: {uuid_to_text(topic.topic_id)}",
                f"PartitionCount: {len(topic.partitions)}",
                f"ReplicationFactor: {topic.replication_factor}",
                "Configs: " + ",".join(f"{key}={value}" for key, value in own.items()),
            )
        )
    for partition in topic.partitions:
        if show.wants(partition, _min_isr(configs), live):
            yield "\t" + "\t".join(
                (
                    f"Topic: {topic.name}",
                    f"Partition: {partition.index}",
                    f"Leader: {partition.leader if partition.leader >= 0 else 'none'}",
                    f"Replicas: {_ids(partition.replicas)}",
                    f"Isr: {_ids(partition.isr)}",
                )
            )


def topic_document(
    topic: Topic, configs: TopicConfigs, show: Show, live: Collection[int]
) -> dict[str, object]:
    """A topic for `--json`."""
    return {
        "topic": topic.name,
        "topicId": uuid_to_text(topic.topic_id),
        "internal": topic.internal,
        "partitionCount": len(topic.partitions),
        "replicationFactor": topic.replication_factor,
        "configs": overrides(configs),
        "partitions": [
            {
                "partition": partition.index,
                "leader": partition.leader,
                "leaderEpoch": partition.leader_epoch,
                "replicas": list(partition.replicas),
                "isr": list(partition.isr),
                "offlineReplicas": list(partition.offline),
            }
            for partition in topic.partitions
            if show.overrides_only or show.wants(partition, _min_isr(configs), live)
        ],
    }


def _has_own(configs: TopicConfigs) -> bool:
    return any(entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG for entry in configs.values())


def _min_isr(configs: TopicConfigs) -> int:
    entry = configs.get("min.insync.replicas")
    return int(entry.value) if entry is not None and entry.value else 1


def _ids(node_ids: Iterable[int]) -> str:
    return ",".join(str(node_id) for node_id in node_ids)
