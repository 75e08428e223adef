"""Render the reference pages from the tables in the code: configuration, protocol, metrics, errors.

    python scripts/render_docs.py            write docs/*.md
    python scripts/render_docs.py --check    exit 1 and say what differs when a page is stale

Each fact has one row in the code (a key, a message, a metric, an error); these pages are that row in
another shape. Nobody edits them by hand.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.config.declare import Key, Settings
from odradek.config.group import GroupConfig
from odradek.config.topic import TopicConfig
from odradek.errors import Err
from odradek.metrics.declare import Probe
from odradek.protocol import registry
from odradek.protocol.api_keys import ApiKey
from odradek.server.registry import api_name, load_handlers

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src"
NOTICE: Final = "<!-- Rendered by scripts/render_docs.py from the code. Do not edit. -->"
#: Lines of difference that --check shows per page: enough to see what was forgotten.
DIFF_LINES_MAX: Final = 20


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """A Markdown table; bars in cells are escaped."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        assert len(row) == len(header), row
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return [*lines, ""]


def page(title: str, *blocks: Iterable[str]) -> str:
    """A whole page."""
    lines = [f"# {title}", "", NOTICE, ""]
    for block in blocks:
        lines.extend(block)
    return "\n".join(lines).rstrip() + "\n"


def configuration() -> str:
    """docs/configuration.md."""
    return page(
        "Configuration",
        [
            "A broker reads a `server.properties` file and `--set key=value` pairs. A key that was",
            "set while it runs goes before the file, for one broker before for all of them; a topic's",
            "or group's own key goes before the broker's. The column *Used* says whether the broker",
            "acts on a key now, keeps it for a capability that comes later, or accepts it only so that",
            "existing files work. Setting one of the latter two gives a note at the start; so does an",
            "unknown key.",
            "",
        ],
        *_broker_families(),
        ["## Topics", ""],
        table(
            ("Key", "Type", "Default", "Allowed", "Broker key behind it", "Used", "Meaning"),
            (_inheriting_row(declared) for declared in _visible(TopicConfig)),
        ),
        ["## Groups", ""],
        table(
            ("Key", "Type", "Default", "Allowed", "Broker key behind it", "Used", "Meaning"),
            (_inheriting_row(declared) for declared in _visible(GroupConfig)),
        ),
    )


def _broker_families() -> Iterator[list[str]]:
    families: dict[str, list[Key]] = {}
    for declared in _visible(BrokerConfig):
        families.setdefault(declared.family, []).append(declared)
    for family, keys in families.items():
        yield [f"## Broker: {family}", ""]
        yield table(
            ("Key", "Type", "Default", "Allowed", "Changes", "Used", "Meaning"),
            (
                (*_facts(declared), declared.dynamic.value, _use(declared), declared.doc)
                for declared in keys
            ),
        )


def _visible(cls: type[Settings]) -> Iterator[Key]:
    return (declared for declared in cls.KEYS.values() if not declared.internal)


def _inheriting_row(declared: Key) -> tuple[str, ...]:
    behind = ", ".join(f"`{synonym.name}`" for synonym in declared.synonyms)
    return (*_facts(declared), behind, _use(declared), declared.doc)


def _facts(declared: Key) -> tuple[str, str, str, str]:
    default = declared.format(declared.default)
    shown = "" if default is None else f"`{default}`" if default else "empty"
    if declared.name == "log.dirs":
        shown = "`$XDG_DATA_HOME/odradek/data`"
    return f"`{declared.name}`", declared.type.name.lower(), shown, declared.allowed


def _use(declared: Key) -> str:
    words = {"effective": "yes", "later": "later", "none": "no"}[declared.use.status]
    return f"{words}: {declared.use.reason}" if declared.use.reason else words


def protocol() -> str:
    """docs/protocol.md."""
    handlers = load_handlers()

    def row(api_key: ApiKey) -> tuple[str, ...]:
        request = registry.request_type(api_key)
        handler = handlers.get(api_key)
        served = "" if handler is None else _versions(handler.versions)
        flexible = request.FLEXIBLE_FROM
        return (
            str(int(api_key)),
            api_name(api_key),
            _versions(request.VERSIONS),
            "" if flexible is None or flexible not in request.VERSIONS else f"v{flexible}",
            served,
        )

    return page(
        "Protocol",
        [
            "Every message of Kafka's protocol that is declared in `odradek.protocol.messages`, as of",
            f"Kafka 4.3, and the versions this broker serves ({len(handlers)} APIs). A client learns",
            "the same from ApiVersions. From the *flexible* version on, a message uses compact lengths",
            "and carries tagged fields (KIP-482).",
            "",
        ],
        table(("Key", "API", "Declared", "Flexible from", "Served"), map(row, ApiKey)),
    )


def _versions(versions: range) -> str:
    first, last = versions[0], versions[-1]
    return f"v{first}" if first == last else f"v{first} to v{last}"


def metrics() -> str:
    """docs/metrics.md."""
    blocks: list[list[str]] = []
    for probe in _probes():
        blocks.append([f"## {probe.__name__}", "", (probe.__doc__ or "").split("\n")[0], ""])
        blocks.append(
            table(
                ("Metric", "Type", "Labels", "Meaning"),
                (
                    (f"`{m.name}`", m.type.value, ", ".join(f"`{n}`" for n in m.labels), m.doc)
                    for m in probe.METRICS.values()
                ),
            )
        )
    return page(
        "Metrics",
        [
            "Served as Prometheus text under `/metrics` on `odradek.http.listener`. Histograms add",
            "`_bucket`, `_sum` and `_count` to their name.",
            "",
        ],
        *blocks,
    )


def _probes() -> list[type[Probe]]:
    """The probe classes of all packages, sorted by module; probes live in `…probe` modules."""
    for path in sorted(SOURCE.rglob("*probe.py")):
        importlib.import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))
    found = [cls for cls in Probe.__subclasses__() if cls.__module__.startswith("odradek.")]
    return sorted(found, key=lambda cls: (cls.__module__, cls.__qualname__))


def errors() -> str:
    """docs/errors.md."""
    return page(
        "Errors",
        ["The error codes of the wire, and whether the same request may succeed later.", ""],
        table(
            ("Code", "Name", "Retriable", "What it means"),
            (
                (str(int(err)), f"`{err.name}`", "yes" if err.retriable else "no", err.text)
                for err in Err
            ),
        ),
    )


PAGES: Final[dict[str, Callable[[], str]]] = {
    "configuration.md": configuration,
    "protocol.md": protocol,
    "metrics.md": metrics,
    "errors.md": errors,
}


def stale_pages(folder: Path) -> dict[str, list[str]]:
    """Pages that differ from what the code says now, each with the first lines of the difference."""
    stale = {}
    for name, render in PAGES.items():
        path = folder / name
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        wanted = render()
        if there != wanted:
            difference = difflib.unified_diff(
                there.splitlines(), wanted.splitlines(), f"docs/{name}", "rendered", "", "", 0, ""
            )
            stale[name] = list(difference)[:DIFF_LINES_MAX]
    return stale


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether pages are stale")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs", help="where the pages are")
    options = parser.parse_args(arguments)
    if options.check:
        stale = stale_pages(options.folder)
        for name, difference in stale.items():
            print(f"docs/{name} is stale: run `make docs`", *difference, sep="\n", file=sys.stderr)
        return 1 if stale else 0
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, render in PAGES.items():
        (options.folder / name).write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
