"""Topics and settings through the admin clients of three libraries (S-9.2)."""

from __future__ import annotations

import asyncio
import time
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from odradek.protocol.messages import incremental_alter_configs as iac


@pytest.fixture
def admin(broker):
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers})


@pytest.fixture
def name():
    """A name that no topic has."""
    return f"admin-{uuid4().hex[:12]}"


def reason(future) -> str:
    """The name of the error a future failed with."""
    with pytest.raises(KafkaException) as failed:
        future.result(30)
    return failed.value.args[0].name()


def create(admin, *topics, **options):
    return admin.create_topics(list(topics), **options)


# -- topics ----------------------------------------------------------------------------------------


def test_a_topic_is_created_once(admin, name, settle):
    """S-9.2: the future completes; the second call fails with topic-exists."""
    new = NewTopic(name, 3, 1, config={"retention.ms": "3600000"})
    create(admin, new)[name].result(30)
    settle()
    assert reason(create(admin, new)[name]) == "TOPIC_ALREADY_EXISTS"
    described = admin.describe_topics(TopicCollection([name]))[name].result(30)
    assert [p.id for p in described.partitions] == [0, 1, 2]
    assert all(p.leader.id == p.replicas[0].id == p.isr[0].id for p in described.partitions)
    assert not described.is_internal
    assert str(described.topic_id) != "AAAAAAAAAAAAAAAAAAAAAA"


@pytest.mark.parametrize("library", ["kafka-python", "aiokafka"])
def test_other_libraries_create_and_delete_topics(broker, name, library, settle):
    """S-9.2 with kafka-python and aiokafka."""

    def with_kafka_python():
        from kafka import KafkaAdminClient
        from kafka.admin import NewTopic as KafkaNewTopic
        from kafka.errors import TopicAlreadyExistsError

        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        new = KafkaNewTopic(name, 2, 1)
        admin.create_topics([new])
        settle()
        with pytest.raises(TopicAlreadyExistsError):
            admin.create_topics([new])
        assert name in admin.list_topics()
        admin.delete_topics([name])
        settle()
        assert name not in admin.list_topics()
        admin.close()

    async def with_aiokafka():
        from aiokafka.admin import AIOKafkaAdminClient
        from aiokafka.admin import NewTopic as AioNewTopic

        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        await admin.start()
        new = AioNewTopic(name, 2, 1)
        first = await admin.create_topics([new])
        settle()
        assert first.topic_errors[0][1] == 0
        second = await admin.create_topics([new])
        assert second.topic_errors[0][1] == 36
        assert name in await admin.list_topics()
        await admin.delete_topics([name])
        settle()
        assert name not in await admin.list_topics()
        await admin.close()

    if library == "kafka-python":
        with_kafka_python()
    else:
        asyncio.run(with_aiokafka())


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"topic": "a/b"}, "TOPIC_EXCEPTION"),
        ({"topic": ".."}, "TOPIC_EXCEPTION"),
        ({"topic": "x" * 250}, "TOPIC_EXCEPTION"),
        ({"num_partitions": 0}, "INVALID_PARTITIONS"),
        ({"replication_factor": 5}, "INVALID_REPLICATION_FACTOR"),
        ({"config": {"no.such.key": "1"}}, "INVALID_CONFIG"),
        ({"config": {"retention.ms": "soon"}}, "INVALID_CONFIG"),
        ({"config": {"cleanup.policy": "burn"}}, "INVALID_CONFIG"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value,
)
def test_a_wrong_topic_is_refused(admin, name, wrong, error):
    """Each mistake has its error, and nothing is created."""
    arguments = {"topic": name, "num_partitions": 1, "replication_factor": 1, **wrong}
    topic = arguments["topic"]
    assert reason(create(admin, NewTopic(**arguments))[topic]) == error
    assert topic not in admin.list_topics(timeout=30).topics


