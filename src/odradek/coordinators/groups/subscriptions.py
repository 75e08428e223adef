"""What members subscribe to, seen through the metadata: topics that exist, patterns, and their hash.

A member names topics, or a pattern, or both. A group notices that the topics behind its subscriptions changed
(created, deleted, grown, other racks) by one number: the hash over all of them, which stands in the record
of its epoch. Apache Kafka does the same with another hash function; the number is compared with earlier ones
of the same group only, so a group that moves from one to the other is assigned anew once.

Pure; `Patterns` only remembers what it has compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final
from uuid import UUID

from odradek.coordinators.groups.consumer_group import ResolvedRegex
from odradek.coordinators.groups.consumer_members import Member
from odradek.coordinators.groups.topic_regex import TopicRegex
from odradek.coordinators.groups.topic_regex_syntax import InvalidRegexError
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage, TopicImage

# The hash of a group whose topics do not exist.
NO_TOPICS_HASH: Final = 0
# Compiled patterns kept; more live in use at once than any sensible shard has.
MAX_PATTERNS: Final = 1000


class Patterns:
    """The compiled patterns of one shard."""

    __slots__ = ("_compiled",)

    def __init__(self) -> None:
        self._compiled: dict[str, TopicRegex] = {}

    def compile(self, regex: str) -> TopicRegex:
        """The pattern; ApiError(INVALID_REGULAR_EXPRESSION) when it is none."""
        compiled = self._compiled.get(regex)
        if compiled is None:
            try:
                compiled = TopicRegex(regex)
            except InvalidRegexError as error:
                raise ApiError(
                    Err.INVALID_REGULAR_EXPRESSION, f"`{regex}` is not a valid pattern: {error}"
                ) from error
            if len(self._compiled) >= MAX_PATTERNS:
                self._compiled.clear()
            self._compiled[regex] = compiled
        return compiled

    def resolve(self, regex: str, image: MetadataImage) -> frozenset[str]:
        """The topics whose whole name matches."""
        matches = self.compile(regex).matches
        return frozenset(name for name in image.topics if matches(name))


def topic_names(member: Member, resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """All topics that a member wants, whether they exist or not."""
    names = member.subscribed_topic_names
    if member.subscribed_topic_regex in resolved:
        names = names | resolved[member.subscribed_topic_regex].topics
    return names


def topic_ids(names: Iterable[str], image: MetadataImage) -> frozenset[UUID]:
    """The ids of those topics that exist."""
    topics = image.topics
    return frozenset(topics[name].id for name in names if name in topics)


def metadata_hash(names: Iterable[str], image: MetadataImage) -> int:
    """One number for what these topics are now: ids, partitions, and the racks that hold them."""
    topics = [image.topics[name] for name in sorted(names) if name in image.topics]
    if not topics:
        return NO_TOPICS_HASH
    racks = {b.id: b.rack for b in image.brokers.values() if b.rack is not None}
    digest = blake2b(digest_size=8)
    for topic in topics:
        digest.update(topic.id.bytes)
        digest.update(len(topic.partitions).to_bytes(4, "big"))
        if racks:
            digest.update(_racks(topic, racks))
    return int.from_bytes(digest.digest(), "big", signed=True)


def _racks(topic: TopicImage, racks: Mapping[int, str]) -> bytes:
    per_partition = (
        "\0".join(sorted(racks[r] for r in partition.replicas if r in racks))
        for partition in topic.partitions
    )
    return "\1".join(per_partition).encode()
