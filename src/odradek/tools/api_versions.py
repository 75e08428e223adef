"""`odradek api-versions`: which APIs a broker speaks, in which versions, and which we would use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import typer

from odradek.protocol import registry
from odradek.protocol.api_keys import ApiKey
from odradek.tools.console import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    BootstrapServer,
    connect,
    examples,
    print_json,
)

EPILOG: Final = examples("odradek api-versions", "odradek api-versions --broker 2 --json")


def api_versions(
    broker: Annotated[
        int | None, typer.Option("--broker", help="Ask the broker with this id; default any.")
    ] = None,
    bootstrap_server: BootstrapServer = DEFAULT_BOOTSTRAP,
    as_json: AsJson = False,
) -> None:
    """Show the APIs and versions that a broker offers."""
    with connect(bootstrap_server) as client:
        address, versions = client.api_versions(broker)
    rows = [
        {
            "apiKey": key,
            "name": name_of(key),
            "minVersion": offered[0],
            "maxVersion": offered[-1],
            "usable": usable_of(key, offered),
        }
        for key, offered in sorted(_offered(versions).items())
    ]
    if as_json:
        print_json({"broker": str(address), "apis": rows})
        return
    lines = [
        f"\t{row['name']}({row['apiKey']}): {row['minVersion']} to {row['maxVersion']} "
        f"[usable: {'none' if row['usable'] is None else row['usable']}]"
        for row in rows
    ]
    typer.echo(f"{address} -> (\n" + ",\n".join(lines) + "\n)")


def name_of(key: int) -> str:
    """An API's name as documents write it."""
    if key not in ApiKey._value2member_map_:
        return "UNKNOWN"
    return registry.request_type(key).__name__.removesuffix("Request")


def usable_of(key: int, offered: range) -> int | None:
    """The version that this client would use, if there is one."""
    if key not in ApiKey._value2member_map_:
        return None
    common = sorted(set(registry.api_versions(key)) & set(offered))
    return common[-1] if common else None


def _offered(versions: Mapping[int, range]) -> dict[int, range]:
    return {key: offered for key, offered in versions.items() if offered}
