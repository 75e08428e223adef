"""Our declarations state the same facts as Kafka's message definitions: a new release is noticed.

Compared per valid version, because a declaration leaves out what no valid version can see. Skipped
where the definitions (``../shared/kafka-messages``) are not at hand.
"""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from odradek.protocol import registry
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.fields import Field, Kind, Message, Struct

DEFINITIONS = Path(__file__).parents[4] / "shared" / "kafka-messages"
pytestmark = pytest.mark.skipif(
    not DEFINITIONS.is_dir(), reason="needs Kafka's message definitions in ../shared/kafka-messages"
)

# Listed for brokers, but no part of what a client or a peer of ours needs.
NOT_DECLARED: set[str] = set()
# Between brokers and the controller.
ALSO_DECLARED = {
    "AllocateProducerIds",
    "AlterPartition",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "Envelope",
}
DATA = {
    "ConsumerProtocolSubscription": "consumer_protocol",
    "ConsumerProtocolAssignment": "consumer_protocol",
    "ControlRecordTypeSchema": "control",
    "EndTxnMarker": "control",
}
INTERNAL_MODULES = [
    "consumer_group",
    "group_metadata",
    "offset_commit",
    "producer_snapshot",
    "share_group",
    "share_state",
    "streams_group",
    "transaction_log",
]
KINDS = {
    "int8": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "uint16": Kind.UINT16,
    "uint32": Kind.UINT32,
    "float64": Kind.FLOAT64,
    "bool": Kind.BOOLEAN,
    "string": Kind.STRING,
    "bytes": Kind.BYTES,
    "uuid": Kind.UUID,
    "records": Kind.RECORDS,
}


def load(path: Path) -> dict[str, Any]:
    """A definition; the format allows comments."""
    text = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def snake(name: str) -> str:
    """TimeoutMs → timeout_ms."""
    name = name.replace("KRaft", "Kraft")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def within(versions: str | None, version: int) -> bool:
    """Whether "3", "3+", "3-5" or "none" contains a version."""
    if not versions or versions == "none":
        return False
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    first, _, last = versions.partition("-")
    return int(first) <= version <= int(last or first)


def valid_versions(definition: dict[str, Any], unstable: bool) -> range:
    """The versions to declare: an unstable last one is left out."""
    first, _, last = definition["validVersions"].partition("-")
    return range(int(first), int(last or first) + (0 if unstable else 1))


def broker_requests() -> list[str]:
    """The APIs of the broker listener."""
    names = []
    for path in sorted(DEFINITIONS.glob("*Request.json")):
        definition = load(path)
        if definition["validVersions"] != "none" and "broker" in definition["listeners"]:
            names.append(definition["name"].removesuffix("Request"))
    return names


def default_of(spec: dict[str, Any], ours: Field) -> Any:
    """The default that the definition means: JSON's null is none given, the text "null" is null."""
    given = spec.get("default")
    if given == "null":
        return None
    if spec["type"].startswith("[]") or ours.kind is Kind.STRUCT:
        return ours.default_value() if given is None else pytest.fail(f"default of {spec['name']}")
    if given is None:
        absent = {Kind.STRING: "", Kind.BYTES: b"", Kind.BOOLEAN: False, Kind.UUID: UUID(int=0)}
        absent[Kind.RECORDS] = None if ours.nullable_since is not None else b""
        return absent.get(ours.kind, 0)
    if ours.kind is Kind.STRING:
        return given
    if ours.kind is Kind.BOOLEAN:
        return str(given).lower() == "true"
    return float(given) if ours.kind is Kind.FLOAT64 else int(str(given), 0)


