"""Kafka's small text files: offset checkpoints, meta.properties, partition.metadata, clean shutdown.

A checkpoint is lines: the version `0`, the count, then one entry per line; an empty file is an empty
checkpoint. The count makes a half-written file detectable. Offset checkpoints have
`<topic> <partition> <offset>`.

Reading raises ValueError for what is not whole; whoever reads says what that means. Files are written
with `Disk.write_atomically`, in the background. Pure functions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from odradek.types import TopicPartition, uuid_from_text, uuid_to_text

_VERSION: Final = "0"
_META_VERSION: Final = "1"
NO_BROKER_EPOCH: Final = -1


def encode_lines(entries: Iterable[str]) -> bytes:
    """A checkpoint file with these entries."""
    lines = list(entries)
    return "".join(f"{line}\n" for line in (_VERSION, len(lines), *lines)).encode()


def decode_lines(content: bytes) -> list[str]:
    """The entries of a checkpoint file."""
    if not content:
        return []
    lines = content.decode("ascii").split("\n")
    if len(lines) < 3 or lines[0] != _VERSION or lines[-1] != "":
        raise ValueError("not a checkpoint file of version 0")
    entries = lines[2:-1]
    if int(lines[1]) != len(entries):
        raise ValueError(f"{len(entries)} entries where {lines[1]} are announced")
    return entries


def encode_offsets(offsets: Iterable[tuple[TopicPartition, int]]) -> bytes:
    """A checkpoint of an offset per partition."""
    return encode_lines(f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets)


def decode_offsets(content: bytes) -> dict[TopicPartition, int]:
    """Read a checkpoint of an offset per partition."""
    offsets: dict[TopicPartition, int] = {}
    for line in decode_lines(content):
        topic, partition, offset = line.split(" ")
        if int(offset) < 0 or int(partition) < 0:
            raise ValueError(f"a negative number in {line!r}")
        offsets[TopicPartition(topic, int(partition))] = int(offset)
    return offsets


class MetaProperties(NamedTuple):
    """Whose log dir this is."""

    cluster_id: str
    node_id: int
    directory_id: UUID


def encode_meta(meta: MetaProperties) -> bytes:
    """The content of meta.properties."""
    return (
        f"node.id={meta.node_id}\n"
        f"directory.id={uuid_to_text(meta.directory_id)}\n"
        f"version={_META_VERSION}\n"
        f"cluster.id={meta.cluster_id}\n"
    ).encode()


def decode_meta(content: bytes) -> MetaProperties:
    """Read meta.properties; ValueError names what is missing."""
    properties = dict(_properties(content.decode()))
    if properties.get("version") != _META_VERSION:
        raise ValueError(f"version {properties.get('version')!r}, where {_META_VERSION} is known")
    missing = {"cluster.id", "node.id", "directory.id"} - properties.keys()
    if missing:
        raise ValueError(f"no {', '.join(sorted(missing))}")
    return MetaProperties(
        properties["cluster.id"],
        int(properties["node.id"]),
        uuid_from_text(properties["directory.id"]),
    )


def _properties(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")):
            # Java's writer escapes the colons and equals signs of values.
            yield key.strip(), value.strip().replace("\\", "")


def encode_partition_metadata(topic_id: UUID) -> bytes:
    """The content of partition.metadata; Kafka writes no newline at its end."""
    return f"version: 0\ntopic_id: {uuid_to_text(topic_id)}".encode()


def decode_partition_metadata(content: bytes) -> UUID:
    """The topic id in partition.metadata."""
    fields = {
        key.strip(): value.strip()
        for key, _, value in (line.partition(":") for line in content.decode().splitlines())
    }
    if fields.get("version") != _VERSION or "topic_id" not in fields:
        raise ValueError("not a partition.metadata of version 0")
    return uuid_from_text(fields["topic_id"])


def encode_clean_shutdown(broker_epoch: int = NO_BROKER_EPOCH) -> bytes:
    """The content of the file that says: nothing has to be recovered."""
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()
