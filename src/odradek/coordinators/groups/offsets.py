"""Committed offsets of the groups of one shard (pure): commit, fetch, delete.

    group ─► topic ─► partition ─► OffsetAndMetadata        what everybody sees
    producer id ─► group ─► (topic, partition) ─► …         written in a transaction that is still open

A group that only holds offsets (a *simple* consumer commits without joining) comes into being with its
first record. An offset written in a transaction takes effect at the commit marker, unless the log holds
a later one for the same partition by then. `replay` alone changes anything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from odradek.config.broker import BrokerConfig
from odradek.config.kinds import LONG_MAX
from odradek.coordinators.groups.group import Group, GroupTable
from odradek.coordinators.groups.records import NO_EXPIRY, offset_commit, offset_tombstone
from odradek.coordinators.shard import CoordinatorRecord, Outcome
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.messages.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from odradek.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from odradek.types import NO_LEADER_EPOCH, NO_OFFSET, NO_PRODUCER_ID, ZERO_UUID

# From this version on, a commit to a group that does not exist says so.
_GROUP_NOT_FOUND_FROM: Final = 9
# What a member is told that commits at an epoch before its own.
_BEHIND: Final = (Err.STALE_MEMBER_EPOCH, Err.ILLEGAL_GENERATION)


class OffsetAndMetadata(NamedTuple):
    """A committed offset. `record_offset` is its place in the internal topic."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    topic_id: UUID
    record_offset: int


class FetchedOffset(NamedTuple):
    """What a fetch says about a partition."""

    offset: int = NO_OFFSET
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    err: Err = Err.NONE


NOT_COMMITTED: Final = FetchedOffset()
_UNSTABLE: Final = FetchedOffset(err=Err.UNSTABLE_OFFSET_COMMIT)
_Offsets = dict[str, dict[int, OffsetAndMetadata]]