class Comparison:
    """Walks a definition and a declaration together; collects what differs."""

    def __init__(self, definition: dict[str, Any]) -> None:
        self.definition = definition
        self.common = {s["name"]: s["fields"] for s in definition.get("commonStructs", [])}
        self.differences: list[str] = []

    def same(self, what: str, ours: object, theirs: object) -> None:
        if ours != theirs:
            self.differences.append(f"{what}: {ours!r}, in the definition {theirs!r}")

    def message(self, cls: type[Message], unstable: bool) -> None:
        name = cls.__name__
        versions = valid_versions(self.definition, unstable)
        self.same(f"{name} key", cls.API_KEY, self.definition.get("apiKey"))
        self.same(f"{name} versions", cls.VERSIONS, versions)
        flexible = self.definition.get("flexibleVersions", "none")
        for version in versions:
            where = f"{name} v{version}"
            self.same(f"{where} flexible", cls.is_flexible(version), within(flexible, version))
            self.struct(cls, self.definition["fields"], version, where)

    def struct(
        self, cls: type[Struct], specs: list[dict[str, Any]], version: int, where: str
    ) -> None:
        here = [s for s in specs if within(s.get("versions", s.get("taggedVersions")), version)]
        ours = [f for f in cls.FIELDS if f.on_wire(version)]
        self.same(f"{where} fields", [f.name for f in ours], [snake(s["name"]) for s in here])
        for field, spec in zip(ours, here, strict=False):
            self.field(field, spec, version, f"{where}.{field.name}")

    def field(self, ours: Field, spec: dict[str, Any], version: int, where: str) -> None:
        tag = spec["tag"] if within(spec.get("taggedVersions"), version) else None
        self.same(f"{where} tag", ours.tag, tag)
        nullable = within(spec.get("nullableVersions"), version)
        self.same(f"{where} nullable", ours.nullable(version), nullable)
        self.same(f"{where} default", ours.default_value(), default_of(spec, ours))
        everywhere = not (ours.since or ours.until is not None)
        ignorable = str(spec.get("ignorable", False)).lower() == "true" and not everywhere
        self.same(f"{where} ignorable", ours.ignorable, ignorable)
        array = spec["type"].startswith("[]")
        self.same(f"{where} array", ours.kind is Kind.ARRAY, array)
        type_name = spec["type"].removeprefix("[]")
        kind: object = ours.element if array else ours.kind
        if type_name in KINDS:
            self.same(f"{where} type", kind, KINDS[type_name])
            return
        element = ours.element
        assert isinstance(element, type), where
        assert element.__name__.endswith(type_name), where
        self.struct(element, spec.get("fields") or self.common[type_name], version, where)


def assert_same_facts(cls: type[Message], path: Path, unstable: bool = False) -> None:
    comparison = Comparison(load(path))
    comparison.message(cls, unstable)
    assert not comparison.differences


@pytest.mark.parametrize("api_key", list(ApiKey), ids=lambda key: key.name.lower())
def test_requests_and_responses_are_as_defined(api_key: ApiKey) -> None:
    request, response = registry.request_type(api_key), registry.response_type(api_key)
    path = DEFINITIONS / f"{request.__name__}.json"
    unstable = bool(load(path).get("latestVersionUnstable"))
    assert_same_facts(request, path, unstable)
    assert_same_facts(response, DEFINITIONS / f"{response.__name__}.json", unstable)


@pytest.mark.parametrize("name", sorted(DATA))
def test_data_is_as_defined(name: str) -> None:
    module = import_module(f"odradek.protocol.messages.{DATA[name]}")
    assert_same_facts(getattr(module, name), DEFINITIONS / f"{name}.json")


def test_internal_records_are_as_defined_and_complete() -> None:
    declared: set[str] = set()
    for name in INTERNAL_MODULES:
        module = import_module(f"odradek.protocol.messages.internal.{name}")
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, Message) and cls is not Message:
                declared.add(cls.__name__)
                assert_same_facts(cls, DEFINITIONS / "internal" / f"{cls.__name__}.json")
    assert declared == {path.stem for path in (DEFINITIONS / "internal").glob("*.json")}


def test_every_api_of_the_broker_listener_is_declared() -> None:
    declared = {registry.request_type(key).__name__.removesuffix("Request") for key in ApiKey}
    assert declared == set(broker_requests()) - NOT_DECLARED | ALSO_DECLARED
