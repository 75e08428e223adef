"""Feature levels: what this release supports, and how a finalised level changes (KIP-584).

A *supported* feature is a range of levels this program can work at, one row below. A *finalised*
level is what the cluster has agreed to use; clients learn both from ApiVersions and switch
protocols by them. A feature that came with a newer release is finalised when a cluster first starts with
it; one that was taken back stays at level 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from odradek.controller.outcome import OK, Outcome, Verdict
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.metadata.records import FeatureSet, MetadataRecord


class Levels(NamedTuple):
    """The levels of a feature this program supports, and the one a new cluster starts with."""

    min: int
    max: int
    default: int


METADATA_VERSION: Final = "metadata.version"
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"

# A row appears here together with the code that makes it true: clients act on what they read.
SUPPORTED: Final[Mapping[str, Levels]] = {
    METADATA_VERSION: Levels(7, 30, 30),  # 3.3-IV3 … 4.3-IV0
    GROUP_VERSION: Levels(0, 1, 1),  # 1: consumer groups (KIP-848)
    TRANSACTION_VERSION: Levels(0, 2, 2),  # 1: newer records; 2: an epoch per transaction (KIP-890)
}


class UpgradeType(IntEnum):
    """Which way a feature may go."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """A wish to finalise a feature at a level; level 0 takes it back."""

    name: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


def default_features() -> dict[str, int]:
    """What a new cluster finalises."""
    return {name: levels.default for name, levels in SUPPORTED.items() if levels.default > 0}


def missing_features(image: MetadataImage) -> list[MetadataRecord]:
    """What a cluster that was made by an older release has not decided about yet."""
    return [
        FeatureSet(name, level)
        for name, level in default_features().items()
        if name not in image.features
    ]


def update_features(
    image: MetadataImage, updates: Sequence[FeatureUpdate], *, validate_only: bool = False
) -> Outcome[list[tuple[str, Verdict]]]:
    """Change finalised levels: all of them, or, when one is refused, none."""
    records: list[MetadataRecord] = []
    verdicts: dict[str, Verdict] = {}
    for update in updates:
        if update.name in verdicts:
            verdicts[update.name] = Verdict(Err.INVALID_REQUEST, "Duplicate feature name.")
            continue
        try:
            _check(image, update)
        except ApiError as error:
            verdicts[update.name] = Verdict.of(error)
            continue
        verdicts[update.name] = OK
        if update.level != image.features.get(update.name, 0):
            records.append(FeatureSet(update.name, update.level))
    refused = any(verdict.err for verdict in verdicts.values())
    done = () if validate_only or refused else tuple(records)
    return Outcome(done, list(verdicts.items()))


def _check(image: MetadataImage, update: FeatureUpdate) -> None:
    levels = SUPPORTED.get(update.name)
    if levels is None:
        raise _refused(
            update, f"this broker does not support it; supported: {', '.join(sorted(SUPPORTED))}."
        )
    if update.upgrade_type not in list(UpgradeType):
        raise _refused(update, f"upgrade type {update.upgrade_type} is unknown; use 1, 2 or 3.")
    if update.level < 0:
        raise _refused(update, "a level cannot be negative.")
    lowest = levels.min if update.name == METADATA_VERSION else 0
    if not lowest <= update.level <= levels.max:
        raise _refused(update, f"this broker supports levels {lowest} to {levels.max}.")
    current = image.features.get(update.name, 0)
    if update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        raise _refused(
            update, f"the level is {current} now; to go down, allow a downgrade in the request."
        )
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        raise _refused(update, f"the level is {current} now; a downgrade cannot go up.")


def _refused(update: FeatureUpdate, reason: str) -> ApiError:
    return ApiError(
        Err.INVALID_UPDATE_VERSION,
        f"Feature {update.name} cannot be set to level {update.level}: {reason}",
    )
