"""ApiVersions: what this broker serves, and its feature levels.

Answered at every version a client tries: `dispatch` turns an unknown one into version 0 with
UNSUPPORTED_VERSION and the same list, as every client expects. Only APIs that are served are listed.
"""

from __future__ import annotations

import re
from typing import Final

from odradek.controller.features import SUPPORTED
from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from odradek.server.context import Context
from odradek.server.registry import handles, load_handlers

# KIP-511: what a client may call its library and version.
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
# Before v4 a feature whose lowest level is 0 cannot be listed: old clients refuse the whole answer.
_LEVEL_ZERO_FROM: Final = 4


@handles(ApiKey.API_VERSIONS, versions=range(5))
def api_versions(context: Context, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
    """List what is served."""
    version = context.api_version
    if request is not None and version >= 3 and not _is_named(request):
        return ApiVersionsResponse(error_code=Err.INVALID_REQUEST)
    response = ApiVersionsResponse(
        api_keys=[
            ApiVersion(
                api_key=handler.api_key,
                min_version=handler.advertised_from,
                max_version=handler.versions[-1],
            )
            for handler in load_handlers().values()
        ]
    )
    if version >= 3:
        image = context.image
        response.supported_features = [
            SupportedFeatureKey(name=name, min_version=levels.min, max_version=levels.max)
            for name, levels in SUPPORTED.items()
            if levels.min > 0 or version >= _LEVEL_ZERO_FROM
        ]
        response.finalized_features_epoch = image.features_epoch
        response.finalized_features = [
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in image.features.items()
            if level > 0
        ]
    return response


def _is_named(request: ApiVersionsRequest) -> bool:
    return bool(
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    )
