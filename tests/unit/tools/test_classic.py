"""Command lines written for Kafka's own tools mean the same here."""

from __future__ import annotations

import shlex

import pytest

from odradek.tools.classic import translate


@pytest.mark.parametrize(
    ("classic", "ours"),
    [
        (
            "kafka-topics.sh --create --topic helloworld --partitions 3 --replication-factor 3",
            "topics create --topic helloworld --partitions 3 --replication-factor 3",
        ),
        (
            "kafka-topics --alter --topic t --config max.message.bytes=5 --deleteConfig x",
            "topics alter --topic t --config max.message.bytes=5 --deleteConfig x",
        ),
        (
            "kafka-configs --bootstrap-server=h:1 --alter --entity-type topics --entity-name t "
            "--add-config segment.ms=60000",
            "configs alter --bootstrap-server h:1 --entity-type topics --entity-name t "
            "--add-config segment.ms=60000",
        ),
        (
            "kafka-console-producer --broker-list h:1 --topic t --property parse.key=true "
            "--property key.separator=: --request-required-acks -1 --sync",
            "produce --bootstrap-server h:1 t --acks all --key-separator :",
        ),
        (
            "kafka-console-consumer.sh --topic t --from-beginning --property print.key=true "
            "--isolation-level read_committed --consumer-property a=b",
            "consume t --from-beginning -X isolation.level=read_committed -X a=b --key",
        ),
        ("kafka-log-dirs --describe --topic-list t", "log-dirs --topic-list t"),
        (
            "kafka-consumer-groups.sh --bootstrap-server h:1 --describe --group g --state",
            "groups describe --bootstrap-server h:1 --group g --state",
        ),
        (
            "kafka-consumer-groups --state --list --type classic",
            "groups list --state any --type classic",
        ),
        (
            "kafka-consumer-groups --group g --reset-offsets --topic t:0,1 --shift-by -3 --execute",
            "groups reset-offsets --group g --topic t:0,1 --shift-by -3 --execute",
        ),
        (
            "kafka-transactions.sh --bootstrap-server h:1 describe --transactional-id list",
            "transactions describe --bootstrap-server h:1 --transactional-id list",
        ),
        ("topics create t", "topics create t"),
        ("", ""),
    ],
)
def test_classic_flags_become_ours(classic: str, ours: str) -> None:
    """D3-11: the spellings of the documents are understood."""
    translated = translate(shlex.split(classic))
    assert translated.arguments == tuple(shlex.split(ours))
    assert not translated.notes


def test_zookeeper_is_accepted_and_explained() -> None:
    translated = translate(["kafka-topics", "--list", "--zookeeper", "localhost:2181"])
    assert translated.arguments == ("topics", "list")
    (note,) = translated.notes
    assert "--bootstrap-server" in note
