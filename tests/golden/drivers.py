"""What each client does while it is recorded: a little of everything it can."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from importlib.metadata import version as installed
from pathlib import Path

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
LIBS = CONFORMANCE.parents[2] / "shared" / "peers" / "kafka-libs"


def environment() -> dict[str, str]:
    return dict(os.environ)


def free_port_pair() -> int:
    """A port that is free together with the one after it."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port = first.getsockname()[1]
            with suppress(OSError), socket.create_server(("127.0.0.1", port + 1)):
                return port


def versions() -> dict[str, str]:
    """The release of each client."""
    import confluent_kafka

    shown = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=True).stdout
    kcat = next(line for line in shown.splitlines() if line.startswith("Version"))

    def go(folder: str, module: str) -> str:
        lines = (CONFORMANCE / folder / "go.mod").read_text().split("\n")
        return next(line.split(module)[1].split()[0] for line in lines if f"{module} v" in line)

    return {
        "librdkafka": f"{confluent_kafka.libversion()[0]}"
        f" (confluent-kafka {confluent_kafka.version()})",
        "kcat": f"{kcat.split()[1]} (librdkafka {kcat.split('librdkafka ')[1].split()[0]})",
        "aiokafka": installed("aiokafka"),
        "kafka-python": installed("kafka-python"),
        "java": "4.3.1",
        "franz-go": go("franz-go", "github.com/twmb/franz-go"),
        "sarama": go("sarama", "github.com/IBM/sarama"),
        "kafkajs": "2.2.4",
    }


