"""DescribeLogDirs: the disks of this broker and what lies on them."""

from __future__ import annotations

from collections import defaultdict

from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.server.context import Context
from odradek.server.registry import handles
from odradek.storage.log_manager import LogDirDescription
from odradek.types import TopicPartition


@handles(ApiKey.DESCRIBE_LOG_DIRS, versions=range(1, 6))
def describe_log_dirs(context: Context, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """All log dirs; of the partitions in them those asked for, or all."""
    wanted: set[TopicPartition] | None = None
    if request.topics is not None:
        wanted = {TopicPartition(t.topic, p) for t in request.topics for p in t.partitions}
    return DescribeLogDirsResponse(
        error_code=Err.NONE,
        results=[_result(context, log_dir, wanted) for log_dir in context.logs.describe()],
    )


def _result(
    context: Context, log_dir: LogDirDescription, wanted: set[TopicPartition] | None
) -> DescribeLogDirsResult:
    topics: dict[str, list[DescribeLogDirsPartition]] = defaultdict(list)
    for log in log_dir.logs:
        tp = log.topic_partition
        if wanted is None or tp in wanted:
            topics[tp.topic].append(
                DescribeLogDirsPartition(
                    partition_index=tp.partition,
                    partition_size=log.size_bytes,
                    offset_lag=log.offset_lag,
                    is_future_key=log.is_future,
                )
            )
    return DescribeLogDirsResult(
        error_code=log_dir.error,
        log_dir=log_dir.path,
        topics=[
            DescribeLogDirsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        total_bytes=log_dir.total_bytes,
        usable_bytes=log_dir.usable_bytes,
    )
