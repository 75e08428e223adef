"""What every group has in common, whatever protocol its members speak.

`Offsets` asks a group whether somebody may commit, fetch or delete; ListGroups and DeleteGroups ask what it
is. A group that only holds offsets (a simple consumer commits without joining) is a classic group without
members. `GroupTable` is the one place where groups of a shard are found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from uuid import UUID

from odradek.coordinators.shard import CoordinatorRecord


class GroupType(Enum):
    """The protocols, by the names that ListGroups shows."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Group(ABC):
    """One group of either type; owned by its shard."""

    __slots__ = ("group_id",)

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id

    @property
    @abstractmethod
    def type(self) -> GroupType:
        """Which protocol its members speak."""

    @property
    @abstractmethod
    def state_name(self) -> str:
        """`Stable`, `Empty`, …: as ListGroups and the tools show it."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """`consumer` for consumers; empty for a group that only holds offsets."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether it has no members."""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member reads this topic; its offsets then neither expire nor may be deleted."""

    @abstractmethod
    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> None:
        """ApiError (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, STALE_MEMBER_EPOCH, …) when refused."""

    def held_since(self, member_id: str, epoch: int, topic_id: UUID, partition: int) -> bool:
        """Whether a member that is behind its epoch had this partition then, and has it still.

        What it commits for such a partition counts (KIP-1251). Groups that move all members at once do
        not know.
        """
        return False

    @abstractmethod
    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """ApiError when a member that names itself is not, or no longer, one."""

    @abstractmethod
    def check_delete(self) -> None:
        """ApiError(NON_EMPTY_GROUP) while it has members."""

    @abstractmethod
    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that make the group itself (not its offsets) go away."""

    @abstractmethod
    def expired_since(self) -> int | None:
        """Since when (ms) an empty group is without members, if it says so; None otherwise."""


class GroupTable:
    """The groups of one shard, by id."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}

    def get(self, group_id: str) -> Group | None:
        """The group, or None."""
        return self._groups.get(group_id)

    def put(self, group: Group) -> None:
        """Add a group, or replace the one of the same id (migration between protocols)."""
        self._groups[group.group_id] = group

    def remove(self, group_id: str) -> None:
        """Forget a group; harmless when there is none."""
        self._groups.pop(group_id, None)

    def __iter__(self) -> Iterator[Group]:
        return iter(tuple(self._groups.values()))

    def __len__(self) -> int:
        return len(self._groups)
