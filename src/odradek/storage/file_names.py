"""What the files of a partition and of a log dir are called. Kafka's names, to the letter.

A partition's folder is `<topic>-<partition>`. Its segment files carry the segment's first offset in
20 digits and a suffix; `.cleaned`, `.swap` and `.deleted` come after that suffix while a segment is
being replaced or removed. A folder to be removed is `<topic>-<partition>.<32 hex digits>-delete`.
"""

from __future__ import annotations

import re
from typing import Final

from odradek.types import TopicPartition

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
# What belongs to one segment; the snapshot of its first offset goes with it.
SEGMENT_SUFFIXES: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX)

CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
DELETED: Final = ".deleted"
DELETED_DIR: Final = "-delete"

LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
LOG_START_OFFSETS: Final = "log-start-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
LOCK: Final = ".lock"

_PARTITION_DIR: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>0|[1-9]\d*)\Z")
_DELETED_DIR: Final = re.compile(r".+\.[0-9a-f]{32}-delete\Z")


def segment_name(base_offset: int, suffix: str) -> str:
    """The name of a segment's file."""
    return f"{base_offset:020d}{suffix}"


def base_offset_of(name: str) -> int | None:
    """The offset in a segment file's name; None when the name is of another kind."""
    digits = name[:20]
    if len(name) > 20 and name[20] == "." and digits.isascii() and digits.isdigit():
        return int(digits)
    return None


def parse_partition_dir(name: str) -> TopicPartition | None:
    """The partition whose folder has this name; None when it is not a partition's folder."""
    match = _PARTITION_DIR.match(name)
    if match is None:
        return None
    return TopicPartition(match["topic"], int(match["partition"]))


def is_deleted_dir(name: str) -> bool:
    """Whether the folder waits for its removal."""
    return _DELETED_DIR.match(name) is not None


def deleted_dir_name(name: str, unique_hex: str) -> str:
    """The name under which a partition's folder waits for its removal."""
    # Kafka keeps the whole name within the 255 bytes of a file name by cutting the topic.
    suffix = f".{unique_hex}{DELETED_DIR}"
    return name[: 255 - len(suffix)] + suffix