def test_names_that_would_collide_in_metrics_are_refused(admin, name):
    """`a.b` and `a_b` share a metric name, so the second is refused."""
    create(admin, NewTopic(f"{name}.x", 1, 1))[f"{name}.x"].result(30)
    assert reason(create(admin, NewTopic(f"{name}_x", 1, 1))[f"{name}_x"]) == "TOPIC_EXCEPTION"


def test_validate_only_creates_nothing(admin, name):
    """A dry run says what would happen."""
    create(admin, NewTopic(name, 1, 1), validate_only=True)[name].result(30)
    assert name not in admin.list_topics(timeout=30).topics


def test_defaults_come_from_the_broker(admin, name, settle):
    """KIP-464: -1 partitions and replicas mean the broker's defaults."""
    create(admin, NewTopic(name, -1, -1))[name].result(30)
    settle()
    assert len(admin.list_topics(name, 30).topics[name].partitions) == 1


def test_replicas_may_be_assigned_by_hand(admin, name):
    """The same node may be named for each partition; an unknown node is refused."""
    (node,) = admin.list_topics(timeout=30).brokers
    create(admin, NewTopic(name, 2, replica_assignment=[[node], [node]]))[name].result(30)
    wrong = NewTopic(name + "-2", 1, replica_assignment=[[node + 100]])
    assert reason(create(admin, wrong)[wrong.topic]) == "INVALID_REPLICA_ASSIGNMENT"


def test_a_deleted_topic_is_gone_and_its_name_is_free(admin, name, make_topic, confluent, sent):
    """Its records are gone too; a topic of the same name starts empty, with another id."""
    ids = []
    for _ in range(2):
        make_topic(name=name)
        described = admin.describe_topics(TopicCollection([name]))[name].result(30)
        ids.append(str(described.topic_id))
        assert confluent.produce(name, [sent(b"x")]) == [0]
        admin.delete_topics([name])[name].result(30)
    assert ids[0] != ids[1]
    assert reason(admin.delete_topics([name])[name]) == "UNKNOWN_TOPIC_OR_PART"


def test_partitions_only_grow(admin, make_topic, settle):
    """CreatePartitions adds; the same number or fewer is refused."""
    topic = make_topic(partitions=2)
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(30)
    settle()
    assert len(admin.list_topics(topic, 30).topics[topic].partitions) == 5
    for count in (5, 2):
        future = admin.create_partitions([NewPartitions(topic, count)])[topic]
        assert reason(future) == "INVALID_PARTITIONS"
    future = admin.create_partitions([NewPartitions("there-is-no-such-topic", 3)])
    assert reason(future["there-is-no-such-topic"]) == "UNKNOWN_TOPIC_OR_PART"


def test_the_cluster_describes_itself(admin, broker):
    """DescribeCluster: an id, this node, and the controller."""
    described = admin.describe_cluster().result(30)
    (node,) = described.nodes
    assert (node.host, node.port) == broker.address
    assert described.controller.id == node.id
    assert len(described.cluster_id) == 22


def test_offsets_are_listed_without_a_consumer(admin, topic, confluent, sent):
    """AdminClient.list_offsets: earliest, latest, by time, largest timestamp."""
    t0 = time.time_ns() // 1_000_000
    confluent.produce(topic, [sent(b"%d" % i, timestamp=t0 + i) for i in range(5)])
    place = TopicPartition(topic, 0)

    def ask(spec):
        return admin.list_offsets({place: spec})[place].result(30).offset

    assert ask(OffsetSpec.earliest()) == 0
    assert ask(OffsetSpec.latest()) == 5
    assert ask(OffsetSpec.for_timestamp(t0 + 3)) == 3
    assert ask(OffsetSpec.max_timestamp()) == 4


def test_records_are_deleted(admin, topic, confluent, sent):
    """AdminClient.delete_records answers with the new first offset."""
    confluent.produce(topic, [sent(b"%d" % i) for i in range(5)])
    place = TopicPartition(topic, 0, 3)
    assert admin.delete_records([place])[place].result(30).low_watermark == 3


