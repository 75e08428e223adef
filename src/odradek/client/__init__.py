"""Our own small wire client: connections, metadata, routing, retries; `aio.Client` and
`sync.Client`.

For administration and for brokers among themselves. People's own programs use any Kafka client.
"""

from __future__ import annotations

from odradek.client.addresses import Address, parse_addresses
from odradek.client.calls import require
from odradek.client.cluster import Broker, Cluster, Partition, Topic
from odradek.client.configs import (
    AlterOp,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceKind,
)
from odradek.client.group_values import (
    CommittedOffset,
    GroupDescription,
    GroupMember,
    GroupType,
    ListedGroup,
)
from odradek.client.offsets import TO_THE_END, Isolation, LowWatermark, OffsetSpec
from odradek.client.settings import ClientSettings
from odradek.client.targets import (
    ANY_BROKER,
    CONTROLLER,
    Coordinator,
    CoordinatorKind,
    Leader,
    Node,
    Target,
)
from odradek.client.topics import CreatedTopic, NewPartitions, NewTopic
from odradek.client.transactions import ListedTransaction, TransactionDescription

__all__ = [
    "ANY_BROKER",
    "Address",
    "AlterOp",
    "Broker",
    "CONTROLLER",
    "Cluster",
    "ClientSettings",
    "CommittedOffset",
    "ConfigChange",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "Coordinator",
    "CoordinatorKind",
    "CreatedTopic",
    "GroupDescription",
    "GroupMember",
    "GroupType",
    "Isolation",
    "Leader",
    "ListedGroup",
    "ListedTransaction",
    "LowWatermark",
    "NewPartitions",
    "NewTopic",
    "Node",
    "OffsetSpec",
    "Partition",
    "ResourceKind",
    "TO_THE_END",
    "Target",
    "Topic",
    "TransactionDescription",
    "parse_addresses",
    "require",
]
