"""The configuration of one broker: every key of Kafka 4.3, the ZooKeeper era's, and our own.

The keys are declared in the `broker_*` modules, one family each. A key is *effective* (the broker
uses it), kept for *later* (a capability that is not there yet), or of *no use* here; setting one
of the latter two gives a note at the start, never an error, so that an existing server.properties
works as it is. Defaults are Kafka's, except for four with a reason:

- ``listeners`` is loopback only: a broker started to try something should not be open to others;
- ``log.dirs`` is a folder of the user's (`data_folder`), not one in /tmp that a reboot empties;
- ``socket.receive.buffer.bytes`` leaves the size to the kernel, which grows it as needed: a fixed
  100 KB costs more system calls per byte received;
- ``socket.listen.backlog.size`` is 1024, since one thread accepts for everyone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from odradek.config.broker_general import GeneralKeys, OwnKeys
from odradek.config.broker_groups import GroupKeys
from odradek.config.broker_log import CleanerKeys, LogKeys
from odradek.config.broker_network import NetworkKeys
from odradek.config.broker_oauth import OAuthKeys
from odradek.config.broker_quorum import QuorumKeys
from odradek.config.broker_quotas import QuotaKeys
from odradek.config.broker_replication import ReplicationKeys
from odradek.config.broker_security import AccessKeys, SaslKeys, TlsKeys
from odradek.config.broker_sharing import ShareGroupKeys, StreamsGroupKeys
from odradek.config.broker_tiered import TieredKeys
from odradek.config.broker_topics import TopicKeys
from odradek.config.broker_transactions import TransactionKeys
from odradek.config.broker_zookeeper import EarlierKeys, ZooKeeperKeys
from odradek.config.declare import ConfigError, Key, Note, settings, unknown_key

LISTENER_PREFIX = "listener.name."


@settings
class BrokerConfig(
    GeneralKeys,
    NetworkKeys,
    TopicKeys,
    LogKeys,
    CleanerKeys,
    OwnKeys,
    ReplicationKeys,
    GroupKeys,
    StreamsGroupKeys,
    ShareGroupKeys,
    TransactionKeys,
    QuotaKeys,
    AccessKeys,
    TlsKeys,
    SaslKeys,
    OAuthKeys,
    ZooKeeperKeys,
    EarlierKeys,
    QuorumKeys,
    TieredKeys,
):
    """A broker's static configuration; `given` holds the keys that were set explicitly."""

    @classmethod
    def from_strings(
        cls, texts: Mapping[str, str], environ: Mapping[str, str] | None = None
    ) -> tuple[Self, list[Note]]:
        """From texts as a properties file has them; ConfigError for a bad value, else notes."""
        values: dict[str, Any] = {}
        given: dict[str, str] = {}
        notes: list[Note] = []
        for name, text in texts.items():
            declared = cls.KEYS.get(name)
            if declared is None:
                notes.append(_note_on_unknown(name, text, cls.KEYS))
                continue
            values[declared.attribute] = declared.parse(text)
            given[name] = text.strip()
            note = _note_on_use(declared)
            if note is not None:
                notes.append(note)
        _settle_node_id(values)
        _settle_log_dirs(values, environ or {})
        return cls.assemble(values, given), notes


def data_folder(environ: Mapping[str, str]) -> str | None:
    """The user's folder for data, by the XDG rules; None when the environment names no home."""
    if root := environ.get("XDG_DATA_HOME"):
        return f"{root}/odradek/data"
    if home := environ.get("HOME"):
        return f"{home}/.local/share/odradek/data"
    return None


def _settle_node_id(values: dict[str, Any]) -> None:
    """node.id and broker.id are one fact."""
    ids = {values[name] for name in ("node_id", "broker_id") if name in values}
    if len(ids) > 1:
        raise ConfigError(
            f"node.id={values['node_id']} and broker.id={values['broker_id']} differ: "
            "they are two names of one number, set one of them"
        )
    for node_id in ids:
        values["node_id"] = values["broker_id"] = node_id


def _settle_log_dirs(values: dict[str, Any], environ: Mapping[str, str]) -> None:
    """`log_dirs` is what counts in the end: log.dirs, else log.dir, else the user's data folder."""
    folders = values.get("log_dirs") or values.get("log_dir")
    if not folders and (folder := data_folder(environ)) is not None:
        folders = (folder,)
    if not folders:
        return
    if any(not folder for folder in folders) or len(set(folders)) < len(folders):
        raise ConfigError(f"log.dirs={','.join(folders)}: expected each folder once, none empty")
    values["log_dirs"] = folders


def _note_on_use(declared: Key) -> Note | None:
    use = declared.use
    if use.status == "later":
        return Note(declared.name, f"not used yet: it comes with {use.reason}")
    if use.status == "none":
        return Note(declared.name, f"has no effect: {use.reason}")
    return None


def _note_on_unknown(name: str, text: str, known: Mapping[str, Key]) -> Note:
    if not name.startswith(LISTENER_PREFIX):
        return Note(name, unknown_key(name, known))
    # listener.name.<listener>.<key>: the key for one listener only; mechanisms add a level more.
    bare = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
    declared = known.get(bare) or known.get(bare.partition(".")[2])
    if declared is None:
        return Note(name, unknown_key(bare, known))
    declared.parse(text)
    return Note(name, "not used yet: it comes with security")
