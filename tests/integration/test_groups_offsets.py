"""Committed offsets with real clients: they survive restarts, expire, and are readable by Kafka's own tools.

Scenarios S-5.1 (commit and go on), S-5.8 (retention), D3-08 (reading `__consumer_offsets`).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

QUICK = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 10}
OFFSETS_TOPIC = "__consumer_offsets"


@pytest.fixture
def group() -> str:
    return f"g-{uuid4().hex[:12]}"


def consumer_of(servers: str, group: str) -> Consumer:
    return Consumer(
        {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False, **QUICK}
    )


def committed(consumer: Consumer, topic: str, partitions: int) -> list[int]:
    asked = [TopicPartition(topic, p) for p in range(partitions)]
    return [found.offset for found in consumer.committed(asked, timeout=30)]


class ConfluentKafka:
    """librdkafka, with assigned partitions."""

    def commit(self, servers: str, group: str, topic: str, offset: int) -> int:
        consumer = consumer_of(servers, group)
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        (found,) = committed(consumer, topic, 1)
        consumer.close()
        return found


class KafkaPython:
    """kafka-python, with assigned partitions."""

    def commit(self, servers: str, group: str, topic: str, offset: int) -> int:
        from kafka import KafkaConsumer, OffsetAndMetadata
        from kafka import TopicPartition as Place

        consumer = KafkaConsumer(bootstrap_servers=servers, group_id=group)
        place = Place(topic, 0)
        consumer.assign([place])
        consumer.commit({place: OffsetAndMetadata(offset, "note", -1)})
        found = consumer.committed(place)
        consumer.close()
        assert isinstance(found, int)
        return found


class Aiokafka:
    """aiokafka, with assigned partitions."""

    def commit(self, servers: str, group: str, topic: str, offset: int) -> int:
        from aiokafka import AIOKafkaConsumer
        from aiokafka import TopicPartition as Place

        async def run() -> int:
            consumer = AIOKafkaConsumer(bootstrap_servers=servers, group_id=group)
            place = Place(topic, 0)
            consumer.assign([place])
            await consumer.start()
            try:
                await consumer.commit({place: offset})
                return int(await consumer.committed(place))
            finally:
                await consumer.stop()

        return asyncio.run(run())


@pytest.mark.parametrize("client", [ConfluentKafka, KafkaPython, Aiokafka])
def test_clients_commit_without_joining(broker, topic, group, client):
    """S-5.1: a position comes back as it was committed, and the next one replaces it."""
    assert client().commit(broker.bootstrap_servers, group, topic, 7) == 7
    assert client().commit(broker.bootstrap_servers, group, topic, 3) == 3


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_offsets_survive_a_restart(embedded, make_topic_on, clean):
    """Everything acknowledged is there again; the client need not notice."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)(partitions=3)
    consumer = consumer_of(servers, "g")
    for offset in range(1, 50):
        places = [TopicPartition(topic, p, offset * (p + 1)) for p in range(3)]
        consumer.commit(offsets=places, asynchronous=False)
    embedded.restart(clean=clean)
    assert committed(consumer, topic, 3) == [49, 98, 147]
    consumer.commit(offsets=[TopicPartition(topic, 0, 50)], asynchronous=False)
    embedded.restart(clean=clean)
    assert committed(consumer, topic, 3) == [50, 98, 147]
    consumer.close()


def test_the_offsets_topic_is_made_on_first_use(embedded, connect):
    """By the first FindCoordinator, whose answer is right at once: 50 partitions, compacted, internal."""
    wire = connect(embedded.bootstrap_servers)
    assert wire.ask(MetadataRequest(topics=None), 12).topics == []
    found = wire.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h"]), 4)
    assert [(c.key, c.error_code, c.node_id) for c in found.coordinators] == [
        ("g", 0, 1),
        ("h", 0, 1),
    ]
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=OFFSETS_TOPIC)])
    (topic,) = wire.ask(asked, 12).topics
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 50)
    overrides = embedded.call(lambda b: dict(b.services.image.topics[OFFSETS_TOPIC].overrides))
    assert overrides["cleanup.policy"] == "compact"


def test_a_metadata_request_makes_the_same_topic(embedded, connect):
    """Whoever names it first, it is compacted: offsets must not be deleted by age."""
    wire = connect(embedded.bootstrap_servers)
    asked = MetadataRequest(
        topics=[MetadataRequestTopic(name=OFFSETS_TOPIC)], allow_auto_topic_creation=True
    )
    (topic,) = wire.ask(asked, 12).topics
    assert len(topic.partitions) == 50
    overrides = embedded.call(lambda b: dict(b.services.image.topics[OFFSETS_TOPIC].overrides))
    assert overrides["cleanup.policy"] == "compact"


