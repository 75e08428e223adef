"""Broker keys of tiered storage (KIP-405); accepted while the system stays off."""

from __future__ import annotations

from odradek.config.checks import NOT_EMPTY, at_least, between, never
from odradek.config.declare import CLUSTER_WIDE, Settings, key, key_family, no_use
from odradek.config.kinds import LONG_MAX, Double, Int, Long
from odradek.config.units import GIB, MINUTE_MS


@key_family("Tiered storage", use=no_use("there is no tiered storage"))
class TieredKeys(Settings):
    """Broker keys of tiered storage (KIP-405); accepted while the system stays off."""

    remote_log_storage_system_enable: bool = key(
        "remote.log.storage.system.enable",
        default=False,
        check=never(True, "there is no tiered storage"),
        doc="Turn tiered storage on.",
    )
    remote_fetch_max_wait_ms: Int = key(
        "remote.fetch.max.wait.ms",
        default=500,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Longest a fetch waits for remote data.",
    )
    remote_list_offsets_request_timeout_ms: Long = key(
        "remote.list.offsets.request.timeout.ms",
        default=30_000,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Longest an offset look-up waits for remote data.",
    )
    remote_log_index_file_cache_total_size_bytes: Long = key(
        "remote.log.index.file.cache.total.size.bytes",
        default=GIB,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Space for cached remote indexes.",
    )
    remote_log_index_file_cache_ttl_ms: Long = key(
        "remote.log.index.file.cache.ttl.ms",
        default=15 * MINUTE_MS,
        check=at_least(-1),
        internal=True,
        doc="Time an unused remote index stays cached.",
    )
    remote_log_manager_copier_thread_pool_size: Int = key(
        "remote.log.manager.copier.thread.pool.size",
        default=10,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Threads that copy segments out.",
    )
    remote_log_manager_copy_max_bytes_per_second: Long = key(
        "remote.log.manager.copy.max.bytes.per.second",
        default=LONG_MAX,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Bytes per second copied out.",
    )
    remote_log_manager_copy_quota_window_num: Int = key(
        "remote.log.manager.copy.quota.window.num",
        default=11,
        check=at_least(1),
        doc="Samples the copy rate is measured over.",
    )
    remote_log_manager_copy_quota_window_size_seconds: Int = key(
        "remote.log.manager.copy.quota.window.size.seconds",
        default=1,
        check=at_least(1),
        doc="Length of one sample of the copy rate.",
    )
    remote_log_manager_expiration_thread_pool_size: Int = key(
        "remote.log.manager.expiration.thread.pool.size",
        default=10,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Threads that delete remote segments.",
    )
    remote_log_manager_fetch_max_bytes_per_second: Long = key(
        "remote.log.manager.fetch.max.bytes.per.second",
        default=LONG_MAX,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Bytes per second fetched back.",
    )
    remote_log_manager_fetch_quota_window_num: Int = key(
        "remote.log.manager.fetch.quota.window.num",
        default=11,
        check=at_least(1),
        doc="Samples the fetch rate is measured over.",
    )
    remote_log_manager_fetch_quota_window_size_seconds: Int = key(
        "remote.log.manager.fetch.quota.window.size.seconds",
        default=1,
        check=at_least(1),
        doc="Length of one sample of the fetch rate.",
    )
    remote_log_manager_follower_thread_pool_size: Int = key(
        "remote.log.manager.follower.thread.pool.size",
        default=2,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Threads that follow remote metadata.",
    )
    remote_log_manager_task_interval_ms: Long = key(
        "remote.log.manager.task.interval.ms",
        default=30_000,
        check=at_least(1),
        doc="Pace of copying and deleting.",
    )
    remote_log_manager_task_retry_backoff_ms: Long = key(
        "remote.log.manager.task.retry.backoff.ms",
        default=500,
        check=at_least(1),
        internal=True,
        doc="First pause after a failed task.",
    )
    remote_log_manager_task_retry_backoff_max_ms: Long = key(
        "remote.log.manager.task.retry.backoff.max.ms",
        default=30_000,
        check=at_least(1),
        internal=True,
        doc="Longest pause after failed tasks.",
    )
    remote_log_manager_task_retry_jitter: Double = key(
        "remote.log.manager.task.retry.jitter",
        default=0.2,
        check=between(0, 0.5),
        internal=True,
        doc="Random share added to the pause.",
    )
    remote_log_manager_thread_pool_size: Int = key(
        "remote.log.manager.thread.pool.size",
        default=2,
        check=at_least(1),
        doc="Threads for the remaining work.",
    )
    remote_log_metadata_custom_metadata_max_bytes: Int = key(
        "remote.log.metadata.custom.metadata.max.bytes",
        default=128,
        check=at_least(0),
        doc="Largest extra metadata of a remote segment.",
    )
    remote_log_metadata_manager_class_name: str = key(
        "remote.log.metadata.manager.class.name",
        default="org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        check=NOT_EMPTY,
        doc="Class that keeps remote metadata.",
    )
    remote_log_metadata_manager_class_path: str | None = key(
        "remote.log.metadata.manager.class.path", default=None, doc="Where that class is found."
    )
    remote_log_metadata_manager_impl_prefix: str = key(
        "remote.log.metadata.manager.impl.prefix",
        default="rlmm.config.",
        check=NOT_EMPTY,
        doc="Prefix of that class's own keys.",
    )
    remote_log_metadata_manager_listener_name: str | None = key(
        "remote.log.metadata.manager.listener.name",
        default=None,
        check=NOT_EMPTY,
        doc="Listener that class connects to.",
    )
    remote_log_reader_max_pending_tasks: Int = key(
        "remote.log.reader.max.pending.tasks",
        default=100,
        check=at_least(1),
        doc="Reads of remote data that may wait.",
    )
    remote_log_reader_threads: Int = key(
        "remote.log.reader.threads",
        default=10,
        check=at_least(1),
        dynamic=CLUSTER_WIDE,
        doc="Threads that read remote data.",
    )
    remote_log_storage_manager_class_name: str | None = key(
        "remote.log.storage.manager.class.name",
        default=None,
        check=NOT_EMPTY,
        doc="Class that stores remote segments.",
    )
    remote_log_storage_manager_class_path: str | None = key(
        "remote.log.storage.manager.class.path", default=None, doc="Where that class is found."
    )
    remote_log_storage_manager_impl_prefix: str = key(
        "remote.log.storage.manager.impl.prefix",
        default="rsm.config.",
        check=NOT_EMPTY,
        doc="Prefix of that class's own keys.",
    )
