"""The group coordinator's shard: offsets, classic groups and consumer groups over one partition (pure).

The parts share the table of groups; `replay` hands each record to the part that its key belongs to. The
classic part also serves classic members of consumer groups, and groups move between the two. What concerns
a group whatever its protocol (list, delete, expiry, deleted topics) is here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple
from uuid import UUID

from odradek.config.broker import BrokerConfig
from odradek.config.units import MINUTE_MS
from odradek.coordinators.groups.classic_group import ClassicGroup, ClassicState
from odradek.coordinators.groups.classic_in_consumer import BilingualGroups
from odradek.coordinators.groups.consumer import ConsumerGroups
from odradek.coordinators.groups.expiry import expired
from odradek.coordinators.groups.group import Group, GroupTable
from odradek.coordinators.groups.offsets import Offsets
from odradek.coordinators.shard import CoordinatorRecord, Outcome, ShardTimers, nothing
from odradek.errors import ApiError, Err
from odradek.metadata.image import MetadataImage
from odradek.protocol.messages.internal.group_metadata import GroupMetadataKey
from odradek.protocol.messages.internal.offset_commit import LegacyOffsetCommitKey, OffsetCommitKey
from odradek.types import uuid_to_text

_EXPIRY: Final = "expire-offsets"
# States of a classic group in which a commit is as good as a heartbeat.
_ALIVE_BY_COMMIT: Final = (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE)


class GroupSummary(NamedTuple):
    """A line of ListGroups."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class GroupShard:
    """The groups that hash to one partition of the offsets topic."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        now_ms: Callable[[], int],
        timers: ShardTimers,
        new_id: Callable[[], UUID],
    ) -> None:
        """`config` and `now_ms` are asked anew each time; `new_id` names members."""
        self._config = config
        self._now_ms = now_ms
        self._timers = timers
        self.table: Final = GroupTable()
        self._image = MetadataImage()
        self.consumer: Final = ConsumerGroups(
            self.table,
            config,
            timers,
            now_ms,
            lambda: self._image,
            lambda: uuid_to_text(new_id()),
        )
        self.classic: Final = BilingualGroups(
            self.table,
            config,
            timers,
            now_ms,
            lambda: self._image,
            lambda: str(new_id()),
            self.consumer,
        )
        self.offsets: Final = Offsets(
            self.table, config, now_ms, self._ensure_group, self._heard_of_member
        )

    # -- groups of any type --------------------------------------------------------------------

    def list_groups(self, states: Collection[str], types: Collection[str]) -> list[GroupSummary]:
        """The groups in one of `states` and of one of `types`, lower case; empty means any."""
        return [
            GroupSummary(g.group_id, g.protocol_type, g.state_name, g.type.value)
            for g in self.table
            if (not states or g.state_name.lower() in states)
            and (not types or g.type.value in types)
        ]

    def delete_group(self, group_id: str) -> Outcome[None]:
        """Delete a group without members, with its offsets."""
        group = self.table.get(group_id)
        if group is None:
            raise ApiError(Err.GROUP_ID_NOT_FOUND)
        group.check_delete()
        return Outcome((*self.offsets.tombstones(group_id), *group.tombstones()), None)

    def _ensure_group(self, group_id: str) -> Group:
        group = self.table.get(group_id)
        if group is None:
            group = ClassicGroup(group_id)
            self.table.put(group)
        return group

    def _heard_of_member(self, group: Group, member_id: str) -> None:
        """A commit keeps a classic member's session alive; consumer members have heartbeats."""
        if isinstance(group, ClassicGroup) and group.state in _ALIVE_BY_COMMIT:
            self.classic.keep_session(group, member_id)

    # -- what the runtime asks -----------------------------------------------------------------

    def replay(
        self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord
    ) -> None:
        """Apply a record of the log."""
        key = record.key
        if isinstance(key, OffsetCommitKey):
            self.offsets.replay(offset, producer_id, record)
        elif isinstance(key, GroupMetadataKey):
            self.classic.replay(record)
        elif not isinstance(key, LegacyOffsetCommitKey):
            self.consumer.replay(record)

    def replay_end_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """Decide about the offsets of a transaction."""
        self.offsets.replay_end_marker(producer_id, committed)

    def on_loaded(self, image: MetadataImage) -> Outcome[None]:
        """Set timers; forget offsets of topics that were deleted while nobody listened."""
        self._image = image
        for group_id in self.offsets.groups():
            self._ensure_group(group_id)
        self._expire_later(self._config().offsets_retention_check_interval_ms)
        return _joined(
            self.classic.on_loaded(image),
            self.consumer.on_loaded(image),
            self._without_deleted_topics(image),
        )

    def on_metadata(self, image: MetadataImage) -> Outcome[None]:
        """Tell the parts; forget the offsets of deleted topics."""
        self._image = image
        return _joined(
            self.classic.on_metadata(image),
            self.consumer.on_metadata(image),
            self._without_deleted_topics(image),
        )

    def on_unloaded(self) -> None:
        """Answer everybody who waits."""
        self.classic.on_unloaded()
        self.consumer.on_unloaded()

    def _without_deleted_topics(self, image: MetadataImage) -> Outcome[None]:
        return Outcome(tuple(self.offsets.without_topic(image)), None)

    # -- expiry --------------------------------------------------------------------------------

    def _expire_later(self, delay_ms: float) -> None:
        self._timers.schedule(_EXPIRY, delay_ms, self._expire)

    def _expire(self) -> Outcome[None]:
        config = self._config()
        records = expired(
            self.table,
            self.offsets,
            self._now_ms(),
            config.offsets_retention_minutes * MINUTE_MS,
        )
        # After a full run there may be more; let others have a turn first.
        self._expire_later(0 if records else config.offsets_retention_check_interval_ms)
        return Outcome(tuple(records), None)


def _joined(*outcomes: Outcome[None]) -> Outcome[None]:
    """What several parts decided, as one."""
    waiting = [outcome.then for outcome in outcomes if outcome.then is not nothing]

    def then(err: Err) -> None:
        for call in waiting:
            call(err)

    records = tuple(record for outcome in outcomes for record in outcome.records)
    return Outcome(records, None, then if waiting else nothing)
