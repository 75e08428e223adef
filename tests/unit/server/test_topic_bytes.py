"""Metadata replies joined from cached bytes are the replies that would have been encoded."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from odradek.metadata.image import BrokerRegistration, MetadataImage, PartitionImage, TopicImage
from odradek.protocol.codec import encode
from odradek.protocol.messages.metadata import MetadataResponse
from odradek.server.topic_bytes import TopicBytes, describe_topic


def _topic(number: int, partitions: int) -> TopicImage:
    state = PartitionImage((1,), (1,), 1)
    return TopicImage(f"topic-{number}", UUID(int=number), (state,) * partitions)


def _image(count: int) -> MetadataImage:
    topics = [_topic(number, number % 3 + 1) for number in range(count)]
    return MetadataImage(
        cluster_id="cluster",
        controller_id=1,
        brokers={1: BrokerRegistration(1, {})},
        topics={topic.name: topic for topic in topics},
        topics_by_id={topic.id: topic for topic in topics},
    )


def _response(image: MetadataImage) -> MetadataResponse:
    return MetadataResponse(cluster_id=image.cluster_id, controller_id=1)


def _declared(image: MetadataImage, version: int) -> bytes:
    response = _response(image)
    response.topics = [describe_topic(topic, image) for topic in image.topics.values()]
    return encode(response, version)


@pytest.mark.parametrize("version", MetadataResponse.VERSIONS)
@pytest.mark.parametrize("count", [0, 1, 200])
def test_joined_bytes_are_the_declared_ones(version: int, count: int) -> None:
    """Every version, first from nothing and then from the cache, byte for byte."""
    image = _image(count)
    cache = TopicBytes()
    for _ in range(2):
        assert cache.encode_all(_response(image), image, version) == _declared(image, version)


def test_changed_and_removed_topics_are_noticed() -> None:
    """A topic that changed, one that went, and a broker that died change the reply."""
    image = _image(5)
    cache = TopicBytes()
    cache.encode_all(_response(image), image, 12)
    topics = dict(image.topics)
    del topics["topic-0"]
    topics["topic-1"] = replace(topics["topic-1"], partitions=())
    changed = replace(image, topics=topics)
    assert cache.encode_all(_response(changed), changed, 12) == _declared(changed, 12)
    alone = replace(changed, brokers={})
    assert cache.encode_all(_response(alone), alone, 12) == _declared(alone, 12)
