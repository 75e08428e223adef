"""A reader may conclude: cluster, features, log dirs, producers and log starts answer as Kafka's do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from odradek.controller.features import METADATA_VERSION, SUPPORTED
from odradek.errors import ApiError, Err
from odradek.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.protocol.messages.describe_cluster import DescribeClusterRequest
from odradek.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from odradek.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.server.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from odradek.storage.log_manager import LogDescription, LogDirDescription
from odradek.types import TopicPartition

NEWEST = SUPPORTED[METADATA_VERSION].max


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(desk: Any, version: int) -> None:
    response = desk.ask(DescribeClusterRequest(), version)
    assert response.error_code == Err.NONE
    assert response.cluster_id == desk.controller.image.cluster_id
    assert response.controller_id == 1
    assert [(b.broker_id, b.host, b.port) for b in response.brokers] == [(1, "localhost", 9092)]
    assert response.cluster_authorized_operations == NOT_ASKED
    asked = desk.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert asked.cluster_authorized_operations == CLUSTER_OPERATIONS


def test_describe_cluster_knows_no_controller_endpoints(desk: Any) -> None:
    response = desk.ask(DescribeClusterRequest(endpoint_type=2))
    assert response.error_code == Err.MISMATCHED_ENDPOINT_TYPE
    assert response.error_message
    assert desk.ask(DescribeClusterRequest(endpoint_type=9)).error_code == (
        Err.UNSUPPORTED_ENDPOINT_TYPE
    )


@pytest.mark.parametrize("version", range(3))
def test_update_features(desk: Any, version: int) -> None:
    def update(level: int, *, down: bool) -> Any:
        key = FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=level)
        if version == 0:
            key.allow_downgrade = down
        else:
            key.upgrade_type = 2 if down else 1
        return desk.ask(UpdateFeaturesRequest(feature_updates=[key]), version)

    refused = update(NEWEST - 1, down=False)
    assert refused.error_code == Err.INVALID_UPDATE_VERSION
    assert refused.error_message
    assert desk.controller.image.features[METADATA_VERSION] == NEWEST
    assert update(NEWEST - 1, down=True).error_code == Err.NONE
    assert desk.controller.image.features[METADATA_VERSION] == NEWEST - 1


@pytest.mark.parametrize("version", range(1, 6))
def test_describe_log_dirs(desk: Any, version: int) -> None:
    logs = [
        LogDescription(TopicPartition("t", 0), 100, 0, False),
        LogDescription(TopicPartition("t", 1), 200, 0, False),
    ]
    described = [
        LogDirDescription("/one", Err.NONE, 1000, 500, logs),
        LogDirDescription("/two", Err.KAFKA_STORAGE_ERROR, -1, -1, []),
    ]
    desk.services.logs = SimpleNamespace(describe=lambda: described)
    one, two = desk.ask(DescribeLogDirsRequest(topics=None), version).results
    assert (one.log_dir, one.error_code) == ("/one", Err.NONE)
    assert [(p.partition_index, p.partition_size) for p in one.topics[0].partitions] == [
        (0, 100),
        (1, 200),
    ]
    assert two.error_code == Err.KAFKA_STORAGE_ERROR
    if version >= 4:
        assert (one.total_bytes, one.usable_bytes) == (1000, 500)
    wanted = [DescribableLogDirTopic(topic="t", partitions=[1])]
    one, _ = desk.ask(DescribeLogDirsRequest(topics=wanted), version).results
    assert [p.partition_index for p in one.topics[0].partitions] == [1]


class FakeLog(SimpleNamespace):
    def advance_log_start(self, offset: int) -> None:
        if offset > self.high_watermark:
            raise ApiError(Err.OFFSET_OUT_OF_RANGE)
        self.log_start_offset = max(self.log_start_offset, offset)


def with_partition(desk: Any, **facts: Any) -> FakeLog:
    log = FakeLog(
        high_watermark=10,
        log_start_offset=2,
        config=SimpleNamespace(cleanup_policy=frozenset({"delete"})),
        **facts,
    )
    partition = SimpleNamespace(log=log, check_leader=lambda: None)

    def find(topic: str, index: int) -> Any:
        if (topic, index) != ("t", 0):
            raise ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    desk.services.replicas = SimpleNamespace(find=find)
    return log


@pytest.mark.parametrize("version", range(3))
def test_delete_records(desk: Any, version: int) -> None:
    log = with_partition(desk)

    def delete(offset: int, topic: str = "t", index: int = 0) -> tuple[int, int]:
        partition = DeleteRecordsPartition(partition_index=index, offset=offset)
        topics = [DeleteRecordsTopic(name=topic, partitions=[partition])]
        response = desk.ask(DeleteRecordsRequest(topics=topics, timeout_ms=100), version)
        (result,) = response.topics[0].partitions
        return result.error_code, result.low_watermark

    assert delete(5) == (Err.NONE, 5)
    assert delete(3) == (Err.NONE, 5)
    assert delete(11) == (Err.OFFSET_OUT_OF_RANGE, -1)
    assert delete(-2) == (Err.OFFSET_OUT_OF_RANGE, -1)
    assert delete(-1) == (Err.NONE, 10)
    assert delete(1, index=9) == (Err.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(1, topic="__consumer_offsets") == (Err.INVALID_TOPIC_EXCEPTION, -1)
    log.config.cleanup_policy = frozenset({"compact"})
    assert delete(-1) == (Err.POLICY_VIOLATION, -1)


def test_describe_producers(desk: Any) -> None:
    entry = SimpleNamespace(
        producer_id=4000,
        producer_epoch=2,
        last_sequence=7,
        last_timestamp=99,
        coordinator_epoch=-1,
        current_txn_first_offset=5,
    )
    with_partition(desk, active_producers=lambda: [entry])
    topics = [TopicRequest(name="t", partition_indexes=[0, 1])]
    (topic,) = desk.ask(DescribeProducersRequest(topics=topics)).topics
    here, unknown = topic.partitions
    (producer,) = here.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (4000, 2, 7)
    assert producer.current_txn_start_offset == 5
    assert unknown.error_code == Err.UNKNOWN_TOPIC_OR_PARTITION