# -- auto-creation ---------------------------------------------------------------------------------


def test_a_producer_makes_its_topic(client, name, sent, admin):
    """auto.create.topics.enable: the first record creates the topic, with the broker's defaults."""
    client.produce(name, [sent(b"first")])
    assert [record.value for record in client.read(name, 1)] == [b"first"]
    assert len(admin.list_topics(name, 30).topics[name].partitions) == 1


@pytest.mark.odradek({"auto.create.topics.enable": "false"})
def test_auto_creation_can_be_switched_off(embedded, name):
    """Then the producer hears of an unknown topic, and none is made."""
    errors = []
    producer = Producer(
        {
            "bootstrap.servers": embedded.bootstrap_servers,
            "topic.metadata.propagation.max.ms": 0,
            "message.timeout.ms": 5000,
        }
    )
    producer.produce(name, b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)
    assert errors[0].name() in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC")
    assert not producer.list_topics(timeout=30).topics


@pytest.mark.odradek({"num.partitions": "4"})
def test_auto_created_topics_have_num_partitions(embedded, name, open_client, sent):
    """num.partitions decides."""
    open_client("aiokafka", embedded.bootstrap_servers).produce(name, [sent(b"x", partition=3)])
    admin = AdminClient({"bootstrap.servers": embedded.bootstrap_servers})
    assert len(admin.list_topics(name, 30).topics[name].partitions) == 4


