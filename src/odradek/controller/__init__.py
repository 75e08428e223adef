"""The controller: decides about topics, settings and leaders, and publishes the metadata."""

from odradek.controller.features import SUPPORTED, FeatureUpdate
from odradek.controller.outcome import Outcome, Verdict
from odradek.controller.partitions import MorePartitions
from odradek.controller.producer_ids import ProducerIdBlock
from odradek.controller.shell import Controller
from odradek.controller.topics import (
    CreatedTopic,
    DeletedTopic,
    NewTopic,
    TopicRef,
)

__all__ = [
    "SUPPORTED",
    "Controller",
    "CreatedTopic",
    "DeletedTopic",
    "FeatureUpdate",
    "MorePartitions",
    "NewTopic",
    "Outcome",
    "ProducerIdBlock",
    "TopicRef",
    "Verdict",
]