def librdkafka(servers: str) -> None:
    import confluent_kafka as ck
    from confluent_kafka import admin as ca

    where = {"bootstrap.servers": servers}
    admin = ca.AdminClient(where)
    topic = "rd"

    def result(futures: dict) -> None:  # type: ignore[type-arg]
        for future in futures.values():
            with suppress(ck.KafkaException):
                future.result(30)

    result(admin.create_topics([ca.NewTopic(topic, 2, 1, config={"retention.ms": "-1"})]))
    result(admin.create_topics([ca.NewTopic(topic, 2, 1)]))
    result(admin.create_topics([ca.NewTopic("a/b", 1, 1)]))
    admin.list_topics(topic, 30)
    result(admin.create_partitions([ca.NewPartitions(topic, 3)]))
    result(admin.create_partitions([ca.NewPartitions(topic, 1)]))
    for settings in ({"acks": 0}, {"acks": 1, "compression.type": "gzip"}, {"acks": "all"},
                     {"enable.idempotence": True, "compression.type": "zstd"}):  # fmt: skip
        producer = ck.Producer({**where, **settings})
        producer.produce(topic, b"value", b"key", 0, headers=[("h", b"v")])
        producer.flush(30)
    group = {"group.id": "rd", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = ck.Consumer({**where, **group})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    for _ in range(4):
        consumer.poll(10)
    consumer.offsets_for_times([ck.TopicPartition(topic, 0, 1)], 30)
    consumer.unassign()
    for protocol in ("classic", "consumer"):
        member = ck.Consumer({**where, **group, "group.id": protocol, "group.protocol": protocol})
        member.subscribe([topic])
        while member.poll(10) is None:
            pass
        member.commit(asynchronous=False)
        member.committed([ck.TopicPartition(topic, 0)], 30)
        member.close()
    producer = ck.Producer({**where, "transactional.id": "rd"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction")
    position = [ck.TopicPartition(topic, 0, 1)]
    producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    consumer.close()
    place = ck.TopicPartition(topic, 0)
    result(admin.list_offsets({place: ca.OffsetSpec.latest()}))
    result(admin.list_offsets({place: ca.OffsetSpec.max_timestamp()}))
    result(admin.delete_records([ck.TopicPartition(topic, 0, 1)]))
    result(admin.delete_records([ck.TopicPartition(topic, 0, 1000)]))
    resource = ca.ConfigResource(ca.ResourceType.TOPIC, topic)
    result(admin.describe_configs([resource]))
    result(admin.describe_configs([ca.ConfigResource(ca.ResourceType.TOPIC, "none")]))
    set_ms = ca.ConfigEntry("segment.ms", "70000", incremental_operation=ca.AlterConfigOpType.SET)
    altered = ca.ConfigResource(ca.ResourceType.TOPIC, topic, incremental_configs=[set_ms])
    result(admin.incremental_alter_configs([altered]))
    replaced = ca.ConfigResource(ca.ResourceType.TOPIC, topic, set_config={"segment.ms": "80000"})
    result(admin.alter_configs([replaced]))
    result(admin.describe_topics(ck.TopicCollection([topic, "none"])))
    admin.describe_cluster().result(30)
    admin.list_consumer_groups().result(30)
    result(admin.describe_consumer_groups(["classic"]))
    result(admin.list_consumer_group_offsets([ck.ConsumerGroupTopicPartitions("classic")]))
    result(admin.delete_consumer_groups(["classic"]))
    with suppress(ck.KafkaException):
        admin.describe_user_scram_credentials(["nobody"])["nobody"].result(30)
    with suppress(ck.KafkaException):
        admin.elect_leaders(ck.ElectionType.PREFERRED, [place]).result(30)
    result(admin.delete_topics([topic]))
    result(admin.delete_topics(["none"]))


def aiokafka(servers: str) -> None:
    asyncio.run(_aiokafka(servers))


async def _aiokafka(servers: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
    from aiokafka import admin as aa

    topic = "aio"
    admin = aa.AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    for name in (topic, topic, "a/b"):
        await admin.create_topics([aa.NewTopic(name, 2, 1)])
    await admin.create_partitions({topic: aa.NewPartitions(3)})
    for settings in ({"acks": 0}, {"acks": 1}, {"enable_idempotence": True}):
        async with AIOKafkaProducer(bootstrap_servers=servers, **settings) as producer:
            await producer.send_and_wait(topic, b"value", b"key", 0, headers=[("h", b"v")])
    place = TopicPartition(topic, 0)
    async with AIOKafkaConsumer(bootstrap_servers=servers) as consumer:
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        await consumer.getone()
        await consumer.offsets_for_times({place: 1})
    group = {"group_id": "aio", "auto_offset_reset": "earliest", "enable_auto_commit": False}
    async with AIOKafkaConsumer(topic, bootstrap_servers=servers, **group) as consumer:
        await consumer.getone()
        await consumer.commit()
        await consumer.committed(place)
    async with (
        AIOKafkaProducer(bootstrap_servers=servers, transactional_id="aio") as producer,
        producer.transaction(),
    ):
        await producer.send_and_wait(topic, b"in a transaction")
        await producer.send_offsets_to_transaction({place: 1}, "aio")
    await admin.describe_topics([topic, "none"])
    await admin.describe_cluster()
    resource = aa.config_resource.ConfigResource
    kind = aa.config_resource.ConfigResourceType.TOPIC
    await admin.describe_configs([resource(kind, topic)])
    await admin.alter_configs([resource(kind, topic, {"segment.ms": "70000"})])
    await admin.delete_records({place: aa.records_to_delete.RecordsToDelete(before_offset=1)})
    await admin.list_consumer_groups()
    await admin.describe_consumer_groups(["aio"])
    await admin.list_consumer_group_offsets("aio")
    await admin.delete_topics([topic])
    await admin.delete_topics(["none"])
    await admin.close()


def kafka_python(servers: str) -> None:
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka import admin as ka
    from kafka.errors import KafkaError

    topic, place = "kp", TopicPartition("kp", 0)
    admin = KafkaAdminClient(bootstrap_servers=servers)

    def attempt(call, *arguments, **options) -> None:  # type: ignore[no-untyped-def]
        with suppress(KafkaError):
            call(*arguments, **options)

    for name in (topic, topic, "a/b"):
        attempt(admin.create_topics, [ka.NewTopic(name, 2, 1)])
    attempt(admin.create_partitions, {topic: ka.NewPartitions(3)})
    for settings in ({"acks": 0}, {"acks": 1}, {}):
        idempotent = not settings
        producer = KafkaProducer(
            bootstrap_servers=servers, enable_idempotence=idempotent, **settings
        )
        producer.send(topic, b"value", b"key", [("h", b"v")], 0).get(30)
        producer.close()
    group = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    for group_id in (None, "kp"):
        consumer = KafkaConsumer(bootstrap_servers=servers, group_id=group_id, **group)
        if group_id:
            consumer.subscribe([topic])
        else:
            consumer.assign([place])
        while not consumer.poll(10_000):
            pass
        consumer.offsets_for_times({place: 1})
        consumer.end_offsets([place])
        if group_id:
            consumer.commit()
            consumer.committed(place)
        consumer.close()
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id="kp")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"in a transaction").get(30)
    producer.commit_transaction()
    producer.close()
    resource = ka.ConfigResource("TOPIC", topic)
    attempt(admin.describe_configs, [resource])
    attempt(admin.alter_configs, [ka.ConfigResource("TOPIC", topic, {"segment.ms": "70000"})])
    attempt(admin.delete_records, {place: 1})
    attempt(admin.describe_topics, [topic])
    attempt(admin.describe_topic_partitions, [topic])
    attempt(admin.describe_cluster)
    attempt(admin.describe_log_dirs, [place])
    attempt(admin.describe_producers, [place])
    attempt(admin.describe_features)
    attempt(admin.list_config_resources)
    attempt(admin.list_groups)
    attempt(admin.describe_groups, ["kp"])
    attempt(admin.list_transactions)
    attempt(admin.describe_transactions, ["kp"])
    attempt(admin.describe_metadata_quorum)
    attempt(admin.list_partition_reassignments)
    attempt(admin.list_partition_offsets, {place: ka.OffsetSpec.LATEST})
    attempt(admin.delete_topics, [topic])
    attempt(admin.delete_topics, ["none"])
    admin.close()


def kcat(servers: str) -> None:
    def run(*arguments: str, typed: str = "") -> None:
        command = ["kcat", "-b", servers, *arguments]
        subprocess.run(command, input=typed, text=True, check=False, timeout=60)

    run("-P", "-t", "kcat", "-K", ":", "-H", "h=v", typed="k:v\n")
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        run("-P", "-t", "kcat", "-z", codec, typed="value\n" * 3)
    run("-C", "-t", "kcat", "-e", "-q")
    run("-L", "-t", "kcat")
    run("-Q", "-t", "kcat:0:-1")
    run("-G", "kcat", "-e", "-q", "kcat")


def java(servers: str) -> None:
    launch = ["java", "-Dlog4j2.level=OFF", "-cp", f"{LIBS}/*"]
    source = CONFORMANCE / "java"
    subprocess.run([*launch, str(source / "Conformance.java"), servers, "groups"], check=True)
    tools = [
        ("org.apache.kafka.tools.TopicCommand", "--create", "--topic", "java-tools"),
        ("org.apache.kafka.tools.ConsoleProducer", "--topic", "java-tools", "<", "one", "two"),
        ("org.apache.kafka.tools.ProducerPerformance", "--topic", "java-tools",
         "--num-records", "3", "--record-size", "20", "--throughput", "-1"),
        ("org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", "java-tools",
         "--from-beginning", "--max-messages", "2"),
        ("org.apache.kafka.tools.AclCommand", "--list"),
        ("kafka.admin.ConfigCommand", "--describe", "--entity-type", "users"),
        ("kafka.admin.ConfigCommand", "--alter", "--entity-type", "users", "--entity-name", "u",
         "--add-config", "producer_byte_rate=1000000"),
        ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--list"),
        ("org.apache.kafka.tools.LeaderElectionCommand", "--election-type", "preferred",
         "--topic", "java-tools", "--partition", "0"),
        ("org.apache.kafka.tools.MetadataQuorumCommand", "describe", "--status"),
        ("org.apache.kafka.tools.FeatureCommand", "upgrade", "--feature", "metadata.version=1",
         "--dry-run"),
        ("org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", "java-tools"),
        ("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--list", "--state"),
        ("org.apache.kafka.tools.TopicCommand", "--delete", "--topic", "java-tools"),
    ]  # fmt: skip
    lines = ["\t".join((tool, "--bootstrap-server", servers, *rest)) for tool, *rest in tools]
    command = [*launch, str(source / "Tools.java")]
    subprocess.run(command, input="\n".join(lines) + "\n", text=True, check=True)


def go(folder: str, servers: str) -> None:
    with tempfile.TemporaryDirectory() as built:
        program = Path(built) / folder
        build = ["go", "build", "-o", str(program), "."]
        subprocess.run(build, cwd=CONFORMANCE / folder, check=True)
        subprocess.run([str(program), servers, "groups"], check=True)


def kafkajs(servers: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "main.js"):
            shutil.copy(CONFORMANCE / "kafkajs" / name, folder)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
        subprocess.run(["node", "main.js", servers, "groups"], cwd=folder, check=True)


DRIVERS = {
    "librdkafka": librdkafka,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
    "kcat": kcat,
    "java": java,
    "franz-go": lambda servers: go("franz-go", servers),
    "sarama": lambda servers: go("sarama", servers),
    "kafkajs": kafkajs,
}
