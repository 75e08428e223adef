"""The log is all that is left after a crash, and it is enough; tombstones leave nothing behind."""

from __future__ import annotations

from odradek.coordinators.groups.classic_group import ClassicGroup
from odradek.coordinators.groups.consumer_replay import replay
from odradek.coordinators.groups.group import GroupTable
from odradek.coordinators.record_format import encode_record
from odradek.coordinators.shard import CoordinatorRecord
from odradek.errors import Err
from odradek.protocol.messages.internal.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)
from odradek.testing.virtual_consumers import (
    ASSIGNMENT_INTERVAL_MS,
    REBALANCE_MS,
    SESSION_MS,
    VirtualConsumerGroups,
)


def facts(groups: VirtualConsumerGroups) -> object:
    group = groups.group()
    return (
        group.group_epoch,
        group.metadata_hash,
        group.assignment_epoch,
        group.assignment_timestamp,
        group.members,
        group.target,
        group.resolved,
        group.owners,
        group.static_members,
        dict(group.topic_counts),
        dict(group.regex_counts),
        dict(group.assignor_votes),
    )


def busy(groups: VirtualConsumerGroups) -> None:
    """A group with something of everything, in the middle of a rebalance."""
    groups.create_topic("u", 3)
    a = groups.member("a", ("t", "u"), instance_id="i1", server_assignor="uniform")
    groups.member("b", None, subscribed_topic_regex="t.*", rack_id="r")
    groups.member("c", ())
    groups.advance(ASSIGNMENT_INTERVAL_MS)
    a.beat()


def test_a_group_is_after_a_crash_what_it_was(groups: VirtualConsumerGroups) -> None:
    busy(groups)
    before = facts(groups)
    groups.crash()
    assert facts(groups) == before


def test_sessions_begin_anew_after_a_crash(groups: VirtualConsumerGroups) -> None:
    busy(groups)
    groups.advance(SESSION_MS - ASSIGNMENT_INTERVAL_MS - 1)
    groups.crash()
    groups.advance(SESSION_MS - 1)
    assert groups.group().members.keys() == {"a", "b", "c"}
    groups.advance(1)
    assert groups.group().is_empty


def test_giving_up_is_still_waited_for_after_a_crash(groups: VirtualConsumerGroups) -> None:
    busy(groups)
    groups.crash()
    epoch = groups.group().members["a"].member_epoch
    for _ in range(REBALANCE_MS // 1000):
        assert "a" in groups.group().members
        groups.advance(1000)
        if "a" in groups.group().members:
            groups.send("a", epoch, instance_id="i1")
    assert "a" not in groups.group().members


def test_only_the_last_record_of_each_key_is_needed(groups: VirtualConsumerGroups) -> None:
    """What compaction leaves says the same as the whole log."""
    busy(groups)
    before = facts(groups)
    last = {encode_record(record)[0]: n for n, record in enumerate(groups.runtime.log)}
    groups.runtime.log = [groups.runtime.log[n] for n in sorted(last.values())]
    groups.crash()
    assert facts(groups) == before


def test_tombstones_leave_nothing(groups: VirtualConsumerGroups) -> None:
    busy(groups)
    for record in groups.group().tombstones():
        assert record.value is None
        groups.runtime.log.append(record)
        groups.consumer.replay(record)
    assert groups.table.get("g") is None
    for record in list(groups.runtime.log[-3:]):
        groups.consumer.replay(record)  # of something that is gone: nothing
    assert groups.table.get("g") is None
    live = {encode_record(r)[0]: r.value for r in groups.runtime.log}
    assert set(live.values()) == {None}
    assert groups.refused("a", 2) is Err.GROUP_ID_NOT_FOUND


def test_a_group_that_was_deleted_starts_over(groups: VirtualConsumerGroups) -> None:
    groups.member("a")
    groups.send("a", -1)
    for record in groups.group().tombstones():
        groups.consumer.replay(record)
    assert groups.join("a").member_epoch == 2


def test_an_empty_classic_group_makes_room(groups: VirtualConsumerGroups) -> None:
    """A group whose offsets were committed by others, or whose members are all gone."""
    groups.table.put(ClassicGroup("g"))
    groups.join("a")
    assert groups.group().members.keys() == {"a"}
    tombstone, *_ = groups.runtime.log
    assert (type(tombstone.key).__name__, tombstone.value) == ("GroupMetadataKey", None)


def test_records_are_written_as_kafka_writes_them(groups: VirtualConsumerGroups) -> None:
    groups.join("a")
    values = [record.value for record in groups.runtime.log]
    assert [type(value) for value in values] == [
        ConsumerGroupMemberMetadataValue,
        ConsumerGroupMetadataValue,
        type(values[2]),
        ConsumerGroupTargetAssignmentMetadataValue,
        ConsumerGroupCurrentMemberAssignmentValue,
    ]
    assert {record.value_version for record in groups.runtime.log} == {0}
    current = values[-1]
    assert isinstance(current, ConsumerGroupCurrentMemberAssignmentValue)
    (owned,) = current.assigned_partitions
    assert (current.state, current.member_epoch, current.previous_member_epoch) == (0, 2, 0)
    assert (owned.partitions, owned.assignment_epochs) == ([0, 1, 2, 3, 4, 5], [2] * 6)
    _, encoded = encode_record(groups.runtime.log[0])
    # A null struct in a tagged field: one tag, number 0, one byte long, 0.
    assert encoded is not None
    assert encoded.endswith(b"\x01\x00\x01\x00")


def test_records_of_older_brokers_are_understood(groups: VirtualConsumerGroups) -> None:
    """Partitions without epochs have their member's; the record of topics is removed when it can be."""
    a = groups.member("a")
    (topic,) = groups.image.topics.values()
    groups.consumer.replay(
        CoordinatorRecord(
            ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="a"),
            ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=2,
                previous_member_epoch=1,
                state=99,
                assigned_partitions=[TopicPartitions(topic_id=topic.id, partitions=[0, 1])],
            ),
        )
    )
    assert groups.group().members["a"].assigned == {topic.id: {0: 2, 1: 2}}
    assert groups.refused("a", 2, subscribed_topic_names=["u"]) is Err.FENCED_MEMBER_EPOCH
    groups.consumer.replay(
        CoordinatorRecord(
            ConsumerGroupPartitionMetadataKey(group_id="g"), ConsumerGroupPartitionMetadataValue()
        )
    )
    groups.crash()
    a = groups.member("b", ("t",))
    assert a.epoch == 2


def test_the_old_record_of_topics_is_removed(groups: VirtualConsumerGroups) -> None:
    groups.member("a")
    groups.consumer.replay(
        CoordinatorRecord(
            ConsumerGroupPartitionMetadataKey(group_id="g"), ConsumerGroupPartitionMetadataValue()
        )
    )
    groups.member("b")
    assert not groups.group().has_partition_metadata
    assert any(
        isinstance(r.key, ConsumerGroupPartitionMetadataKey) and r.value is None
        for r in groups.runtime.log
    )


def test_tombstones_of_strangers_are_harmless() -> None:
    table = GroupTable()
    replay(table, CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id="x"), None))
    assert len(table) == 0
