"""The bytes of topics inside Metadata replies, encoded once and reused until the topic changes.

Clients ask for everything they know every few minutes, and at every error. A topic of the image is an
immutable value: as long as it is the same object, and the same brokers are alive, its bytes are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from odradek.errors import Err
from odradek.metadata.image import BrokerRegistration, MetadataImage, TopicImage
from odradek.protocol.codec import encode, encode_part
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.primitives import uvarint
from odradek.server.internal_topics import is_internal


class TopicBytes:
    """A cache for one broker; owned by the loop's thread. As large as the replies it serves."""

    def __init__(self) -> None:
        self._brokers: Mapping[int, BrokerRegistration] = {}
        # By version and topic name: the topic as it was encoded, and its bytes.
        self._known: dict[int, dict[str, tuple[TopicImage, bytes]]] = {}

    def encode_all(self, response: MetadataResponse, image: MetadataImage, version: int) -> bytes:
        """The body of `response`, which has no topics yet, with every topic of the image."""
        assert not response.topics
        return splice_topics(encode(response, version), self._all(image, version), version)

    def _all(self, image: MetadataImage, version: int) -> list[bytes]:
        if image.brokers is not self._brokers:
            self._known.clear()
            self._brokers = image.brokers
        known = self._known.setdefault(version, {})
        if len(known) > 2 * len(image.topics):
            known.clear()  # mostly topics that are gone
        return [self._of(topic, image, known, version) for topic in image.topics.values()]

    def _of(
        self,
        topic: TopicImage,
        image: MetadataImage,
        known: dict[str, tuple[TopicImage, bytes]],
        version: int,
    ) -> bytes:
        entry = known.get(topic.name)
        if entry is None or entry[0] is not topic:
            encoded = encode_part(describe_topic(topic, image), version, MetadataResponse)
            entry = known[topic.name] = (topic, encoded)
        return entry[1]


def splice_topics(body: bytes, topics: list[bytes], version: int) -> bytes:
    """Put encoded topics into the body of a MetadataResponse that has none.

    Behind the topics stand cluster_authorized_operations (v8 to 10), error_code (v13) and, in flexible
    versions, an empty tagged section; the empty list itself takes four bytes, or one.
    """
    flexible = MetadataResponse.is_flexible(version)
    tail = (4 if 8 <= version <= 10 else 0) + (2 if version >= 13 else 0) + (1 if flexible else 0)
    end = len(body) - tail
    start = end - (1 if flexible else 4)
    count = uvarint(len(topics) + 1) if flexible else len(topics).to_bytes(4, "big")
    return b"".join((body[:start], count, *topics, body[end:]))


def describe_topic(topic: TopicImage, image: MetadataImage) -> MetadataResponseTopic:
    """A topic as Metadata tells it."""
    alive = image.brokers
    return MetadataResponseTopic(
        error_code=Err.NONE,
        name=topic.name,
        topic_id=topic.id,
        is_internal=is_internal(topic.name),
        partitions=[
            MetadataResponsePartition(
                error_code=Err.NONE if partition.leader in alive else Err.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                offline_replicas=[r for r in partition.replicas if r not in alive],
            )
            for index, partition in enumerate(topic.partitions)
        ],
    )
