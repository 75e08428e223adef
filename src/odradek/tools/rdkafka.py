"""confluent-kafka for `produce` and `consume`: its settings, and its errors in our words.

Imported by these two commands only when they run, because loading librdkafka takes longer than
most other commands take altogether.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

import typer

from odradek.client.failures import err_of
from odradek.client.sync import Client
from odradek.errors import ApiError, Err

# librdkafka logs to stderr by itself; what matters comes as an error too, so only emergencies.
_LOG_LEVEL: Final = 0
# How long a broker may take to tell its topics through a connection that only librdkafka can make.
_METADATA_TIMEOUT_S: Final = 10.0

RdSettings: TypeAlias = dict[str, str | int | bool]

Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        "-X",
        metavar="KEY=VALUE",
        help="Any setting of librdkafka (linger.ms, security.protocol …); may be repeated.",
    ),
]


def base_settings(bootstrap_server: str) -> RdSettings:
    """What both commands start from; `-X` may overrule all of it."""
    return {
        "bootstrap.servers": bootstrap_server,
        "client.id": "odradek",
        "log_level": _LOG_LEVEL,
    }


def check_reachable(bootstrap_server: str, properties: Mapping[str, str]) -> None:
    """Fail at once, and in clear words, where librdkafka would go on trying for minutes."""
    if not needs_security(properties):
        with Client(properties.get("bootstrap.servers", bootstrap_server)) as client:
            client.metadata([])


def needs_security(properties: Mapping[str, str]) -> bool:
    """Whether the connection is one that our own client does not make yet."""
    return any(key.startswith(("security.", "sasl.", "ssl.")) for key in properties)


def topic_partitions(consumer: Any, topic: str) -> list[int]:
    """The partitions of a topic, as librdkafka sees it."""
    from confluent_kafka import KafkaException

    try:
        found = consumer.list_topics(topic, timeout=_METADATA_TIMEOUT_S).topics[topic]
    except KafkaException as error:
        raise translate(error.args[0]) from None
    if found.error is not None:
        raise translate(found.error, f"topic '{topic}' does not exist")
    return sorted(found.partitions)


def translate(error: Any, unknown_topic: str | None = None) -> ApiError:
    """A librdkafka error as ours. Its own codes are below -1 and have no row on the wire."""
    code = error.code()
    if code in (Err.UNKNOWN_TOPIC_OR_PARTITION, error._UNKNOWN_TOPIC) and unknown_topic is not None:
        return ApiError(Err.UNKNOWN_TOPIC_OR_PARTITION, unknown_topic)
    return ApiError(err_of(code), error.str())
