"""Broker keys about topics: how they are created, and the defaults that many topic keys inherit."""

from __future__ import annotations

from odradek.config.checks import at_least, between, between_or, one_of
from odradek.config.declare import CLUSTER_WIDE, Settings, key, key_family, no_use
from odradek.config.kinds import ClassName, Int
from odradek.config.units import DAY_MS, MIB, MINUTE_MS


@key_family("Topics and records")
class TopicKeys(Settings):
    """How topics are created, and the defaults that many topic keys inherit."""

    auto_create_topics_enable: bool = key(
        "auto.create.topics.enable",
        default=True,
        doc="Create a topic when a client first asks for it.",
    )
    delete_topic_enable: bool = key(
        "delete.topic.enable", default=True, doc="Allow topics to be deleted."
    )
    num_partitions: Int = key(
        "num.partitions",
        default=1,
        check=at_least(1),
        doc="Partitions of a topic created without a count.",
    )
    default_replication_factor: Int = key(
        "default.replication.factor",
        default=1,
        check=at_least(1),
        doc="Replicas of a topic created without a factor.",
    )
    min_insync_replicas: Int = key(
        "min.insync.replicas",
        default=1,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="With acks=all, refuse a write while fewer replicas than this are in sync.",
    )
    message_max_bytes: Int = key(
        "message.max.bytes",
        default=1_048_588,
        check=at_least(0),
        dynamic=CLUSTER_WIDE,
        doc="Largest record batch accepted, after compression.",
    )
    compression_type: str = key(
        "compression.type",
        default="producer",
        check=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        dynamic=CLUSTER_WIDE,
        doc="Codec batches are stored in; producer keeps what the producer chose.",
    )
    compression_gzip_level: Int = key(
        "compression.gzip.level",
        default=-1,
        check=between_or(1, 9, -1),
        dynamic=CLUSTER_WIDE,
        doc="Effort of gzip when the broker itself compresses; -1 leaves it to the library.",
    )
    compression_lz4_level: Int = key(
        "compression.lz4.level",
        default=9,
        check=between(1, 17),
        dynamic=CLUSTER_WIDE,
        doc="Effort of LZ4 when the broker itself compresses.",
    )
    compression_zstd_level: Int = key(
        "compression.zstd.level",
        default=3,
        check=between(-131_072, 22),
        dynamic=CLUSTER_WIDE,
        doc="Effort of Zstandard when the broker itself compresses.",
    )
    fetch_max_bytes: Int = key(
        "fetch.max.bytes",
        default=55 * MIB,
        check=at_least(1024),
        doc="Most bytes one fetch reply carries, whatever the consumer allows.",
    )
    max_incremental_fetch_session_cache_slots: Int = key(
        "max.incremental.fetch.session.cache.slots",
        default=1000,
        check=at_least(0),
        doc="Fetch sessions kept at a time (KIP-227).",
    )
    max_request_partition_size_limit: Int = key(
        "max.request.partition.size.limit",
        default=2000,
        check=at_least(1),
        doc="Most partitions one page of DescribeTopicPartitions lists.",
    )
    producer_id_expiration_ms: Int = key(
        "producer.id.expiration.ms",
        default=DAY_MS,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Forget an idle producer's sequence numbers after this long.",
    )
    producer_id_expiration_check_interval_ms: Int = key(
        "producer.id.expiration.check.interval.ms",
        default=10 * MINUTE_MS,
        check=at_least(1),
        internal=True,
        doc="Look for idle producers this often.",
    )
    create_topic_policy_class_name: ClassName | None = key(
        "create.topic.policy.class.name",
        default=None,
        use=no_use("a Java class cannot run here"),
        doc="Class that may refuse new topics.",
    )
    alter_config_policy_class_name: ClassName | None = key(
        "alter.config.policy.class.name",
        default=None,
        use=no_use("a Java class cannot run here"),
        doc="Class that may refuse configuration changes.",
    )
