"""Every API key leads to its two classes, and an API's module is imported only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from odradek.protocol import registry
from odradek.protocol.api_keys import ApiKey


@pytest.mark.parametrize("key", list(ApiKey), ids=lambda key: key.name)
def test_request_and_response_share_key_versions_and_flexibility(key: ApiKey) -> None:
    request, response = registry.request_type(key), registry.response_type(key)
    assert request.API_KEY == response.API_KEY == key
    assert request.VERSIONS == response.VERSIONS == registry.api_versions(key)
    assert request.FLEXIBLE_FROM == response.FLEXIBLE_FROM
    assert request.__name__.removesuffix("Request") == response.__name__.removesuffix("Response")


def test_an_unknown_key_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="999"):
        registry.request_type(999)


def test_modules_are_imported_on_demand() -> None:
    code = (
        "import sys; from odradek.protocol import codec, headers, registry\n"
        "headers.response_header(3, 9, 1)\n"
        "print([m for m in sys.modules if m.startswith('odradek.protocol.messages.')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "['odradek.protocol.messages.metadata']"
