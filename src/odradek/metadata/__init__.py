"""What the cluster agrees on: the metadata image, the records that change it, and deltas."""

from odradek.metadata.delta import Delta, apply
from odradek.metadata.image import (
    NO_LEADER,
    BrokerRegistration,
    ConfigResource,
    Endpoint,
    MetadataImage,
    PartitionImage,
    ResourceType,
    TopicImage,
)
from odradek.metadata.records import MetadataRecord

__all__ = [
    "NO_LEADER",
    "BrokerRegistration",
    "ConfigResource",
    "Delta",
    "Endpoint",
    "MetadataImage",
    "MetadataRecord",
    "PartitionImage",
    "ResourceType",
    "TopicImage",
    "apply",
]
