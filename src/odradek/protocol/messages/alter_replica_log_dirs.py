"""AlterReplicaLogDirs (34). Moves replicas between the log directories of a broker."""

from __future__ import annotations

from odradek.protocol.fields import Message, Struct, array_of, int16, int32, message, string


class AlterReplicaLogDirTopic(Struct):
    name: str = string()
    partitions: list[int] = array_of(int32)


class AlterReplicaLogDir(Struct):
    path: str = string()
    topics: list[AlterReplicaLogDirTopic] = array_of(AlterReplicaLogDirTopic)


@message(key=34, versions=range(1, 3), flexible_from=2)
class AlterReplicaLogDirsRequest(Message):
    """Directories and the partitions that shall live there."""

    dirs: list[AlterReplicaLogDir] = array_of(AlterReplicaLogDir)


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: str = string()
    partitions: list[AlterReplicaLogDirPartitionResult] = array_of(
        AlterReplicaLogDirPartitionResult
    )


@message(key=34, versions=range(1, 3), flexible_from=2)
class AlterReplicaLogDirsResponse(Message):
    """The result per partition."""

    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirTopicResult] = array_of(AlterReplicaLogDirTopicResult)
