"""Broker addresses are read as people write them, and refused with words that help."""

from __future__ import annotations

import pytest

from odradek.client.addresses import Address, parse_addresses
from odradek.errors import ApiError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", [Address("localhost", 9092)]),
        ("a:1, b:2,a:1", [Address("a", 1), Address("b", 2)]),
        ("PLAINTEXT://h:9093", [Address("h", 9093)]),
        ("[::1]:9092", [Address("::1", 9092)]),
        ("only-a-host", [Address("only-a-host", 9092)]),
    ],
)
def test_addresses_are_read(text: str, expected: list[Address]) -> None:
    assert list(parse_addresses(text)) == expected


@pytest.mark.parametrize("text", ["", " , ", "h:0", "h:70000", "h:x", ":9092", "::1:9092", "[::1"])
def test_what_is_no_address_is_refused_by_name(text: str) -> None:
    with pytest.raises(ApiError, match="broker address"):
        parse_addresses(text)


def test_an_ipv6_address_prints_so_that_it_can_be_read_again() -> None:
    assert parse_addresses(str(Address("::1", 5))) == (Address("::1", 5),)
