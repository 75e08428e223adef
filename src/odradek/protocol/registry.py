"""From an API key to its message classes.

An API's module is imported when one of its messages is first asked for, so that a client that
speaks five APIs does not pay for eighty. Names of modules and classes follow from the ``ApiKey``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.fields import Message


@cache
def request_type(api_key: int) -> type[Message]:
    """The request class of an API; ValueError for an unknown key."""
    return _message_type(ApiKey(api_key), "Request")


@cache
def response_type(api_key: int) -> type[Message]:
    """The response class of an API; ValueError for an unknown key."""
    return _message_type(ApiKey(api_key), "Response")


def api_versions(api_key: int) -> range:
    """The versions of an API that are declared here; a server may serve fewer."""
    return request_type(api_key).VERSIONS


def _message_type(api_key: ApiKey, suffix: str) -> type[Message]:
    module = import_module(f"odradek.protocol.messages.{api_key.name.lower()}")
    name = "".join(word.capitalize() for word in api_key.name.split("_")) + suffix
    found: type[Message] = getattr(module, name)
    assert api_key == found.API_KEY, name
    return found
