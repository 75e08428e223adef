"""Metadata in the coordination store: Kafka's classic ZooKeeper layout, written and read back.

    /cluster/id                              {"version":"1","id":"…"}
    /controller            (ephemeral)       {"version":2,"brokerid":1,"timestamp":"…"}
    /controller_epoch                        1
    /brokers/ids/<id>      (ephemeral)       endpoints, rack; the node's czxid is the broker epoch
    /brokers/topics/<t>                      topic id and replicas of each partition
    /brokers/topics/<t>/partitions/<p>/state leader, leader epoch, ISR; the node's version is the
                                             partition epoch
    /config/topics/<t>  /config/brokers/<id|<default>>  /config/groups/<g>  …
    /feature                                 finalised feature levels
    /latest_producer_id_block                the last block of producer ids handed out

Pure: `writes` turns records into store operations, `read_image` a whole tree into an image. So
`zookeeper-shell` and older tools show what documents about Kafka show, whichever driver is below.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, assert_never
from urllib.parse import quote, unquote

from odradek.controller.features import default_features
from odradek.coordination.contract import Check, Create, Delete, Node, Op, Set
from odradek.metadata.delta import apply
from odradek.metadata.image import (
    BrokerRegistration,
    ConfigResource,
    Endpoint,
    MetadataImage,
    PartitionImage,
    ResourceType,
    TopicImage,
)
from odradek.metadata.records import (
    BrokerRegistered,
    BrokerUnregistered,
    ClusterNamed,
    ConfigChanged,
    ControllerElected,
    FeatureSet,
    MetadataRecord,
    PartitionChanged,
    PartitionsAdded,
    ProducerIdsAllocated,
    TopicCreated,
    TopicRemoved,
)
from odradek.types import uuid_from_text, uuid_to_text

CLUSTER_ID: Final = "/cluster/id"
CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
CONFIG: Final = "/config"
FEATURE: Final = "/feature"
PRODUCER_IDS: Final = "/latest_producer_id_block"
DEFAULT_ENTITY: Final = "<default>"

ENTITY_TYPES: Final[Mapping[ResourceType, str]] = {
    ResourceType.TOPIC: "topics",
    ResourceType.BROKER: "brokers",
    ResourceType.GROUP: "groups",
    ResourceType.CLIENT_METRICS: "client_metrics",
}
_RESOURCE_TYPES: Final = {name: type_ for type_, name in ENTITY_TYPES.items()}

# What must be there before the first record is written.
PERSISTENT_PATHS: Final = (
    "/cluster",
    BROKER_IDS,
    TOPICS,
    "/brokers/seqid",
    "/config/changes",
    *(f"{CONFIG}/{name}" for name in ENTITY_TYPES.values()),
    "/admin/delete_topics",
    "/isr_change_notification",
    "/log_dir_event_notification",
)


def to_json(value: Mapping[str, Any]) -> bytes:
    """Compact JSON, as Kafka writes it."""
    return json.dumps(value, separators=(",", ":")).encode()


def topic_path(topic: str) -> str:
    """The node of a topic."""
    return f"{TOPICS}/{topic}"


def config_path(resource: ConfigResource) -> str:
    """The node of a resource's overrides; names that a path cannot hold are percent-encoded."""
    name = quote(resource.name, safe="") or DEFAULT_ENTITY
    return f"{CONFIG}/{ENTITY_TYPES[resource.type]}/{name}"


def controller_json(broker_id: int, now_ms: int) -> bytes:
    """The `/controller` node: who leads the cluster."""
    return to_json({"version": 2, "brokerid": broker_id, "timestamp": str(now_ms)})


def broker_json(
    broker: BrokerRegistration, security_protocols: Mapping[str, str], now_ms: int
) -> bytes:
    """The `/brokers/ids/<id>` node. `host` and `port` repeat the first plain listener."""
    plain = next(
        (e for name, e in broker.endpoints.items() if security_protocols.get(name) == "PLAINTEXT"),
        None,
    )
    value: dict[str, Any] = {
        "version": 5,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "jmx_port": -1,
        "timestamp": str(now_ms),
        "endpoints": [_address(name, e) for name, e in broker.endpoints.items()],
        "listener_security_protocol_map": dict(security_protocols),
        "features": {},
    }
    if broker.rack is not None:
        value["rack"] = broker.rack
    return to_json(value)


