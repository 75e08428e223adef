"""What one request changes in a consumer group: subscription, group epoch, target, and what a member owns.

A handler makes a `GroupUpdate`, tells it the member's old and new value, and takes the records from it. In
order:

1. The member's subscription is written if it changed.
2. Patterns are resolved: a new one at once, all of them when topics have come or gone.
3. The group epoch grows if somebody's topics changed, or the topics themselves did (`metadata_hash`).
4. The target is computed if it is behind the group epoch, though not more often than
   `group.consumer.assignment.interval.ms`; until then members stay with the last one.
5. The member is reconciled with the target.

Nothing is changed here. Soft state (why the group moved, which topics were looked at) is set by `written`,
once the records are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from odradek.coordinators.groups import consumer_records as records_of
from odradek.coordinators.groups.assignors import ASSIGNORS, MemberSpec
from odradek.coordinators.groups.consumer_group import (
    ConsumerGroup,
    ResolvedRegex,
    as_new_instance,
    count_topics,
)
from odradek.coordinators.groups.consumer_members import NOTHING, Member, Target
from odradek.coordinators.groups.history import RebalanceNotes
from odradek.coordinators.groups.reconciliation import reconcile
from odradek.coordinators.groups.subscriptions import (
    Patterns,
    metadata_hash,
    topic_ids,
    topic_names,
)
from odradek.coordinators.shard import CoordinatorRecord
from odradek.metadata.image import MetadataImage

# Patterns are looked up again this often at most, however fast topics come and go.
REGEX_REFRESH_MIN_MS: Final = 1000


class Surroundings(NamedTuple):
    """What an update needs to know beside the group."""

    image: MetadataImage
    patterns: Patterns
    now_ms: int
    assignment_interval_ms: int
    regex_refresh_interval_ms: int
    default_assignor: str


class GroupUpdate:
    """One step of a group. `records` grows as it goes on."""

    def __init__(
        self, group: ConsumerGroup, around: Surroundings, records: list[CoordinatorRecord]
    ) -> None:
        self.group = group
        self.records = records
        self.group_epoch = group.group_epoch
        self.target_epoch = group.assignment_epoch
        self._around = around
        self._replaced: str | None = None
        self._taken_over: tuple[str, str, str] | None = None
        self._resolved: Mapping[str, ResolvedRegex] = group.resolved
        self._reasons: list[str] = []
        self._joined: list[str] = []
        self._left: list[str] = []
        self._timed_out: list[str] = []
        self._regexes_looked_up = False
        self._has_new_target = False

    # -- members -------------------------------------------------------------------------------

    def replace_static(self, old: Member, member_id: str) -> Member:
        """A static member came back: the new id takes over all that the old one had."""
        group_id = self.group.group_id
        member = as_new_instance(old, member_id)
        if member_id != old.member_id:
            self._replaced = old.member_id
            self._taken_over = (old.instance_id or "", old.member_id, member_id)
            self.records.extend(records_of.member_tombstones(group_id, old.member_id))
        self.records.append(records_of.member_subscription(group_id, member))
        target = self.group.target.get(old.member_id, NOTHING)
        self.records.append(records_of.member_target(group_id, member_id, target))
        self.records.append(records_of.current_assignment(group_id, member))
        return member

    def put_member(self, before: Member, after: Member, owned: Target | None) -> Member:
        """The member's subscription is now `after`'s; gives the member as it leaves this step."""
        group, around = self.group, self._around
        is_new = before.member_id not in group.members and self._replaced is None
        names_changed = before.subscribed_topic_names != after.subscribed_topic_names
        regex_changed = before.subscribed_topic_regex != after.subscribed_topic_regex
        if after is not before:
            self.records.append(records_of.member_subscription(group.group_id, after))
        if is_new:
            self._joined.append(after.member_id)
        if names_changed or regex_changed:
            what = "joined" if is_new else "changed its subscription"
            self._reasons.append(f"member {after.member_id} {what}")
        if self._reasons or group.seen_topics is not around.image.topics:
            self._resolve_regexes(before, after)
            self._move_group_epoch(self._topic_counts(before, after))
        target = self._current_target(after)
        return self._reconcile(after, target, owned, names_changed or regex_changed)

    def remove_members(
        self, members: Collection[Member], reason: str, *, timed_out: bool = False
    ) -> None:
        """Members go away. Their target is redistributed with the next heartbeat of another one."""
        group = self.group
        gone = self._timed_out if timed_out else self._left
        gone.extend(member.member_id for member in members)
        regexes = Counter(group.regex_counts)
        topics = Counter(group.topic_counts)
        for member in members:
            self.records.extend(records_of.member_tombstones(group.group_id, member.member_id))
            count_topics(topics, member.subscribed_topic_names, -1)
            if member.subscribed_topic_regex:
                count_topics(regexes, (member.subscribed_topic_regex,), -1)
        for regex in group.resolved.keys() - regexes.keys():
            self.records.append(records_of.regex_tombstone(group.group_id, regex))
            count_topics(topics, group.resolved[regex].topics, -1)
        self._reasons.append(reason)
        self._move_group_epoch(topics)

    # -- patterns ------------------------------------------------------------------------------

    def _resolve_regexes(self, before: Member, after: Member) -> None:
        group, around = self.group, self._around
        counts = Counter(group.regex_counts)
        known_member = before.member_id in group.members or self._replaced is not None
        if known_member and before.subscribed_topic_regex:
            count_topics(counts, (before.subscribed_topic_regex,), -1)
        if after.subscribed_topic_regex:
            counts[after.subscribed_topic_regex] += 1
        if not counts and not group.resolved:
            return
        resolved = dict(group.resolved)
        for regex in resolved.keys() - counts.keys():
            del resolved[regex]
            self.records.append(records_of.regex_tombstone(group.group_id, regex))
        age_ms = around.now_ms - group.regexes_resolved_ms
        topics_changed = group.seen_topics is not around.image.topics
        refresh = age_ms >= around.regex_refresh_interval_ms or (
            topics_changed and age_ms >= REGEX_REFRESH_MIN_MS
        )
        self._regexes_looked_up = refresh or not topics_changed
        for regex in counts:
            known = resolved.get(regex)
            if known is not None and not refresh:
                continue
            topics = around.patterns.resolve(regex, around.image)
            if known is not None and known.topics == topics:
                continue
            version = around.image.version
            resolved[regex] = ResolvedRegex(topics, version, around.now_ms)
            self.records.append(
                records_of.resolved_regex(group.group_id, regex, topics, version, around.now_ms)
            )
            if known is not None:
                self._reasons.append(f"the topics that match {regex} changed")
        self._resolved = resolved

    def _topic_counts(self, before: Member, after: Member) -> Counter[str]:
        """How many want each topic, with this member's change."""
        group = self.group
        counts = Counter(group.topic_counts)
        if before.member_id in group.members or self._replaced is not None:
            count_topics(counts, before.subscribed_topic_names, -1)
        count_topics(counts, after.subscribed_topic_names, 1)
        if self._resolved is not group.resolved:
            for known in group.resolved.values():
                count_topics(counts, known.topics, -1)
            for known in self._resolved.values():
                count_topics(counts, known.topics, 1)
        return counts

    # -- epochs --------------------------------------------------------------------------------

    def _move_group_epoch(self, topic_counts: Mapping[str, int]) -> None:
        group = self.group
        hash_now = metadata_hash(topic_counts, self._around.image)
        if hash_now != group.metadata_hash and not self._reasons:
            self._reasons.append("topics were created, deleted or grown")
        if self._reasons:
            self.group_epoch += 1
            self.records.append(records_of.group_epoch(group.group_id, self.group_epoch, hash_now))
        if group.has_partition_metadata:
            self.records.append(records_of.partition_metadata_tombstone(group.group_id))

    def _current_target(self, member: Member) -> Target:
        """The member's target: a new one if one is due, else the last one."""
        group, around = self.group, self._around
        if group.assignment_epoch >= self.group_epoch or (
            group.assignment_timestamp > 0
            and around.now_ms < group.assignment_timestamp + around.assignment_interval_ms
        ):
            return group.target_of(member)
        members = {m: v for m, v in group.members.items() if m != self._replaced}
        members[member.member_id] = member
        return self._new_target(members)[member.member_id]

    def _new_target(self, members: Mapping[str, Member]) -> Mapping[str, Target]:
        group, around = self.group, self._around
        image = around.image
        topics_of: dict[tuple[frozenset[str], str], frozenset[UUID]] = {}
        specs: dict[str, MemberSpec] = {}
        for member_id, member in members.items():
            wish = (member.subscribed_topic_names, member.subscribed_topic_regex)
            if wish not in topics_of:
                topics_of[wish] = topic_ids(topic_names(member, self._resolved), image)
            specs[member_id] = MemberSpec(
                member.instance_id, topics_of[wish], group.target_of(member)
            )
        wanted = {topic_id for ids in topics_of.values() for topic_id in ids}
        partitions = {t: len(image.topics_by_id[t].partitions) for t in wanted}
        assignor = ASSIGNORS[self._assignor(members)]
        target = assignor(specs, partitions)
        for member_id in members:
            if target[member_id] != group.target.get(member_id):
                self.records.append(
                    records_of.member_target(group.group_id, member_id, target[member_id])
                )
        self.target_epoch = self.group_epoch
        self._has_new_target = True
        self.records.append(
            records_of.target_epoch(group.group_id, self.target_epoch, around.now_ms)
        )
        return target

    def _assignor(self, members: Mapping[str, Member]) -> str:
        """The one most members ask for; the broker's default when nobody asks."""
        votes = Counter(
            m.server_assignor for m in members.values() if m.server_assignor in ASSIGNORS
        )
        if not votes:
            return self._around.default_assignor
        return min(votes, key=lambda name: (-votes[name], name or "")) or ""

    # -- what a member owns --------------------------------------------------------------------

    def _reconcile(
        self, member: Member, target: Target, owned: Target | None, subscription_changed: bool
    ) -> Member:
        if not subscription_changed and member.is_reconciled_to(self.target_epoch):
            return member
        group = self.group
        names = topic_names(member, self._resolved)
        reconciled = reconcile(
            member,
            target=target,
            target_epoch=self.target_epoch,
            subscribed=topic_ids(names, self._around.image),
            subscription_changed=subscription_changed,
            is_held=lambda topic_id, partition: (topic_id, partition) in group.owners,
            owned=owned,
        )
        if reconciled != member:
            self.records.append(records_of.current_assignment(group.group_id, reconciled))
        return reconciled

    # -- afterwards ----------------------------------------------------------------------------

    def written(self, group: ConsumerGroup) -> None:
        """The records are in the log, and `group` has replayed them: keep what is not in them."""
        around = self._around
        self._tell(group.notes)
        if self._reasons:
            group.note_epoch(around.now_ms, self._reasons[0])
            for reason in self._reasons[1:]:
                group.notes.detail(reason)
        if self._has_new_target:
            group.note_target(around.now_ms, self.target_epoch, len(group.members))
        if not group.regex_counts or self._regexes_looked_up:
            group.seen_topics = around.image.topics
        if self._regexes_looked_up:
            group.regexes_resolved_ms = around.now_ms

    def _tell(self, notes: RebalanceNotes) -> None:
        for member_id in self._joined:
            notes.joined(member_id)
        for member_id in self._left:
            notes.left(member_id)
        for member_id in self._timed_out:
            notes.timed_out(member_id)
        if self._taken_over is not None:
            notes.replaced(*self._taken_over)
