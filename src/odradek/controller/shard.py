"""The controller's decisions, in one place: image in, records and a reply out.

Pure and without state of its own (but for a memo): the same image, settings and request give the
same outcome, but for the ids of new topics, whose source is handed in. `metadata.delta.apply`
alone changes the image, so loading equals running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from odradek.config.alter import AlterOp
from odradek.config.broker import BrokerConfig
from odradek.config.resolve import broker_config
from odradek.controller import features, partitions, producer_ids, settings, topics
from odradek.controller.features import FeatureUpdate
from odradek.controller.outcome import Outcome, Verdict
from odradek.controller.partitions import MorePartitions
from odradek.controller.producer_ids import ProducerIdBlock
from odradek.controller.topics import (
    CreatedTopic,
    DeletedTopic,
    NewTopic,
    TopicRef,
)
from odradek.metadata.image import ConfigResource, MetadataImage


class Shard:
    """The decisions under one broker's settings."""

    def __init__(self, config: BrokerConfig, new_id: Callable[[], UUID]) -> None:
        self._config = config
        self._new_id = new_id
        self._cached: tuple[Mapping[str, str], BrokerConfig] = ({}, config)

    def create_topics(
        self, image: MetadataImage, wanted: Sequence[NewTopic], *, validate_only: bool
    ) -> Outcome[list[CreatedTopic]]:
        """Create topics; one verdict each."""
        return topics.create_topics(
            image, self._effective(image), wanted, self._new_id, validate_only=validate_only
        )

    def delete_topics(
        self, image: MetadataImage, refs: Sequence[TopicRef]
    ) -> Outcome[list[DeletedTopic]]:
        """Delete topics by name or id; one verdict each."""
        return topics.delete_topics(image, self._effective(image), refs)

    def create_partitions(
        self, image: MetadataImage, requests: Sequence[MorePartitions], *, validate_only: bool
    ) -> Outcome[list[tuple[str, Verdict]]]:
        """Add partitions to topics; one verdict each."""
        return partitions.create_partitions(image, requests, validate_only=validate_only)

    def alter_configs(
        self,
        image: MetadataImage,
        resources: Sequence[tuple[ConfigResource, Sequence[tuple[str, str | None]]]],
        *,
        validate_only: bool,
    ) -> Outcome[list[tuple[ConfigResource, Verdict]]]:
        """Replace all overrides of each resource."""
        return settings.alter_configs(
            image, self._effective(image), resources, validate_only=validate_only
        )

    def incremental_alter_configs(
        self,
        image: MetadataImage,
        resources: Sequence[tuple[ConfigResource, Sequence[AlterOp]]],
        *,
        validate_only: bool,
    ) -> Outcome[list[tuple[ConfigResource, Verdict]]]:
        """Change single overrides of each resource."""
        return settings.incremental_alter_configs(
            image, self._effective(image), resources, validate_only=validate_only
        )

    def update_features(
        self, image: MetadataImage, updates: Sequence[FeatureUpdate], *, validate_only: bool
    ) -> Outcome[list[tuple[str, Verdict]]]:
        """Change finalised feature levels, all or none."""
        return features.update_features(image, updates, validate_only=validate_only)

    def allocate_producer_ids(
        self, image: MetadataImage, broker_id: int
    ) -> Outcome[ProducerIdBlock]:
        """The next block of producer ids, for a broker."""
        return producer_ids.allocate_producer_ids(image, broker_id)

    def _effective(self, image: MetadataImage) -> BrokerConfig:
        """The settings with what was changed for all brokers since."""
        cluster = image.broker_overrides.get(None, {})
        known, config = self._cached
        if cluster != known:
            config = broker_config(self._config, cluster=cluster, broker={})
            self._cached = (cluster, config)
        return config
