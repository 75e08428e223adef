"""UpdateFeatures: finalise feature levels, all of the request's or none (KIP-584)."""

from __future__ import annotations

from typing import Final

from odradek.controller.features import FeatureUpdate, UpgradeType
from odradek.controller.outcome import OK
from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from odradek.server.context import Context
from odradek.server.registry import handles

_UPGRADE_TYPE_FROM: Final = 1


@handles(ApiKey.UPDATE_FEATURES, versions=range(3))
async def update_features(
    context: Context, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    """Change levels, or with validate_only say what would happen."""
    verdicts = await context.controller.update_features(
        [_wanted(update, context.api_version) for update in request.feature_updates],
        validate_only=request.validate_only,
    )
    refused = next((verdict for _, verdict in verdicts if verdict.err is not Err.NONE), OK)
    return UpdateFeaturesResponse(
        error_code=refused.err,
        error_message=refused.message,
        results=[
            UpdatableFeatureResult(
                feature=name, error_code=verdict.err, error_message=verdict.message
            )
            for name, verdict in verdicts
        ],
    )


def _wanted(update: FeatureUpdateKey, version: int) -> FeatureUpdate:
    upgrade_type = update.upgrade_type
    if version < _UPGRADE_TYPE_FROM:
        down = update.allow_downgrade
        upgrade_type = UpgradeType.SAFE_DOWNGRADE if down else UpgradeType.UPGRADE
    return FeatureUpdate(update.feature, update.max_version_level, upgrade_type)
