"""What `/state` shows: one page of JSON that answers "what is this broker doing"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from odradek.server.context import Services
from odradek.server.listener import Listener
from odradek.types import uuid_to_text


def describe_state(
    services: Services, listener: Listener, ports: Mapping[str, int]
) -> dict[str, Any]:
    """Cluster, connections, topics and partitions as this broker sees them now."""
    image = services.image
    return {
        "node_id": services.node_id,
        "cluster_id": image.cluster_id,
        "controller_id": image.controller_id,
        "metadata_version": image.version,
        "features": dict(image.features),
        "listeners": dict(ports),
        "connections": [
            {"client": session.address, "listener": session.listener, "parked": session.is_parked()}
            for session in listener.sessions
        ],
        "fetch_sessions": len(services.fetch_sessions),
        "log_dirs": [{"path": d.path, "offline": d.offline_reason} for d in services.logs.dirs],
        "partitions": [
            {
                "topic": partition.topic_partition.topic,
                "topic_id": uuid_to_text(partition.topic_id),
                "partition": partition.topic_partition.partition,
                "leader": partition.leader_id,
                "leader_epoch": partition.leader_epoch,
                "isr": list(partition.isr),
                "log_start_offset": partition.log.log_start_offset,
                "high_watermark": partition.log.high_watermark,
                "log_end_offset": partition.log.log_end_offset,
                "size_bytes": partition.log.size_bytes,
                "waiting_requests": len(partition.waiting),
            }
            for partition in services.replicas.partitions()
        ],
    }
