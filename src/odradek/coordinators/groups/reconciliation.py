"""How a member gets from what it owns to what it shall own, without ever sharing a partition.

A member first gives up: it is told a smaller assignment and stays at its epoch until its heartbeat no
longer lists what it lost. Only then it moves to the target's epoch and gets what is free of its target;
what others still hold it gets at a later heartbeat. So a partition changes hands in two steps, and between
them nobody has it.

Pure: `reconcile` gives the member's next value. The rules are those of Apache Kafka's assignment builder.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from uuid import UUID

from odradek.coordinators.groups.consumer_members import (
    NOTHING_OWNED,
    Member,
    MemberState,
    Owned,
    Target,
)
from odradek.errors import ApiError, Err


def reconcile(
    member: Member,
    *,
    target: Target,
    target_epoch: int,
    subscribed: Set[UUID],
    subscription_changed: bool,
    is_held: Callable[[UUID, int], bool],
    owned: Target | None,
) -> Member:
    """The member's next value.

    `subscribed` are the topics it wants that exist; `is_held` tells whether a partition has an owner;
    `owned` is what the member says it has, None when its request does not say.
    """
    step = _Step(member, target, target_epoch, subscribed, is_held, owned)
    match member.state:
        case MemberState.STABLE:
            if member.member_epoch != target_epoch:
                return step.next_assignment(member.member_epoch)
            return step.drop_unsubscribed() if subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if not step.still_has(member.pending_revocation):
                return step.next_assignment(member.member_epoch)
            return step.drop_unsubscribed() if subscription_changed else member
        case MemberState.UNRELEASED_PARTITIONS:
            return step.next_assignment(member.member_epoch)
        case MemberState.UNKNOWN:
            # Written by a broker that knew more states: only a member that owns nothing may go on.
            if owned is None or owned:
                raise ApiError(
                    Err.FENCED_MEMBER_EPOCH,
                    "the member's state is unknown: give up all partitions and join again",
                )
            return step.next_assignment(target_epoch)


class _Step:
    """One reconciliation."""

    __slots__ = ("_is_held", "_member", "_owned", "_subscribed", "_target", "_target_epoch")

    def __init__(
        self,
        member: Member,
        target: Target,
        target_epoch: int,
        subscribed: Set[UUID],
        is_held: Callable[[UUID, int], bool],
        owned: Target | None,
    ) -> None:
        self._member = member
        self._target = target
        self._target_epoch = target_epoch
        self._subscribed = subscribed
        self._is_held = is_held
        self._owned = owned

    def still_has(self, partitions: Owned) -> bool:
        """Whether the member may have one of these: it lists one, or does not say what it has."""
        if self._owned is None:
            return True
        return any(
            topic_id in partitions and not indexes.isdisjoint(partitions[topic_id])
            for topic_id, indexes in self._owned.items()
        )

    def next_assignment(self, epoch_until_revoked: int) -> Member:
        """Give up, or take what is free."""
        member = self._member
        kept: dict[UUID, dict[int, int]] = {}
        lost: dict[UUID, dict[int, int]] = {}
        for topic_id, epochs in member.assigned.items():
            wanted = self._wanted(topic_id)
            for partition, epoch in epochs.items():
                fate = kept if partition in wanted else lost
                fate.setdefault(topic_id, {})[partition] = epoch
        if lost and self.still_has(lost):
            return replace(
                member,
                state=MemberState.UNREVOKED_PARTITIONS,
                member_epoch=epoch_until_revoked,
                previous_member_epoch=member.member_epoch,
                assigned=kept,
                pending_revocation=lost,
            )
        state = MemberState.STABLE
        for topic_id in self._target:
            mine = kept.get(topic_id, {})
            for partition in sorted(self._wanted(topic_id) - mine.keys()):
                if self._is_free(topic_id, partition):
                    kept.setdefault(topic_id, {})[partition] = self._target_epoch
                else:
                    state = MemberState.UNRELEASED_PARTITIONS
        return replace(
            member,
            state=state,
            member_epoch=self._target_epoch,
            previous_member_epoch=member.member_epoch,
            assigned=kept,
            pending_revocation=NOTHING_OWNED,
        )

    def drop_unsubscribed(self) -> Member:
        """The member no longer wants some of its topics: take them away without a new target."""
        member = self._member
        dropped = {t: e for t, e in member.assigned.items() if t not in self._subscribed}
        if not dropped:
            return member
        kept = {t: e for t, e in member.assigned.items() if t in self._subscribed}
        pending = {t: dict(e) for t, e in member.pending_revocation.items()}
        for topic_id, epochs in dropped.items():
            pending.setdefault(topic_id, {}).update(epochs)
        if not self.still_has(pending):
            return replace(member, assigned=kept, previous_member_epoch=member.member_epoch)
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_member_epoch=member.member_epoch,
            assigned=kept,
            pending_revocation=pending,
        )

    def _wanted(self, topic_id: UUID) -> frozenset[int]:
        """Its target, without topics it does not want any more (the target may be older)."""
        if topic_id not in self._subscribed:
            return frozenset()
        return self._target.get(topic_id, frozenset())

    def _is_free(self, topic_id: UUID, partition: int) -> bool:
        """Nobody has it; or only this member, which has just given it up and gets it back."""
        if not self._is_held(topic_id, partition):
            return True
        return partition in self._member.pending_revocation.get(topic_id, {})