def test_a_consumer_that_may_not_create_does_not(broker, name, admin):
    """Asking for a topic's metadata without leave to create it makes none."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "unused",
            "allow.auto.create.topics": False,
        }
    )
    assert consumer.list_topics(name, 30).topics[name].error is not None
    consumer.close()
    assert name not in admin.list_topics(timeout=30).topics


# -- settings --------------------------------------------------------------------------------------


def configs(admin, kind, name):
    resource = ConfigResource(kind, name)
    return admin.describe_configs([resource])[resource].result(30)


def alter(admin, topic, *entries):
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=list(entries))
    return admin.incremental_alter_configs([resource])[resource]


def test_a_topics_settings_are_described_with_their_source(admin, make_topic):
    """What was set is the topic's, the rest is default, with the broker's key as synonym."""
    topic = make_topic(config={"retention.ms": "1234567"})
    found = configs(admin, ResourceType.TOPIC, topic)
    assert found["retention.ms"].value == "1234567"
    assert found["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert not found["retention.ms"].is_default
    assert found["cleanup.policy"].value == "delete"
    assert found["cleanup.policy"].source == ConfigSource.DEFAULT_CONFIG.value
    assert found["compression.type"].value == "producer"
    assert {"segment.bytes", "min.insync.replicas", "max.message.bytes"} <= set(found)


def test_settings_are_altered_one_by_one(admin, make_topic, settle):
    """KIP-339: set, append, subtract, delete."""
    topic = make_topic(config={"retention.ms": "1000"})
    op = AlterConfigOpType
    alter(
        admin,
        topic,
        ConfigEntry("segment.ms", "60000", incremental_operation=op.SET),
        ConfigEntry("cleanup.policy", "compact", incremental_operation=op.APPEND),
        ConfigEntry("retention.ms", None, incremental_operation=op.DELETE),
    ).result(30)
    settle()
    found = configs(admin, ResourceType.TOPIC, topic)
    assert found["segment.ms"].value == "60000"
    assert set(found["cleanup.policy"].value.split(",")) == {"delete", "compact"}
    assert found["retention.ms"].value == str(7 * 24 * 3_600_000)
    entry = ConfigEntry("cleanup.policy", "delete", incremental_operation=op.SUBTRACT)
    alter(admin, topic, entry).result(30)
    settle()
    assert configs(admin, ResourceType.TOPIC, topic)["cleanup.policy"].value == "compact"


@pytest.mark.parametrize(("key", "value"), [("retention.ms", "soon"), ("no.such.key", "1")])
def test_wrong_settings_are_refused(admin, topic, key, value):
    """The topic keeps what it had."""
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    assert reason(alter(admin, topic, entry)) == "INVALID_CONFIG"


def test_a_changed_setting_takes_effect_at_once(admin, topic, confluent, sent, settle):
    """max.message.bytes lowered: the next large record is refused."""
    confluent.produce(topic, [sent(b"x" * 5000)])
    entry = ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    alter(admin, topic, entry).result(30)
    settle()
    with pytest.raises(AssertionError, match="MSG_SIZE_TOO_LARGE"):
        confluent.produce(topic, [sent(b"x" * 5000)])


def test_replacing_all_settings_drops_the_others(broker, make_topic, admin, settle):
    """The older AlterConfigs: what is not in the call goes back to its default."""
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.admin.config_resource import ConfigResource as AioResource
    from aiokafka.admin.config_resource import ConfigResourceType

    topic = make_topic(config={"retention.ms": "1000", "segment.ms": "2000"})

    async def run():
        client = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        await client.start()
        resource = AioResource(ConfigResourceType.TOPIC, topic, {"segment.ms": "3000"})
        (answer,) = await client.alter_configs([resource])
        await client.close()
        return answer

    answer = asyncio.run(run())
    settle()
    assert answer.resources[0][0] == 0
    found = configs(admin, ResourceType.TOPIC, topic)
    assert found["segment.ms"].value == "3000"
    assert found["retention.ms"].value == str(7 * 24 * 3_600_000)


def test_the_brokers_settings_are_described(admin):
    """Read-only where a restart is needed; secrets are never shown."""
    (node,) = admin.list_topics(timeout=30).brokers
    found = configs(admin, ResourceType.BROKER, str(node))
    assert found["log.segment.bytes"].value == str(1 << 30)
    assert found["node.id"].is_read_only
    assert not found["log.cleaner.threads"].is_read_only
    assert all(entry.value is None for entry in found.values() if entry.is_sensitive)


def test_settings_of_what_is_not_there_are_refused(admin):
    """An unknown topic, a strange broker."""
    resource = ConfigResource(ResourceType.TOPIC, "there-is-no-such-topic")
    assert reason(admin.describe_configs([resource])[resource]) == "UNKNOWN_TOPIC_OR_PART"


def test_a_brokers_default_reaches_topics(embedded, make_topic_on, connect):
    """A cluster-wide dynamic key is the new default of topics that set none."""
    topic = make_topic_on(embedded.bootstrap_servers)()
    retention = iac.AlterableConfig(name="log.retention.ms", config_operation=0, value="77777")
    all_brokers = iac.AlterConfigsResource(resource_type=4, resource_name="", configs=[retention])
    request = iac.IncrementalAlterConfigsRequest(resources=[all_brokers], validate_only=False)
    (answer,) = connect(embedded.bootstrap_servers).ask(request, 1).responses
    assert answer.error_code == 0
    admin = AdminClient({"bootstrap.servers": embedded.bootstrap_servers})
    found = configs(admin, ResourceType.TOPIC, topic)["retention.ms"]
    assert found.value == "77777"
    assert found.source == ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value


# -- the rest of kafka-python's admin -----------------------------------------------------------


def test_kafka_python_describes_the_broker(broker, topic, confluent, sent):
    """Log dirs, producers, features, config resources, topic partitions, api versions."""
    from kafka import KafkaAdminClient
    from kafka import TopicPartition as KafkaPartition

    confluent.produce(topic, [sent(b"x" * 1000)])
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        assert admin.describe_cluster()
        assert admin.describe_topics([topic])
        assert admin.describe_topic_partitions([topic])
        assert admin.describe_log_dirs()
        assert admin.describe_features()
        assert admin.describe_producers([KafkaPartition(topic, 0)]) is not None
        assert admin.list_config_resources() is not None
        assert admin.api_versions()
    finally:
        admin.close()
