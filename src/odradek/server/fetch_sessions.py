"""Incremental fetch sessions (KIP-227): the broker remembers what a consumer reads.

A session starts with a full fetch (epoch 0). From then on the client sends only what changed, and the
broker answers only partitions that have records, an error, or a moved watermark. Each request carries
the session's next epoch; a wrong one is refused and the client starts over, so a lost reply costs one
full fetch and nothing else.

A session without partitions ends. Ids are random, as Kafka's: a client that comes back after a restart with
an old id must not meet somebody else's session under it.

The cache holds a bounded number of sessions; when it is full, a new one replaces the least recently used
that has been idle long enough, else the client is simply answered without a session.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from random import Random
from typing import Final

from odradek.errors import ApiError, Err
from odradek.interfaces import Clock
from odradek.protocol.messages.fetch import FetchRequest

NO_SESSION: Final = 0
FULL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_INT32_MAX: Final = 0x7FFFFFFF
# A session idle for so long may make room for a new one; Kafka's fixed two minutes.
EVICTION_MS: Final = 120_000

# A topic's name, or the 16 bytes of its id when the request speaks of ids.
TopicKey = str | bytes
PartitionKey = tuple[TopicKey, int]


class FetchPartition:
    """What a client wants of one partition, and what it was last told about it."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "max_bytes",
        "told_high_watermark",
        "told_log_start_offset",
        "topic",
    )

    def __init__(self, topic: TopicKey, index: int) -> None:
        self.topic = topic
        self.index = index
        self.fetch_offset = -1
        self.max_bytes = 0
        self.current_leader_epoch = -1
        self.last_fetched_epoch = -1
        self.told_high_watermark = -1
        self.told_log_start_offset = -1


Partitions = dict[PartitionKey, FetchPartition]


class FetchSession:
    """The remembered partitions of one client, in the order they are served."""

    __slots__ = ("by_id", "epoch", "id", "partitions", "used_ms")

    def __init__(self, session_id: int, partitions: Partitions, by_id: bool, now_ms: float) -> None:
        self.id = session_id
        self.epoch = 1
        self.partitions = partitions
        self.by_id = by_id
        self.used_ms = now_ms

    def serve_later(self, keys: Iterable[PartitionKey]) -> None:
        """Move partitions that were just served to the end, so that none starves."""
        for key in keys:
            partition = self.partitions.pop(key, None)
            if partition is not None:
                self.partitions[key] = partition


class FetchSessions:
    """The sessions of one broker."""

    def __init__(self, clock: Clock, slots_max: int, rng: Random | None = None) -> None:
        self._clock = clock
        self._slots_max = slots_max
        self._rng = rng or Random()
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def open(
        self, request: FetchRequest, by_id: bool
    ) -> tuple[FetchSession | None, Partitions, bool]:
        """The session and partitions a request is about, and whether its answer is incremental.

        ApiError tells the client to start over with a full fetch.
        """
        epoch = request.session_epoch
        if epoch in (FULL_EPOCH, FINAL_EPOCH):
            if request.session_id != NO_SESSION:
                self._sessions.pop(request.session_id, None)
            partitions = _update({}, request, by_id)
            if epoch == FINAL_EPOCH or not partitions:
                return None, partitions, False
            return self._create(partitions, by_id), partitions, False
        session = self._sessions.get(request.session_id)
        if session is None:
            raise ApiError(Err.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise ApiError(Err.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            raise ApiError(Err.FETCH_SESSION_TOPIC_ID_ERROR)
        session.epoch = 1 if epoch == _INT32_MAX else epoch + 1
        session.used_ms = self._clock.monotonic_ms()
        self._sessions.move_to_end(session.id)
        if request.topics or request.forgotten_topics_data:
            _forget(session.partitions, request, by_id)
            _update(session.partitions, request, by_id)
            if not session.partitions:
                del self._sessions[session.id]
                return None, session.partitions, False
        return session, session.partitions, True

    def _create(self, partitions: Partitions, by_id: bool) -> FetchSession | None:
        now_ms = self._clock.monotonic_ms()
        if len(self._sessions) >= self._slots_max:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now_ms - oldest.used_ms < EVICTION_MS:
                return None
            del self._sessions[oldest.id]
        session_id = self._rng.randint(1, _INT32_MAX)
        while session_id in self._sessions:
            session_id = self._rng.randint(1, _INT32_MAX)
        session = self._sessions[session_id] = FetchSession(session_id, partitions, by_id, now_ms)
        return session


def _update(partitions: Partitions, request: FetchRequest, by_id: bool) -> Partitions:
    """Take what the request says about partitions into `partitions`."""
    for topic in request.topics:
        key: TopicKey = topic.topic_id.bytes if by_id else topic.topic
        for wanted in topic.partitions:
            place = (key, wanted.partition)
            partition = partitions.get(place)
            if partition is None:
                partition = partitions[place] = FetchPartition(key, wanted.partition)
            partition.fetch_offset = wanted.fetch_offset
            partition.max_bytes = wanted.partition_max_bytes
            partition.current_leader_epoch = wanted.current_leader_epoch
            partition.last_fetched_epoch = wanted.last_fetched_epoch
    return partitions


def _forget(partitions: Partitions, request: FetchRequest, by_id: bool) -> None:
    for topic in request.forgotten_topics_data:
        key: TopicKey = topic.topic_id.bytes if by_id else topic.topic
        for index in topic.partitions:
            partitions.pop((key, index), None)