class Offsets:
    """The committed offsets of one shard's groups."""

    def __init__(
        self,
        table: GroupTable,
        config: Callable[[], BrokerConfig],
        now_ms: Callable[[], int],
        ensure_group: Callable[[str], object],
        on_commit: Callable[[Group, str], None] = lambda group, member_id: None,
    ) -> None:
        """`ensure_group` makes the group of a replayed offset; `on_commit` hears who is alive."""
        self._table = table
        self._config = config
        self._now_ms = now_ms
        self._ensure_group = ensure_group
        self._on_commit = on_commit
        self._offsets: dict[str, _Offsets] = {}
        self._pending: dict[int, dict[str, _Offsets]] = {}
        self._open: dict[str, set[int]] = {}  # producers with an open transaction, by group
        self._groups_of: dict[str, set[str]] = {}  # groups with offsets, by topic

    # -- asking --------------------------------------------------------------------------------

    def of_group(self, group_id: str) -> Iterator[tuple[str, int, OffsetAndMetadata]]:
        """(topic, partition, offset) of everything a group has committed."""
        for topic, partitions in self._offsets.get(group_id, {}).items():
            for partition, committed in partitions.items():
                yield topic, partition, committed

    def groups(self) -> Iterator[str]:
        """The groups that have committed offsets."""
        return iter(tuple(self._offsets))

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether an undecided transaction holds offsets of the group."""
        return group_id in self._open

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an undecided transaction holds an offset of this partition."""
        return any(
            partition in self._pending[producer_id][group_id].get(topic, ())
            for producer_id in self._open.get(group_id, ())
        )

    # -- committing ----------------------------------------------------------------------------

    def commit(
        self, request: OffsetCommitRequest, api_version: int
    ) -> Outcome[OffsetCommitResponse]:
        """Store positions; topics in the request have names and exist."""
        group_id = request.group_id
        group = self._group_for_commit(
            group_id, request.generation_id_or_member_epoch, api_version, is_transactional=False
        )
        if group is not None:
            _check_commit(group, request, api_version)
            self._on_commit(group, request.member_id)
        now_ms = self._now_ms()
        retention_ms = request.retention_time_ms
        expire_ms = min(now_ms + retention_ms, LONG_MAX) if retention_ms >= 0 else NO_EXPIRY
        metadata_max = self._config().offset_metadata_max_bytes
        records: list[CoordinatorRecord] = []
        topics: list[OffsetCommitResponseTopic] = []
        for topic in request.topics:
            partitions: list[OffsetCommitResponsePartition] = []
            for wanted in topic.partitions:
                index, metadata = wanted.partition_index, wanted.committed_metadata or ""
                err = Err.NONE
                if len(metadata) > metadata_max:
                    err = Err.OFFSET_METADATA_TOO_LARGE
                else:
                    records.append(
                        offset_commit(
                            group_id,
                            topic.name,
                            index,
                            wanted.committed_offset,
                            metadata,
                            now_ms,
                            leader_epoch=wanted.committed_leader_epoch,
                            expire_timestamp_ms=expire_ms,
                            topic_id=topic.topic_id,
                        )
                    )
                partitions.append(
                    OffsetCommitResponsePartition(partition_index=index, error_code=err)
                )
            topics.append(
                OffsetCommitResponseTopic(
                    name=topic.name, topic_id=topic.topic_id, partitions=partitions
                )
            )
        return Outcome(tuple(records), OffsetCommitResponse(topics=topics))

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, api_version: int
    ) -> Outcome[TxnOffsetCommitResponse]:
        """Store positions that count once the producer's transaction commits."""
        group_id = request.group_id
        group = self._group_for_commit(
            group_id, request.generation_id, api_version, is_transactional=True
        )
        if group is not None:
            try:
                group.check_offset_commit(
                    request.member_id,
                    request.group_instance_id,
                    request.generation_id,
                    is_transactional=True,
                    api_version=api_version,
                )
            except ApiError as error:
                if error.err is Err.STALE_MEMBER_EPOCH:
                    raise ApiError(Err.ILLEGAL_GENERATION, error.message) from error
                raise
        now_ms = self._now_ms()
        metadata_max = self._config().offset_metadata_max_bytes
        records: list[CoordinatorRecord] = []
        topics: list[TxnOffsetCommitResponseTopic] = []
        for topic in request.topics:
            partitions: list[TxnOffsetCommitResponsePartition] = []
            for wanted in topic.partitions:
                index, metadata = wanted.partition_index, wanted.committed_metadata or ""
                err = Err.NONE
                if len(metadata) > metadata_max:
                    err = Err.OFFSET_METADATA_TOO_LARGE
                else:
                    records.append(
                        offset_commit(
                            group_id,
                            topic.name,
                            index,
                            wanted.committed_offset,
                            metadata,
                            now_ms,
                            leader_epoch=wanted.committed_leader_epoch,
                        )
                    )
                partitions.append(
                    TxnOffsetCommitResponsePartition(partition_index=index, error_code=err)
                )
            topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        return Outcome(
            tuple(records),
            TxnOffsetCommitResponse(topics=topics),
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
        )

    def _group_for_commit(
        self, group_id: str, generation: int, api_version: int, *, is_transactional: bool
    ) -> Group | None:
        """The group; None when a simple consumer's first commit will make it."""
        group = self._table.get(group_id)
        if group is None and generation >= 0:
            if api_version >= _GROUP_NOT_FOUND_FROM and not is_transactional:
                raise ApiError(Err.GROUP_ID_NOT_FOUND)
            raise ApiError(Err.ILLEGAL_GENERATION)
        return group

    # -- fetching ------------------------------------------------------------------------------

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> bool:
        """Whether the group exists; ApiError when a member that names itself may not ask."""
        group = self._table.get(group_id)
        if group is None:
            return False
        group.check_offset_fetch(member_id, member_epoch)
        return True

    def fetch(
        self,
        group_id: str,
        topic: str,
        partition: int,
        *,
        require_stable: bool,
        topic_id: UUID = ZERO_UUID,
    ) -> FetchedOffset:
        """The committed offset of one partition."""
        if (
            require_stable
            and group_id in self._open
            and self.is_pending(group_id, topic, partition)
        ):
            return _UNSTABLE
        committed = self._offsets.get(group_id, {}).get(topic, {}).get(partition)
        if committed is None:
            return NOT_COMMITTED
        if topic_id != ZERO_UUID and committed.topic_id not in (ZERO_UUID, topic_id):
            return NOT_COMMITTED  # of an earlier topic of that name
        return FetchedOffset(committed.offset, committed.leader_epoch, committed.metadata)

    # -- deleting ------------------------------------------------------------------------------

    def delete(
        self, group_id: str, topics: list[tuple[str, list[int]]]
    ) -> Outcome[list[tuple[str, list[tuple[int, Err]]]]]:
        """Delete offsets; those of a topic that the group reads stay."""
        group = self._table.get(group_id)
        if group is None:
            raise ApiError(Err.GROUP_ID_NOT_FOUND)
        if not group.is_empty and group.protocol_type != "consumer":
            raise ApiError(Err.NON_EMPTY_GROUP)
        records: list[CoordinatorRecord] = []
        replies: list[tuple[str, list[tuple[int, Err]]]] = []
        for topic, partitions in topics:
            if group.is_subscribed_to(topic):
                replies.append((topic, [(p, Err.GROUP_SUBSCRIBED_TO_TOPIC) for p in partitions]))
                continue
            committed = self._offsets.get(group_id, {}).get(topic, {})
            records += (
                offset_tombstone(group_id, topic, p)
                for p in partitions
                if p in committed or self.is_pending(group_id, topic, p)
            )
            replies.append((topic, [(p, Err.NONE) for p in partitions]))
        return Outcome(tuple(records), replies)

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """The records that make all offsets of a group go away, undecided ones too."""
        doomed = {(topic, partition) for topic, partition, _ in self.of_group(group_id)}
        for producer_id in self._open.get(group_id, ()):
            for topic, partitions in self._pending[producer_id][group_id].items():
                doomed.update((topic, partition) for partition in partitions)
        return [offset_tombstone(group_id, *place) for place in sorted(doomed)]

    def without_topic(self, image: MetadataImage) -> list[CoordinatorRecord]:
        """Tombstones for the offsets of topics that do not exist any more."""
        records: list[CoordinatorRecord] = []
        for topic in [topic for topic in self._groups_of if topic not in image.topics]:
            for group_id in sorted(self._groups_of[topic]):
                doomed = set(self._offsets.get(group_id, {}).get(topic, ()))
                for producer_id in self._open.get(group_id, ()):
                    doomed |= self._pending[producer_id][group_id].get(topic, {}).keys()
                records += (offset_tombstone(group_id, topic, p) for p in sorted(doomed))
        return records

    # -- replaying -----------------------------------------------------------------------------

    def replay(self, offset: int, producer_id: int, record: CoordinatorRecord) -> None:
        """Apply a record whose key is an OffsetCommitKey."""
        key, value = record.key, record.value
        assert isinstance(key, OffsetCommitKey)
        if value is None:
            self._forget(key.group, key.topic, key.partition)
            return
        assert isinstance(value, OffsetCommitValue)
        committed = OffsetAndMetadata(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            offset,
        )
        if producer_id == NO_PRODUCER_ID:
            self._put(key.group, key.topic, key.partition, committed)
            return
        # The group is there from now on: who asks for stable offsets must hear of the transaction.
        self._ensure_group(key.group)
        groups = self._pending.setdefault(producer_id, {})
        topics = groups.setdefault(key.group, {})
        topics.setdefault(key.topic, {})[key.partition] = committed
        self._open.setdefault(key.group, set()).add(producer_id)
        self._groups_of.setdefault(key.topic, set()).add(key.group)

    def replay_end_marker(self, producer_id: int, committed: bool) -> None:
        """Let the offsets of a transaction take effect, or forget them."""
        for group_id, topics in self._pending.pop(producer_id, {}).items():
            producers = self._open[group_id]
            producers.discard(producer_id)
            if not producers:
                del self._open[group_id]
            for topic, partitions in topics.items():
                if committed:
                    current = self._offsets.get(group_id, {}).get(topic, {})
                    for partition, offset in partitions.items():
                        earlier = current.get(partition)
                        if earlier is None or offset.record_offset > earlier.record_offset:
                            self._put(group_id, topic, partition, offset)
                self._maybe_unlink(group_id, topic)

    def _put(self, group_id: str, topic: str, partition: int, committed: OffsetAndMetadata) -> None:
        topics = self._offsets.get(group_id)
        if topics is None:
            topics = self._offsets[group_id] = {}
            self._ensure_group(group_id)
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[topic] = {}
            self._groups_of.setdefault(topic, set()).add(group_id)
        partitions[partition] = committed

    def _forget(self, group_id: str, topic: str, partition: int) -> None:
        for producer_id in tuple(self._open.get(group_id, ())):
            self._pending[producer_id][group_id].get(topic, {}).pop(partition, None)
        topics = self._offsets.get(group_id, {})
        partitions = topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions and topic in topics:
            del topics[topic]
            if not topics:
                del self._offsets[group_id]
        self._maybe_unlink(group_id, topic)

    def _maybe_unlink(self, group_id: str, topic: str) -> None:
        """Forget that a group has offsets of a topic, if it has none."""
        if topic in self._offsets.get(group_id, ()):
            return
        if any(
            self._pending[producer_id][group_id].get(topic)
            for producer_id in self._open.get(group_id, ())
        ):
            return
        groups = self._groups_of.get(topic)
        if groups is not None:
            groups.discard(group_id)
            if not groups:
                del self._groups_of[topic]


def _check_commit(group: Group, request: OffsetCommitRequest, api_version: int) -> None:
    """ApiError unless the group lets this member commit; it may be behind for what it has held since."""
    member_id, epoch = request.member_id, request.generation_id_or_member_epoch
    try:
        group.check_offset_commit(
            member_id,
            request.group_instance_id,
            epoch,
            is_transactional=False,
            api_version=api_version,
        )
    except ApiError as error:
        if error.err not in _BEHIND or not all(
            group.held_since(member_id, epoch, topic.topic_id, wanted.partition_index)
            for topic in request.topics
            for wanted in topic.partitions
        ):
            raise