def test_offsets_of_a_deleted_topic_are_gone(embedded, make_topic_on):
    """A topic of the same name starts without positions, after a restart too."""
    servers = embedded.bootstrap_servers
    make = make_topic_on(servers)
    topic, kept = make(name="doomed"), make(name="kept")
    consumer = consumer_of(servers, "g")
    places = [TopicPartition(topic, 0, 5), TopicPartition(kept, 0, 6)]
    consumer.commit(offsets=places, asynchronous=False)
    admin = AdminClient({"bootstrap.servers": servers, **QUICK})
    admin.delete_topics([topic])[topic].result(30)
    make(name="doomed")
    assert committed(consumer, topic, 1) == [-1001]
    embedded.restart(clean=False)
    assert committed(consumer, topic, 1) == [-1001]
    assert committed(consumer, kept, 1) == [6]
    consumer.close()


def test_old_offsets_expire(embedded, make_topic_on):
    """S-5.8: a group that nobody uses loses its offsets after a week, and is gone."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)()
    consumer = consumer_of(servers, "idle")
    consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    consumer.close()
    embedded.clock.advance(6 * 24 * 3_600_000)
    assert embedded.call(group_ids) == ["idle"]
    embedded.clock.advance(25 * 3_600_000)
    deadline = time.monotonic() + 10
    while embedded.call(group_ids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert embedded.call(group_ids) == []


def group_ids(broker):
    shards = broker.services.groups.runtime.shards()
    return [group.group_id for _, shard in shards for group in shard.table]


def test_administrators_list_alter_and_delete(broker, topic, group, settle):
    """What tools do: groups by state, offsets set from outside, offsets and groups deleted."""
    servers = broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    consumer = consumer_of(servers, group)
    consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    listed = {g.group_id: g for g in admin.list_consumer_groups().result(30).valid}
    assert listed[group].is_simple_consumer_group
    altered = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 42)])
    admin.alter_consumer_group_offsets([altered])[group].result(30)
    asked = ConsumerGroupTopicPartitions(group)
    found = admin.list_consumer_group_offsets([asked])[group].result(30)
    assert [(p.topic, p.offset) for p in found.topic_partitions] == [(topic, 42)]
    described = admin.describe_consumer_groups([group])[group].result(30)
    assert described.members == []
    admin.delete_consumer_groups([group])[group].result(30)
    assert committed(consumer, topic, 1) == [-1001]
    with pytest.raises(KafkaException):
        admin.delete_consumer_groups([group])[group].result(30)
    consumer.close()


def test_a_feature_that_was_taken_back_stays_so(embedded, connect):
    """New clusters use the new protocols; what an administrator decided survives a restart."""

    def finalised():
        named = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        answer = connect(embedded.bootstrap_servers).ask(named, 3)
        return {f.name: f.max_version_level for f in answer.finalized_features}

    assert (finalised()["group.version"], finalised()["transaction.version"]) == (1, 2)
    down = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=2)
    request = UpdateFeaturesRequest(timeout_ms=1000, feature_updates=[down])
    assert connect(embedded.bootstrap_servers).ask(request, 1).error_code == 0
    embedded.restart()
    assert "group.version" not in finalised()
    assert finalised()["transaction.version"] == 2


FORMATTERS = {
    "offsets": "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
    "groups": "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter",
}


def read_with_kafka(jars, servers, formatter):
    """What kafka-console-consumer prints of the offsets topic."""
    done = subprocess.run(
        ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF", "-cp", f"{jars}/*",
         "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", servers,
         "--topic", OFFSETS_TOPIC, "--from-beginning", "--timeout-ms", "5000",
         "--formatter", FORMATTERS[formatter]],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.peer
def test_kafkas_formatters_read_our_offsets_topic(embedded, make_topic_on, kafka_jars):
    """D3-08: Burrow and others read `__consumer_offsets` as the tools that come with Kafka do."""
    servers = embedded.bootstrap_servers
    topic = make_topic_on(servers)()
    consumer = consumer_of(servers, "g")
    consumer.commit(offsets=[TopicPartition(topic, 0, 5, "note")], asynchronous=False)
    consumer.close()
    (row,) = [
        r
        for r in read_with_kafka(kafka_jars, servers, "offsets")
        if r["key"]["data"]["group"] == "g"
    ]
    assert row["key"] == {"type": 1, "data": {"group": "g", "topic": topic, "partition": 0}}
    assert row["value"]["version"] == 4
    data = row["value"]["data"]
    # confluent-kafka sends its C string's end along.
    assert (data["offset"], data["metadata"].rstrip("\0")) == (5, "note")
