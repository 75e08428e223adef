"""Where the numbers of the sampled gauges come from."""

from __future__ import annotations

from collections.abc import Callable

from odradek.server.context import Services
from odradek.server.listener import Listener
from odradek.server.probe import ServerProbe
from odradek.storage.partition_log import PartitionLog


def sample_gauges(probe: ServerProbe, services: Services, listener: Listener) -> None:
    """Let each gauge ask its owner when somebody looks."""
    replicas = services.replicas

    def each_log(
        number: Callable[[PartitionLog], int],
    ) -> Callable[[], dict[tuple[str, int], float]]:
        return lambda: {
            (partition.topic_partition.topic, partition.topic_partition.partition): number(
                partition.log
            )
            for partition in replicas.partitions()
        }

    probe.connections.sample = lambda: len(listener.sessions)
    probe.connections_accepted.sample = lambda: listener.accepted_total
    probe.connections_refused.sample = lambda: listener.refused_total
    probe.fetch_sessions.sample = lambda: len(services.fetch_sessions)
    probe.partitions.sample = replicas.count
    probe.leaders.sample = lambda: sum(p.is_leader for p in replicas.partitions())
    probe.log_sizes.sample = each_log(lambda log: log.size_bytes)
    probe.log_end_offsets.sample = each_log(lambda log: log.log_end_offset)
    probe.log_start_offsets.sample = each_log(lambda log: log.log_start_offset)
