"""Kafka's own tool names and flags, as thin aliases: `odradek kafka-topics --create --topic t …`.

A classic tool has one flat list of flags, some of which (`--create`) choose what it does; some have
words for that (`list`), with flags before and after.
`translate` rewrites such a command line to ours and nothing else; the commands themselves are the
ordinary ones. Each tool is a row of facts. Pure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

# Kafka's reader and formatter properties carry what are options of their own with us.
_Property = Callable[[dict[str, str]], list[str]]


class Translation(NamedTuple):
    """Our command line, and what a person should know about the old one."""

    arguments: tuple[str, ...]
    notes: tuple[str, ...] = ()


def _no_properties(properties: dict[str, str]) -> list[str]:
    return []


def _producer_properties(properties: dict[str, str]) -> list[str]:
    if properties.get("parse.key", "false") != "true":
        return []
    return ["--key-separator", properties.get("key.separator", "\t")]


def _consumer_properties(properties: dict[str, str]) -> list[str]:
    printed = {"print.key": "--key", "print.timestamp": "--timestamp", "print.headers": "--headers"}
    return [flag for key, flag in printed.items() if properties.get(key) == "true"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tool:
    """One classic tool."""

    command: str
    # Flags and words that choose a subcommand.
    actions: Mapping[str, str] = field(default_factory=dict)
    # Flags that are called otherwise with us; "" makes the value an argument, a text that ends
    # with "=" goes before the value.
    renamed: Mapping[str, str] = field(default_factory=dict)
    # Values that are called otherwise, by (our) option.
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # Flags that may stand without a value, by (our) subcommand: the value they then mean.
    bare: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # Flags without meaning here, and flags whose value has none either.
    ignored: frozenset[str] = frozenset()
    ignored_with_value: frozenset[str] = frozenset()
    properties: _Property = _no_properties


_EVERYWHERE: Final = frozenset({"--zookeeper", "--command-config"})

_TOOLS: Final[Mapping[str, _Tool]] = {
    "kafka-topics": _Tool(
        command="topics",
        actions={
            "--create": "create",
            "--list": "list",
            "--describe": "describe",
            "--alter": "alter",
            "--delete": "delete",
        },
        ignored=frozenset({"--force"}),
        ignored_with_value=frozenset({"--partition-size-limit-per-response"}),
    ),
    "kafka-consumer-groups": _Tool(
        command="groups",
        actions={
            "--list": "list",
            "--describe": "describe",
            "--reset-offsets": "reset-offsets",
            "--delete": "delete",
            "--delete-offsets": "delete-offsets",
        },
        bare={("list", "--state"): "any", ("list", "--type"): "any"},
        ignored_with_value=frozenset({"--timeout"}),
    ),
    "kafka-transactions": _Tool(
        command="transactions",
        actions={
            name: name
            for name in ("list", "describe", "describe-producers", "abort", "find-hanging")
        },
    ),
    "kafka-configs": _Tool(
        command="configs",
        actions={"--describe": "describe", "--alter": "alter"},
        ignored=frozenset({"--force"}),
    ),
    "kafka-console-producer": _Tool(
        command="produce",
        renamed={
            "--topic": "",
            "--broker-list": "--bootstrap-server",
            "--producer-property": "-X",
            "--command-property": "-X",
            "--compression-codec": "--compression",
            "--request-required-acks": "--acks",
            "--batch-size": "-X batch.size=",
        },
        values={("--acks", "-1"): "all"},
        ignored=frozenset({"--sync", "--new-producer"}),
        ignored_with_value=frozenset(
            {
                "--line-reader",
                "--producer.config",
                "--message-send-max-retries",
                "--retry-backoff-ms",
                "--timeout",
                "--max-block-ms",
                "--max-memory-bytes",
                "--metadata-expiry-ms",
                "--request-timeout-ms",
                "--socket-buffer-size",
            }
        ),
        properties=_producer_properties,
    ),
    "kafka-console-consumer": _Tool(
        command="consume",
        renamed={
            "--topic": "",
            "--consumer-property": "-X",
            "--command-property": "-X",
            "--isolation-level": "-X isolation.level=",
        },
        ignored=frozenset({"--new-consumer", "--enable-systest-events", "--skip-message-on-error"}),
        ignored_with_value=frozenset({"--consumer.config", "--formatter", "--key-deserializer"}),
        properties=_consumer_properties,
    ),
    "kafka-log-dirs": _Tool(command="log-dirs", ignored=frozenset({"--describe"})),
    "kafka-delete-records": _Tool(command="delete-records"),
    "kafka-broker-api-versions": _Tool(command="api-versions"),
    "kafka-dump-log": _Tool(command="dump-log"),
}
_PROPERTY_FLAGS: Final = frozenset({"--property", "--reader-property", "--formatter-property"})


def translate(arguments: Sequence[str]) -> Translation:
    """Our spelling of a command line; one that is not a classic tool's stays as it is."""
    name = arguments[0].removesuffix(".sh") if arguments else ""
    tool = _TOOLS.get(name)
    if tool is None:
        return Translation(tuple(arguments))
    words: list[str] = []
    properties: dict[str, str] = {}
    notes: list[str] = []
    tokens = deque(_tokens(arguments[1:]))
    chosen = next((token for token in tokens if token in tool.actions), None)
    action = [tool.actions[chosen]] if chosen is not None else []
    if chosen is not None:
        tokens.remove(chosen)
    while tokens:
        token = tokens.popleft()
        if token in tool.ignored:
            continue
        if token in _EVERYWHERE or token in tool.ignored_with_value:
            notes.append(_note(token, _value(tokens)))
        elif token in _PROPERTY_FLAGS and tool.properties is not _no_properties:
            key, _, text = _value(tokens).partition("=")
            properties[key] = text
        elif (*action, token) in tool.bare and not (tokens and not tokens[0].startswith("-")):
            words += [token, tool.bare[action[0], token]]
        else:
            words += _renamed(tool, token, tokens)
    return Translation((tool.command, *action, *words, *tool.properties(properties)), tuple(notes))


def _value(tokens: deque[str]) -> str:
    """What follows a flag."""
    return tokens.popleft() if tokens else ""


def _renamed(tool: _Tool, token: str, tokens: deque[str]) -> list[str]:
    """A flag in our spelling, with its value where that changes too."""
    ours = tool.renamed.get(token, token)
    if token not in tool.renamed:
        return [ours]
    value = _value(tokens)
    value = tool.values.get((ours, value), value)
    if not ours:
        return [value]
    option, _, prefix = ours.partition(" ")
    return [option, prefix + value]


def _tokens(arguments: Sequence[str]) -> Iterator[str]:
    """Arguments with `--flag=value` taken apart."""
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if equals and flag.startswith("--"):
            yield flag
            yield value
        else:
            yield argument


def _note(flag: str, value: str) -> str:
    if flag == "--zookeeper":
        return (
            f"--zookeeper {value} is not needed: brokers are asked, those of --bootstrap-server "
            "(default 127.0.0.1:9092)."
        )
    return f"{flag} {value} has no meaning here and is ignored."
