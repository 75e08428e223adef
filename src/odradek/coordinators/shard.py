"""The contract between a coordinator's pure state machine and the runtime that carries it.

A coordinator is split by the partitions of an internal topic: one *shard* owns the groups (or
transactional ids) that hash to one partition. A shard decides; it does no IO and owns no clock:

- A **handler** reads the state and returns an `Outcome`: records to append to the shard's partition, and
  a reply. It does not change replicated state.
- **Only `replay`** changes replicated state. The runtime calls it for each record right after the append,
  in order, and for every record of the log when the shard is loaded. So loading equals running.
- Soft state (who waits for an answer, timers) belongs to handlers and to `Outcome.then`; it is rebuilt,
  not replayed, after a restart.
- **Timers** are asked for by key and run as handlers.

The runtime runs everything of a shard on the loop's thread, one step at a time: handler, append, replay,
and, once the records are committed (below the high watermark), the reply. With one replica that is the
same turn of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from odradek.errors import Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.fields import Message

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class CoordinatorRecord(NamedTuple):
    """One record of an internal topic: typed key and value, and the version to write the value in.

    On disk a key is `type int16` (the key message's API_KEY) and the key's bytes; a value is `version
    int16` and its bytes. A null value is a tombstone.
    """

    key: Message
    value: Message | None
    value_version: int = 0


def nothing(err: Err) -> None:
    """For outcomes that nobody waits for."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T_co]):
    """What a handler decided.

    `reply` is given to the caller once `records` are committed. `then(err)` is called at that moment too,
    before the reply: Err.NONE, or why the records could not be written (then the state is as it was, and
    the caller gets that error instead of the reply). With `producer_id`, the records are written as one
    transactional batch of that producer.
    """

    records: tuple[CoordinatorRecord, ...]
    reply: T_co
    then: Callable[[Err], None] = nothing
    producer_id: int = -1
    producer_epoch: int = -1


class ShardTimers(Protocol):
    """Timers of one shard. They do not outlive it: a shard that is unloaded loses them all."""

    def schedule(self, key: str, delay_ms: float, operation: Callable[[], Outcome[None]]) -> None:
        """Run `operation` as a handler in `delay_ms`; a timer with the same key is replaced."""
        ...

    def cancel(self, key: str) -> None:
        """Forget a timer; harmless when there is none."""
        ...


class Shard(Protocol):
    """What every shard offers to the runtime."""

    def replay(
        self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord
    ) -> None:
        """Apply a record of the log; `producer_id` is -1 outside transactions."""
        ...

    def replay_end_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """A transaction that wrote to this partition has ended."""
        ...

    def on_loaded(self, image: MetadataImage) -> Outcome[None]:
        """The log has been replayed: set up soft state (timers), write what is missing."""
        ...

    def on_metadata(self, image: MetadataImage) -> Outcome[None]:
        """The metadata has changed (topics created, deleted, grown)."""
        ...

    def on_unloaded(self) -> None:
        """This broker no longer leads the partition: answer everybody who waits NOT_COORDINATOR."""
        ...
