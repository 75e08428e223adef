"""What goes into a log and comes out of it: small values, and the topic's rules for appends."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from odradek.config.topic import TopicConfig
from odradek.interfaces import File
from odradek.records.validation import AppendRules


class Origin(Enum):
    """Who appends."""

    CLIENT = "client"  # everything is checked
    COORDINATOR = "coordinator"  # of groups or transactions: no sequences, markers allowed
    REPLICATION = "replication"  # already checked by the leader


class LogSlice(NamedTuple):
    """A piece of a segment's file; holding `file` keeps it readable whatever happens to the log."""

    file: File
    position: int
    size: int


class AppendResult(NamedTuple):
    """Where batches went."""

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time_ms: int  # -1 with CreateTime
    log_start_offset: int
    record_count: int
    size_bytes: int
    duplicate: bool


def append_rules(config: TopicConfig) -> AppendRules:
    """What a topic's configuration says about appends."""
    codec = config.compression_type
    # -1 and, with lz4, 9 are Kafka's words for "no level".
    levels = {
        "gzip": None if config.compression_gzip_level == -1 else config.compression_gzip_level,
        "lz4": None if config.compression_lz4_level == 9 else config.compression_lz4_level,
        "zstd": config.compression_zstd_level,
    }
    return AppendRules(
        max_message_bytes=config.max_message_bytes,
        timestamp_type=config.message_timestamp_type,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        compression=codec,
        compacted="compact" in config.cleanup_policy,
        compression_level=levels.get(codec),
    )
