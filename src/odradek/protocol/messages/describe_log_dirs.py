"""DescribeLogDirs (35). Shows what lies in a broker's log directories."""

from __future__ import annotations

from odradek.protocol.fields import (
    Message,
    Struct,
    array_of,
    boolean,
    int16,
    int32,
    int64,
    message,
    nullable_array_of,
    string,
)


class DescribableLogDirTopic(Struct):
    topic: str = string()
    partitions: list[int] = array_of(int32)


@message(key=35, versions=range(1, 6), flexible_from=2)
class DescribeLogDirsRequest(Message):
    """Partitions to look at; null asks for all."""

    topics: list[DescribableLogDirTopic] | None = nullable_array_of(DescribableLogDirTopic)


class DescribeLogDirsPartition(Struct):
    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


class DescribeLogDirsTopic(Struct):
    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array_of(DescribeLogDirsPartition)


class DescribeLogDirsResult(Struct):
    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array_of(DescribeLogDirsTopic)
    total_bytes: int = int64(since=4, default=-1, ignorable=True)
    usable_bytes: int = int64(since=4, default=-1, ignorable=True)
    is_cordoned: bool = boolean(since=5, ignorable=True)


@message(key=35, versions=range(1, 6), flexible_from=2)
class DescribeLogDirsResponse(Message):
    """Sizes and lags per directory and partition.

    v3 adds error_code. v4 adds total_bytes, usable_bytes. v5 adds is_cordoned.
    """

    throttle_time_ms: int = int32()
    error_code: int = int16(since=3, ignorable=True)
    results: list[DescribeLogDirsResult] = array_of(DescribeLogDirsResult)
