"""A reader may conclude: feature levels move within what is supported, all of a request or none."""

from __future__ import annotations

import pytest

from odradek.controller.features import (
    METADATA_VERSION,
    SUPPORTED,
    FeatureUpdate,
    UpgradeType,
    default_features,
    missing_features,
    update_features,
)
from odradek.controller.producer_ids import allocate_producer_ids
from odradek.errors import Err
from odradek.metadata import MetadataImage, apply

IMAGE = MetadataImage(features=default_features())
NEWEST = SUPPORTED[METADATA_VERSION].max


def test_a_level_goes_down_only_when_that_is_allowed() -> None:
    lower = FeatureUpdate(METADATA_VERSION, NEWEST - 1)
    records, ((_, verdict),) = update_features(IMAGE, [lower])
    assert verdict.err is Err.INVALID_UPDATE_VERSION
    assert not records
    records, _ = update_features(IMAGE, [lower._replace(upgrade_type=UpgradeType.SAFE_DOWNGRADE)])
    image, delta = apply(IMAGE, records)
    assert image.features == IMAGE.features | {METADATA_VERSION: NEWEST - 1}
    assert delta.features_changed


@pytest.mark.parametrize(
    "update",
    [
        FeatureUpdate("nope", 1),
        FeatureUpdate(METADATA_VERSION, NEWEST + 1),
        FeatureUpdate(METADATA_VERSION, 0, UpgradeType.UNSAFE_DOWNGRADE),
        FeatureUpdate(METADATA_VERSION, -1, UpgradeType.UNSAFE_DOWNGRADE),
        FeatureUpdate(METADATA_VERSION, NEWEST, 9),
    ],
)
def test_what_is_not_supported_stops_the_whole_request(update: FeatureUpdate) -> None:
    records, reply = update_features(IMAGE, [update])
    assert not records
    assert reply[0][1].err is Err.INVALID_UPDATE_VERSION
    assert reply[0][1].message


def test_the_present_level_and_validate_only_change_nothing() -> None:
    records, ((_, verdict),) = update_features(IMAGE, [FeatureUpdate(METADATA_VERSION, NEWEST)])
    assert (records, verdict.err) == ((), Err.NONE)
    down = FeatureUpdate(METADATA_VERSION, NEWEST - 1, UpgradeType.SAFE_DOWNGRADE)
    records, ((_, verdict),) = update_features(IMAGE, [down], validate_only=True)
    assert (records, verdict.err) == ((), Err.NONE)


def test_producer_id_blocks_follow_each_other() -> None:
    records, first = allocate_producer_ids(MetadataImage(), 1)
    image, _ = apply(MetadataImage(), records)
    _, second = allocate_producer_ids(image, 2)
    assert (first.first, first.count) == (0, 1000)
    assert (second.first, second.count) == (1000, 1000)


def test_a_cluster_of_an_older_release_gets_what_is_new() -> None:
    """Once: what was taken back to level 0 has been decided about."""
    older = MetadataImage(features={METADATA_VERSION: 20, "group.version": 0})
    after, _ = apply(older, missing_features(older))
    assert after.features == default_features() | older.features
    assert missing_features(after) == []
