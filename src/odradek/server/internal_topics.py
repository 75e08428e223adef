"""Topics that belong to the broker: their names, and how they are made on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.config.broker import BrokerConfig
from odradek.controller.topics import NewTopic
from odradek.errors import ApiError, Err

if TYPE_CHECKING:
    from odradek.controller.shell import Controller

CONSUMER_OFFSETS: Final = "__consumer_offsets"
TRANSACTION_STATE: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, "__share_group_state"})
# The embedded store serves one broker; the configured factors are for clusters.
_REPLICATION_FACTOR: Final = 1


def is_internal(topic: str) -> bool:
    """Whether clients are told to leave this topic alone."""
    return topic in INTERNAL_TOPICS


def new_topic(name: str, config: BrokerConfig) -> NewTopic:
    """The topic that somebody names for the first time: internal ones have settings of their own."""
    if name == CONSUMER_OFFSETS:
        return NewTopic(
            name,
            config.offsets_topic_num_partitions,
            _REPLICATION_FACTOR,
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
            },
        )
    if name == TRANSACTION_STATE:
        return NewTopic(
            name,
            config.transaction_state_log_num_partitions,
            _REPLICATION_FACTOR,
            configs={
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(
                    min(config.transaction_state_log_min_isr, _REPLICATION_FACTOR)
                ),
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
                "unclean.leader.election.enable": "false",
            },
        )
    return NewTopic(name)


async def ensure_internal_topic(controller: Controller, config: BrokerConfig, name: str) -> None:
    """Create the topic unless it is there; ApiError(COORDINATOR_NOT_AVAILABLE) says why not."""
    if name in controller.image.topics:
        return
    (created,) = await controller.create_topics([new_topic(name, config)])
    if created.verdict.err not in (Err.NONE, Err.TOPIC_ALREADY_EXISTS):
        raise ApiError(
            Err.COORDINATOR_NOT_AVAILABLE, f"{name} cannot be created: {created.verdict.message}"
        )