def _address(listener: str, endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{listener}://{host}:{endpoint.port}"


def writes(
    records: Sequence[MetadataRecord], before: MetadataImage, after: MetadataImage
) -> list[Op]:
    """The store operations that take the tree from image `before` to `after`, its records applied.

    Registrations and the controller's claim are not written here: they are ephemeral nodes, which
    the broker concerned makes itself (`controller.shell`).
    """
    ops: list[Op] = []
    for record in records:
        match record:
            case TopicCreated():
                ops += _create_topic(record, before.controller_epoch)
            case TopicRemoved(name):
                ops += _remove_topic(before.topics[name])
            case PartitionsAdded(name, added):
                first = len(before.topics[name].partitions)
                ops.append(Set(topic_path(name), _topic_json(after.topics[name])))
                for index, partition in enumerate(added, first):
                    ops += _create_partition(name, index, partition, before.controller_epoch)
            case PartitionChanged(name, index, state):
                ops += _change_partition(name, index, state, before, after)
            case ConfigChanged(resource, overrides):
                ops += _change_config(resource, overrides, before)
            case FeatureSet():
                pass  # below: one node holds them all
            case ProducerIdsAllocated(broker_id, first, count):
                ops.append(
                    Set(PRODUCER_IDS, _producer_ids_json(broker_id, first, first + count - 1))
                )
            case ClusterNamed(cluster_id):
                ops.append(Create(CLUSTER_ID, to_json({"version": "1", "id": cluster_id})))
            case BrokerRegistered() | BrokerUnregistered() | ControllerElected():
                pass
            case _:
                assert_never(record)
    if after.features is not before.features:
        ops.append(Set(FEATURE, _features_json(after.features)))
    return ops


def initial_nodes() -> tuple[Create, ...]:
    """Nodes with contents that a new cluster starts with."""
    return (
        Create(CONTROLLER_EPOCH, b"0"),
        Create(FEATURE, _features_json(default_features())),
        Create(PRODUCER_IDS, _producer_ids_json(-1, 0, -1)),
    )


def fence(epoch_node_version: int) -> Check:
    """The operation that makes a `multi` fail once another controller has taken over."""
    return Check(CONTROLLER_EPOCH, epoch_node_version)


def read_image(nodes: Mapping[str, Node]) -> MetadataImage:
    """The image that a whole tree holds; also reads what older Kafka releases wrote."""
    topics = dict(_read_topics(nodes))
    image = MetadataImage(
        cluster_id=_json(nodes, CLUSTER_ID).get("id", ""),
        controller_id=_json(nodes, CONTROLLER).get("brokerid", -1),
        controller_epoch=int(nodes[CONTROLLER_EPOCH].data) if CONTROLLER_EPOCH in nodes else 0,
        brokers={broker.id: broker for broker in _read_brokers(nodes)},
        topics=topics,
        topics_by_id={topic.id: topic for topic in topics.values()},
        features=_json(nodes, FEATURE).get("features", {}),
        features_epoch=nodes[FEATURE].stat.version if FEATURE in nodes else 0,
        next_producer_id=int(_json(nodes, PRODUCER_IDS).get("block_end", -1)) + 1,
    )
    image, _ = apply(image, _read_configs(nodes, topics))
    return image


def _create_topic(record: TopicCreated, controller_epoch: int) -> Iterator[Op]:
    resource = ConfigResource(ResourceType.TOPIC, record.name)
    yield Create(config_path(resource), _config_json(record.overrides))
    yield Create(topic_path(record.name), _topic_json(record))
    yield Create(f"{topic_path(record.name)}/partitions")
    for index, partition in enumerate(record.partitions):
        yield from _create_partition(record.name, index, partition, controller_epoch)


def _create_partition(
    topic: str, index: int, partition: PartitionImage, controller_epoch: int
) -> Iterator[Op]:
    path = f"{topic_path(topic)}/partitions/{index}"
    yield Create(path)
    yield Create(f"{path}/state", _state_json(partition, controller_epoch))


def _remove_topic(topic: TopicImage) -> Iterator[Op]:
    path = topic_path(topic.name)
    for index in range(len(topic.partitions)):
        yield Delete(f"{path}/partitions/{index}/state")
        yield Delete(f"{path}/partitions/{index}")
    yield Delete(f"{path}/partitions")
    yield Delete(path)
    yield Delete(config_path(ConfigResource(ResourceType.TOPIC, topic.name)))


def _change_partition(
    topic: str, index: int, state: PartitionImage, before: MetadataImage, after: MetadataImage
) -> Iterator[Op]:
    old = before.topics[topic].partitions[index]
    path = f"{topic_path(topic)}/partitions/{index}/state"
    yield Set(path, _state_json(state, before.controller_epoch), old.partition_epoch)
    if (old.replicas, old.adding, old.removing) != (state.replicas, state.adding, state.removing):
        yield Set(topic_path(topic), _topic_json(after.topics[topic]))


def _change_config(
    resource: ConfigResource, overrides: Mapping[str, str], before: MetadataImage
) -> Iterator[Op]:
    """A topic's node is always there; another resource's is there while it overrides something."""
    path = config_path(resource)
    if resource.type is ResourceType.TOPIC or (before.overrides(resource) and overrides):
        yield Set(path, _config_json(overrides))
    elif overrides:
        yield Create(path, _config_json(overrides))
    elif before.overrides(resource):
        yield Delete(path)


def _config_json(overrides: Mapping[str, str]) -> bytes:
    return to_json({"version": 1, "config": dict(overrides)})


def _topic_json(topic: TopicImage | TopicCreated) -> bytes:
    partitions = list(enumerate(topic.partitions))
    return to_json(
        {
            "version": 3,
            "topic_id": uuid_to_text(topic.id),
            "partitions": {str(i): p.replicas for i, p in partitions},
            "adding_replicas": {str(i): p.adding for i, p in partitions if p.adding},
            "removing_replicas": {str(i): p.removing for i, p in partitions if p.removing},
        }
    )


def _state_json(partition: PartitionImage, controller_epoch: int) -> bytes:
    """The state of a partition; built by hand, as a thousand of them are written at once."""
    isr = ",".join(map(str, partition.isr))
    return (
        f'{{"controller_epoch":{controller_epoch},"leader":{partition.leader},"version":1,'
        f'"leader_epoch":{partition.leader_epoch},"isr":[{isr}]}}'
    ).encode()


def _features_json(features: Mapping[str, int]) -> bytes:
    return to_json({"version": 2, "status": 1, "features": dict(features)})


def _producer_ids_json(broker_id: int, first: int, last: int) -> bytes:
    return to_json(
        {"version": 1, "broker": broker_id, "block_start": str(first), "block_end": str(last)}
    )


def _json(nodes: Mapping[str, Node], path: str) -> dict[str, Any]:
    node = nodes.get(path)
    if node is None or not node.data:
        return {}
    value: dict[str, Any] = json.loads(node.data)
    return value


def _read_brokers(nodes: Mapping[str, Node]) -> Iterator[BrokerRegistration]:
    for name in _children(nodes, BROKER_IDS):
        path = f"{BROKER_IDS}/{name}"
        yield read_broker(int(name), nodes[path])


def read_broker(broker_id: int, node: Node) -> BrokerRegistration:
    """The registration that a `/brokers/ids` node holds."""
    value = json.loads(node.data)
    endpoints = {}
    for text in value["endpoints"]:
        name, _, address = text.partition("://")
        host, _, port = address.rpartition(":")
        endpoints[name] = Endpoint(host.strip("[]"), int(port))
    return BrokerRegistration(broker_id, endpoints, value.get("rack"), node.stat.czxid)


def _read_topics(nodes: Mapping[str, Node]) -> Iterator[tuple[str, TopicImage]]:
    for name in _children(nodes, TOPICS):
        value = _json(nodes, f"{TOPICS}/{name}")
        replicas, adding = value["partitions"], value.get("adding_replicas", {})
        removing = value.get("removing_replicas", {})
        partitions = tuple(
            _read_partition(
                nodes.get(f"{TOPICS}/{name}/partitions/{index}/state"),
                tuple(replicas[str(index)]),
                tuple(adding.get(str(index), ())),
                tuple(removing.get(str(index), ())),
            )
            for index in range(len(replicas))
        )
        yield name, TopicImage(name, uuid_from_text(value["topic_id"]), partitions)


def _read_partition(
    state: Node | None,
    replicas: tuple[int, ...],
    adding: tuple[int, ...],
    removing: tuple[int, ...],
) -> PartitionImage:
    assert state is not None, "a topic is written with all its states in one step"
    value = json.loads(state.data)
    return PartitionImage(
        replicas,
        tuple(value["isr"]),
        value["leader"],
        value["leader_epoch"],
        state.stat.version,
        adding,
        removing,
    )


def _read_configs(
    nodes: Mapping[str, Node], topics: Mapping[str, TopicImage]
) -> Iterator[ConfigChanged]:
    for entity_type, resource_type in _RESOURCE_TYPES.items():
        for name in _children(nodes, f"{CONFIG}/{entity_type}"):
            overrides = _json(nodes, f"{CONFIG}/{entity_type}/{name}").get("config", {})
            resource_name = "" if name == DEFAULT_ENTITY else unquote(name)
            if resource_type is ResourceType.TOPIC and resource_name not in topics:
                continue  # left behind by a tool that wrote settings ahead of the topic
            if overrides:
                yield ConfigChanged(ConfigResource(resource_type, resource_name), overrides)


def _children(nodes: Mapping[str, Node], parent: str) -> list[str]:
    prefix = parent + "/"
    start = len(prefix)
    return [p[start:] for p in nodes if p.startswith(prefix) and "/" not in p[start:]]
