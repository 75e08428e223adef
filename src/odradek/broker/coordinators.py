"""Builds the coordinators: their shards, over their internal topics, on this broker's parts."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from odradek.config.broker import BrokerConfig
from odradek.coordinators.group_coordinator import GroupCoordinator
from odradek.coordinators.groups.records import GROUP_RECORDS
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.runtime import CoordinatorRuntime
from odradek.coordinators.shard import ShardTimers
from odradek.interfaces import Background, Clock, Timers
from odradek.replication.replica_manager import ReplicaManager
from odradek.server.internal_topics import CONSUMER_OFFSETS


def group_coordinator(
    config: Callable[[], BrokerConfig],
    node_id: int,
    replicas: ReplicaManager,
    clock: Clock,
    timers: Timers,
    background: Background,
) -> GroupCoordinator:
    """The coordinator of groups; it serves once it has been told the metadata."""

    def new_shard(partition: int, shard_timers: ShardTimers) -> GroupShard:
        return GroupShard(config, clock.now_ms, shard_timers, uuid4)

    return GroupCoordinator(
        CoordinatorRuntime(
            topic=CONSUMER_OFFSETS,
            node_id=node_id,
            new_shard=new_shard,
            record_format=GROUP_RECORDS,
            replicas=replicas,
            clock=clock,
            timers=timers,
            background=background,
            load_bytes=lambda: config().offsets_load_buffer_size,
            commit_timeout_ms=lambda: config().offsets_commit_timeout_ms,
            codec=lambda: config().offsets_topic_compression_codec,
        )
    )
